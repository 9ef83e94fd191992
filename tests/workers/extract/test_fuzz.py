"""Pages that nobody would write: whatever comes in, a document or an error of ours comes out (M111, X16).

What ever broke it lies in `tests/data/extract/crashes`, and is read again with every run.
"""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.document import Document
from schemas.errors import EmptySource, UnsupportedContentType
from tests.workers.extract.reading import BASE, limits_of
from workers.extract.document import extract
from workers.extract.explain import explain_html

_FOLDER = Path(__file__).parents[2] / "data" / "extract"
_SEEDS = [path.read_bytes() for path in sorted(_FOLDER.glob("*.html"))]
_CRASHES = sorted((_FOLDER / "crashes").glob("*"))
_TAGS = (
    "a", "article", "aside", "b", "base", "blockquote", "body", "br", "button", "code", "dd", "details", "div", "dl",
    "dt", "em", "figure", "form", "frame", "frameset", "h1", "h3", "head", "html", "i", "iframe", "img", "input", "li",
    "link", "main", "math", "meta", "nav", "noscript", "ol", "option", "p", "pre", "q", "rt", "ruby", "script",
    "section", "select", "span", "style", "summary", "sup", "svg", "table", "tbody", "td", "template", "textarea", "th",
    "title", "tr", "ul", "video", "wbr",
)  # fmt: skip
_ATTRIBUTES = (
    "", " hidden", " id=S:1", " id='P:1'", " class=nav", " class='line'", " class='language-py'", " href=/x",
    " href='//['",
    " style='display:none'", " role=tabpanel", " start=9999999999", " value=-1", " {{x}}=1", " =", " alt='a b c'", ' "',
    " colspan=0", " lang=\x00", " content='0;url=x' http-equiv=refresh", " itemprop=articleBody",
)  # fmt: skip
_PIECES = st.one_of(
    st.builds("<{}{}>".format, st.sampled_from(_TAGS), st.sampled_from(_ATTRIBUTES)),
    st.builds("</{}>".format, st.sampled_from(_TAGS)),
    st.sampled_from(
        ["word ", "a long sentence, as they are written here and there. " * 3, "\n", "\t", "|", "*", "_", "`", "[x](y)",
         "&#2;", "&#x110000;", "&amp", "<!--", "-->", "<![CDATA[", "<?xml ?>", "\x00", "\ufdd0", "\u202e", "]", "\\",
         '<script>$RS("S:1","P:1")</script>', '<script>$RC("P:1","S:1")</script>', "<", ">", "'", '"']
    ),
    st.text(max_size=12),
)  # fmt: skip
_PAGES = st.lists(_PIECES, max_size=60).map("".join).map(lambda page: page.encode("utf-8", "replace"))
_TYPES = st.sampled_from(
    ["text/html", "application/xhtml+xml", "text/html; charset=shift_jis", "text/html; charset=utf-16", "text/plain",
     "text/markdown", "application/json", None, "text/html; charset=iso-2022-jp"]
)  # fmt: skip


@st.composite
def mutations(draw: st.DrawFn) -> bytes:
    """A real page with pieces cut out, doubled and written over."""
    page = bytearray(draw(st.sampled_from(_SEEDS)))
    for _ in range(draw(st.integers(1, 12))):
        place = draw(st.integers(0, len(page)))
        end = min(len(page), place + draw(st.integers(0, 200)))
        page[place:end] = draw(st.one_of(_PAGES, st.binary(max_size=20), st.just(bytes(page[place:end] * 2))))
    return bytes(page)


def hold(body: bytes, content_type: str | None) -> None:
    """Read it twice, in both forms, and hold what comes to what is promised of every document."""
    try:
        document = extract(body, content_type=content_type, base_url=BASE, limits=limits_of(source_chars=5_000))
    except (EmptySource, UnsupportedContentType):
        return
    assert document == extract(body, content_type=content_type, base_url=BASE, limits=limits_of(source_chars=5_000))
    hold_document(document)
    with suppress(EmptySource):  # a page of images alone has words in Markdown only
        hold_document(
            extract(body, content_type=content_type, base_url=BASE, limits=limits_of(source_chars=5_000), form="text")
        )
    explain_html(body.decode("utf-8", "replace"), BASE)


def hold_document(document: Document) -> None:
    assert len(document.text) <= 5_000
    assert len(document.title) <= 300
    said = document.text + document.title + document.description + "".join(link.text for link in document.links)
    assert not {char for char in said if (ord(char) < 32 and char not in "\t\n") or char == "\x7f"}
    assert all(link.url.startswith(("http://", "https://")) for link in document.links)
    said.encode()


@pytest.mark.long
@settings(max_examples=4_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(_PAGES, _TYPES)
def test_any_page_gives_a_document_or_an_error_of_ours(body, content_type):
    hold(body, content_type)


@pytest.mark.long
@settings(max_examples=4_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(mutations(), _TYPES)
def test_any_damaged_page_gives_a_document_or_an_error_of_ours(body, content_type):
    hold(body, content_type)


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(_PAGES)
def test_some_pages_give_a_document_or_an_error_of_ours(body):
    hold(body, "text/html")


@pytest.mark.parametrize("path", _CRASHES, ids=lambda path: path.name)
def test_page_that_once_broke_it_is_read(path):
    hold(path.read_bytes(), "text/html")
