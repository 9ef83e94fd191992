"""What the trace may say of a Content-Type: a known media type's name, since the header is the site's own text."""

_KNOWN = frozenset(
    {
        # what the profiles read, under every name that the sniffer knows
        "text/html", "application/xhtml+xml", "text/plain", "text/markdown", "text/x-markdown", "text/x-web-markdown",
        "application/json", "text/json", "application/x-json", "application/ld+json", "application/problem+json",
        "application/feed+json", "application/xml", "text/xml", "application/rss+xml", "application/atom+xml",
        "application/yaml", "application/x-yaml", "application/toml", "application/x-ndjson",
        # what sites send beside it
        "text/css", "text/csv", "text/javascript", "text/calendar", "text/event-stream", "text/rtf",
        "application/javascript", "application/pdf", "application/octet-stream", "application/zip", "application/gzip",
        "application/x-tar", "application/epub+zip", "application/msword", "application/rtf", "application/wasm",
        "application/x-www-form-urlencoded", "multipart/form-data", "multipart/mixed", "multipart/x-mixed-replace",
        "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/svg+xml", "image/bmp", "image/tiff",
        "image/x-icon", "image/vnd.microsoft.icon", "audio/mpeg", "audio/ogg", "audio/wav", "audio/webm", "audio/mp4",
        "video/mp4", "video/webm", "video/ogg", "video/mpeg", "video/quicktime", "font/woff", "font/woff2", "font/ttf",
    }
)  # fmt: skip
# Families whose members are read, or left, alike: the family's name stands for all others of them.
_FAMILIES = ("image/", "audio/", "video/", "font/")
_SUFFIXES = ("+json", "+xml")
_OTHER = "other"


def known_media_type(content_type: str) -> str | None:
    """The media type's name where it is a known one, its family's, or `other`; nothing for no header.

    Shape: of a joined header the last, which is the one that is read. Source: the IANA registry of media types.
    """
    if not content_type.strip():
        return None
    essence = content_type.rpartition(",")[2].partition(";")[0].strip().lower()
    if essence in _KNOWN:
        return essence
    family = next((f"{name}*" for name in _FAMILIES if essence.startswith(name)), None)
    suffix = next((f"*{ending}" for ending in _SUFFIXES if essence.endswith(ending)), None)
    return family or suffix or _OTHER
