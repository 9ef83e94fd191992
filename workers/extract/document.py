"""The readable document of one body: bytes in, Document out."""

from schemas.document import Document, Form, Kind
from schemas.errors import EmptySource, ExtractionFailed, OutriderError, UnsupportedContentType
from schemas.limits import Limits
from workers.extract import mime
from workers.extract.charset import decode, name_charset, name_json_charset
from workers.extract.clean import cut
from workers.extract.head import Head
from workers.extract.html import Page, render_html
from workers.extract.json import NotJson, render_json
from workers.extract.plain import render_markdown, render_text
from workers.extract.sniff import Sniffed, sniff

_BODY_BYTES_MAX = 4_194_304  # the largest profile's; what the transport lets through is read whole up to here
_KINDS: dict[Sniffed, Kind] = {"html": "html", "text": "text", "markdown": "markdown", "json": "json"}
_ANY_KINDS: dict[Sniffed, Kind] = {**_KINDS, "xml": "text", "stream": "text"}


def extract(
    body: bytes, *, content_type: str | None, base_url: str, limits: Limits, form: Form = "markdown"
) -> Document:
    """The body's readable text within the limits; `form` is that of an HTML page.

    The same bytes give the same document, in any process.

    Raises: UnsupportedContentType for kinds that the profile does not read, EmptySource where nothing is to be read,
    ExtractionFailed where the bytes broke the extractor. Its messages hold nothing of the page.
    """
    try:
        return _extract(body, content_type, base_url, limits, form)
    except OutriderError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a page breaks, its text must not be in the message
        kind = type(error).__name__
    raise ExtractionFailed("The page could not be turned into text.", cause=kind)


def _extract(body: bytes, content_type: str | None, base_url: str, limits: Limits, form: Form) -> Document:
    media = mime.parse(content_type)
    sniffed = sniff(body, media)
    kind = (_ANY_KINDS if "any" in limits.media else _KINDS).get(sniffed)
    if kind is None or not {kind, "any"} & set(limits.media):
        raise UnsupportedContentType("The content is not of a kind that is read.", kind=sniffed)
    held = body[: max(limits.decoded_bytes, _BODY_BYTES_MAX)]
    if kind == "json":
        charset = name_json_charset(held, media.charset)
    else:
        charset = name_charset(held, media.charset, markup=kind == "html")
    source = decode(held, charset)
    page, notes = _rendered(kind, source, base_url, limits, form)
    if not page.text.strip():
        raise EmptySource("The body holds no readable text.", kind=kind)
    return Document(
        kind=kind, charset=charset, title=page.head.title, text=page.text, links=page.links,
        source_truncated=page.truncated or len(held) < len(body), notes=notes, description=page.head.description,
        language=page.head.language, published=page.head.published, canonical=page.head.canonical,
    )  # fmt: skip


def _rendered(kind: Kind, source: str, base_url: str, limits: Limits, form: Form) -> tuple[Page, tuple[str, ...]]:
    """The kind's own page, and the notes on it."""
    if kind == "html":
        page = render_html(source, base_url=base_url, limits=limits, form=form)
        return page, ("meta_refresh",) if page.head.refresh else ()
    notes: tuple[str, ...] = ()
    if kind == "json":
        title, text = "", ""
        try:
            text = render_json(source, limits.source_chars)
        except NotJson:
            text, notes = render_text(source)[1], ("invalid_json",)
    else:
        title, text = render_markdown(source) if kind == "markdown" else render_text(source)
    text, truncated = cut(text, limits.source_chars)
    return Page(head=Head(title=title), text=text, truncated=truncated), notes
