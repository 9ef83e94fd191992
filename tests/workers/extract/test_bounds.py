"""What extraction never gives more of, or never lets through (M111-M118)."""

import pytest

from schemas.errors import EmptySource, ExtractionFailed, UnsupportedContentType
from tests.workers.extract.reading import BASE, SENTENCE, article, limits_of, markdown, read
from workers.extract.document import extract

CAP = 400_000


@pytest.mark.parametrize(
    ("size", "truncated"),
    [
        pytest.param(CAP - 1, False, id="M118 under: all of it"),
        pytest.param(CAP, False, id="M118 at: all of it, nothing was cut"),
        pytest.param(CAP + 1, True, id="M118 over: cut and said so"),
    ],
)
@pytest.mark.parametrize("content_type", ["text/plain", "text/markdown", "text/html", "application/json"])
def test_extract_caps_the_text(content_type, size, truncated):
    around = {"text/html": ("<p>", "</p>"), "application/json": ('"', '"')}.get(content_type, ("", ""))
    letters = size - 2 * (content_type == "application/json")  # its quotes are text too

    document = read(f"{around[0]}{'x' * letters}{around[1]}", content_type)

    assert len(document.text) == min(size, CAP)
    assert document.source_truncated is truncated


def test_extract_cuts_a_page_between_blocks():
    document = read("".join(f"<p>{SENTENCE * 4}{n}</p>" for n in range(30)), source_chars=5_000)

    assert document.source_truncated
    assert len(document.text) <= 5_000
    assert document.text.split("\n\n")[-1].endswith(" 10")


def test_extract_closes_the_fence_of_a_code_block_it_cuts():
    document = read("<pre>" + "line of code\n" * 1_000 + "</pre>", source_chars=1_000)

    assert document.text.startswith("```\nline of code\n")
    assert document.text.endswith("line of code\n```")
    assert len(document.text) <= 1_000


def test_extract_cuts_plain_text_at_a_line():
    document = read("word word\n" * 100, "text/plain", source_chars=105)

    assert document.text == "\n".join(["word word"] * 10)
    assert document.source_truncated


@pytest.mark.parametrize(
    "count", [pytest.param(19, id="M114 under"), pytest.param(20, id="M114 at"), pytest.param(21, id="M114 over")]
)
def test_extract_lists_links_up_to_their_limit(count):
    page = article(
        "".join(f'<p>See <a href="/p/{n}">page {n}</a> for what is said there of it.</p>' for n in range(count))
    )

    links = read(page).links

    assert len(links) == min(count, 20)
    assert [link.url for link in links[:2]] == ["https://site.example/p/0", "https://site.example/p/1"]


@pytest.mark.parametrize(
    "href", ["javascript:x", "data:text/html,x", "#part", "https://u:p@site.example/", "http://[", "", "ftp://a/"]
)
def test_extract_writes_a_link_that_goes_nowhere_as_text(href):
    page = article(f'<p>There is <a href="{href}">a word</a> here.</p>')

    assert read(page).links == ()
    assert "There is a word here." in read(page).text


@pytest.mark.parametrize("content_type", ["text/html", "text/plain", "text/markdown", "application/json"])
def test_extract_gives_no_control_characters(content_type):
    page = "<p>a&#0;b&#1;c\x01\x0b\x1b\x7fd\ttab</p>"
    text = read(f'"{page}' if "json" in content_type else page, content_type).text

    assert "\ttab" in text or " tab" in text
    assert not {char for char in text if (ord(char) < 32 and char not in "\t\n") or char == "\x7f"}


@pytest.mark.parametrize(
    "body", [b"", b"  \n", b"<html><body></body></html>", b"<div id=root></div><script>x</script>"]
)
@pytest.mark.parametrize("content_type", ["text/html"])
def test_extract_says_so_when_there_is_nothing_to_read(body, content_type):
    with pytest.raises(EmptySource):
        read(body, content_type)


def test_extract_says_nothing_of_the_page_when_it_fails():
    with pytest.raises(ExtractionFailed) as caught:
        extract(
            b"<p>Not a <a href=/x>SECRET</a> word",
            content_type="text/html",
            base_url=BASE,
            limits=limits_of(links_max="SECRET"),
        )

    assert "SECRET" not in repr((caught.value, caught.value.facts, caught.value.__cause__, caught.value.__context__))


def test_extract_refuses_an_encoding_that_must_not_be_decoded():
    with pytest.raises(UnsupportedContentType):
        read(b"x", "text/html; charset=iso-2022-kr")


def test_extract_flattens_and_keeps_what_lies_below_its_depth():
    document = read("<div>" * 1_000 + f"<p>{SENTENCE}<i hidden>SECRET</i><script>SECRET</script></p>")

    assert document.text == SENTENCE.strip()


def test_extract_reads_past_the_depth_of_the_parser():
    document = read("<div>" * 5_000 + f"<p>{SENTENCE}<b hidden>SECRET</b></p><nav>SECRET</nav><p>end</p>")

    assert document.text == f"{SENTENCE.strip()}\nend"
    assert document.source_truncated


def test_extract_stops_at_its_budget_of_nodes():
    document = read("<p>ab</p>" * 100_001)

    assert document.source_truncated


@pytest.mark.parametrize(
    "count", [pytest.param(999, id="under"), pytest.param(1_000, id="at"), pytest.param(1_001, id="over")]
)
def test_extract_keeps_the_text_of_a_tag_with_many_attributes(count):
    tag = " ".join(f"a{n}=1" for n in range(count - 1))

    assert markdown(f"<p {tag} lang=de>kept all the same</p>") == "kept all the same"


def test_extract_writes_wide_tables_up_to_their_columns():
    row = "<tr>" + "<td>x</td>" * 201 + "</tr>"

    lines = markdown(f"<table>{row * 2}</table>").splitlines()

    assert [line.count("|") for line in lines] == [201, 201, 201]
