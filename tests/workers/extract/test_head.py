"""What a page says of itself: description, language, date, canonical link (M110, X16)."""

import pytest

from tests.workers.extract.reading import SENTENCE, read


def test_document_tells_what_the_page_states():
    head = (
        '<html lang="de-CH"><head><title>T</title><base href="/b/"><meta name=description content=" Two\n words ">'
        '<meta property="article:published_time" content="2026-03-04T05:06:07+01:00">'
        '<link rel="alternate canonical" href="c?d=1#e">'
    )

    document = read(f"{head}</head><body><p>{SENTENCE}</p>")

    assert (document.description, document.language) == ("Two words", "de-CH")
    assert document.published == "2026-03-04T05:06:07+01:00"
    assert document.canonical == "https://site.example/b/c?d=1#e"


def test_document_tells_nothing_where_the_page_states_nothing():
    document = read(f"<title>T</title><p>{SENTENCE}</p>")

    assert (document.description, document.language, document.published, document.canonical) == ("", "", "", "")


@pytest.mark.parametrize(
    ("head", "published"),
    [
        ("<meta itemprop=datePublished content=2026-03-04>", "2026-03-04"),
        ("<meta name=date content=2026/03/04>", "2026-03-04"),
        ('<script type="application/ld+json">{"datePublished": "2026-03-04T05:06Z"}</script>', "2026-03-04T05:06Z"),
        ("<meta name=date content='last spring'>", ""),
        ("<meta name=date content='04.03.2026'>", ""),
    ],
)
def test_date_is_given_as_it_stands_when_it_is_one(head, published):
    assert read(f"<head>{head}</head><p>{SENTENCE}</p>").published == published


@pytest.mark.parametrize("href", ["javascript:x", "http://u:p@site.example/", "http://["])
def test_canonical_link_is_an_address_or_nothing(href):
    assert read(f'<head><link rel=canonical href="{href}"></head><p>{SENTENCE}</p>').canonical == ""


@pytest.mark.parametrize("language", ["x" * 30, "en us", "<b>"])
def test_language_is_one_or_nothing(language):
    assert read(f'<html lang="{language}"><p>{SENTENCE}</p>').language == ""


@pytest.mark.parametrize(
    "size", [pytest.param(499, id="under"), pytest.param(500, id="at"), pytest.param(501, id="over")]
)
def test_description_is_bounded(size):
    document = read(f'<head><meta name=description content="{"d" * size}"></head><p>{SENTENCE}</p>')

    assert len(document.description) == min(size, 500)
