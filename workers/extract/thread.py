"""Whether a page is a conversation: then what others call its comments is its content."""

import re
from urllib.parse import urlsplit

_SIGNS = (b"DiscussionForumPosting", b'"QAPage"', b"schema.org/QAPage")
_FORUM = re.compile(
    rb"discourse|phpbb|vbulletin|xenforo|mybb|invision|ips community|flarum|nodebb|vanilla|simple machines|smf|lemmy"
    rb"|askbot|question2answer|esotalk|yabb|fluxbb|punbb|woltlab",
    re.IGNORECASE,
)
_GENERATOR = re.compile(rb"<meta(?=[^>]{0,200}\bname=[\"']?generator)[^>]{0,300}>", re.IGNORECASE)
_HOST = re.compile(r"(?:^|[.-])(?:forums?|boards?|community|discuss|discussions?|talk|answers)(?=[.-])")
_PATH = re.compile(
    r"/(?:forums?|threads?|topics?|discussions?|questions?|talk|boards?|comments)(?=[/.-])"
    r"|(?:show(?:thread|topic)|viewtopic|viewthread|topic|thread)(?:\.php|=)"
)
_HEAD_BYTES = 65_536


def is_thread(page: bytes, url: str) -> bool:
    """By what the page says of itself, or by its address."""
    if any(sign in page for sign in _SIGNS):
        return True
    if any(_FORUM.search(meta[0]) for meta in _GENERATOR.finditer(page, 0, _HEAD_BYTES)):
        return True
    place = urlsplit(url)
    return bool(_HOST.search(place.hostname or "") or _PATH.search(f"{place.path}?{place.query}".lower()))
