"""Pages made to break extractors: each ends, within its bounds, with the text that it holds (X7, M111)."""

import pytest

from schemas.errors import EmptySource
from tests.workers.extract.pooling import read_in
from tests.workers.extract.reading import SENTENCE, read
from workers.extract.pool import ExtractionPool

SMALL = 100_000
LARGE = 2_000_000

FLOODS = {
    "deep": lambda n: "<div><p>a" * (n // 9) + SENTENCE,
    "deep lists": lambda n: "<ul><li>x" * (n // 9) + SENTENCE,
    "deep quotes": lambda n: "<blockquote>" * (n // 12) + SENTENCE,
    "deep tables": lambda n: "<table><tr><td>x" * (n // 16) + SENTENCE,
    "deep emphasis": lambda n: "<b>x" * (n // 4) + SENTENCE,
    "foster parents": lambda n: f"<p>{SENTENCE}<table>" + "<p>foo<b>" * (n // 9),
    "wide table": lambda n: f"<p>{SENTENCE}<table>" + ("<tr>" + "<td>x" * 50) * (n // 254),
    "column spans": lambda n: f"<p>{SENTENCE}<table>" + "<tr><td colspan=1000 rowspan=65534>x" * (n // 36),
    "one attribute": lambda n: f'<div class="{"a " * (n // 2)}"><p>{SENTENCE}</div>',
    "many attributes": lambda n: "<div " + " ".join(f"a{i}=1" for i in range(n // 9)) + f">{SENTENCE}</div>",
    "stray quotes and many attributes": lambda n: '<div x"y ' + "a=1 " * (n // 4) + f">{SENTENCE}</div>",
    "special characters": lambda n: f"<p>{SENTENCE}" + "*_[<" * (n // 4),
    "backticks": lambda n: f"<p>{SENTENCE}</p><pre>{'`' * n}</pre>",
    "spaces": lambda n: f"<p>{SENTENCE}{' ' * n}</p>",
    "breaks": lambda n: f"<p>{SENTENCE}" + "a<br>" * (n // 5),
    "links": lambda n: f"<p>{SENTENCE * 9}" + "<a href=/x>y</a> " * (n // 17),
    "hidden": lambda n: '<p style="display:none">x</p>' * (n // 29) + f"<p>{SENTENCE}",
    "unclosed comment": lambda n: f"<p>{SENTENCE}</p><!-- " + "- " * (n // 2),
    "unclosed script": lambda n: f"<p>{SENTENCE}</p><script>" + "if(a<b){}" * (n // 9),
    "unclosed attribute": lambda n: f'<p>{SENTENCE}</p><div a="' + "<p>x</p>" * (n // 8),
    "options": lambda n: f"<select>{'<option>x' * (n // 9)}</select><p>{SENTENCE}",
    "buttons": lambda n: f"<p>{SENTENCE}</p>" + "<button>" * 240 + "<i>x</i>" * (n // 8) + "<p>z",
    "articles": lambda n: f"<article><h2>ab</h2><p>{SENTENCE}</article>" * (n // 140),
    "code lines": lambda n: f"<p>{SENTENCE}</p><pre>" + "<span class=line>x</span>" * (n // 25),
    "NUL": lambda n: f"<p>{SENTENCE}" + "a\0b " * (n // 4),
}


@pytest.mark.parametrize("name", FLOODS)
def test_extract_keeps_the_text_of_a_flood(name):
    document = read(f"<!doctype html><html><body>{FLOODS[name](SMALL)}")

    assert SENTENCE.strip() in document.text
    assert len(document.text) <= 400_000


@pytest.mark.parametrize("body", ["<svg><math><mi>" * 9_000, "<b><p></b>" * 10_000, "<!--" * 25_000, "<?xml " * 16_000])
def test_extract_says_so_when_a_flood_holds_no_text(body):
    with pytest.raises(EmptySource):
        read(f"<!doctype html><html><body>{body}")


@pytest.mark.long
@pytest.mark.parametrize("name", FLOODS)
def test_pool_ends_every_flood_of_two_megabytes_within_its_wall(name):
    pool = ExtractionPool(1)
    try:
        assert read_in(pool, f"<!doctype html><html><body>{FLOODS[name](LARGE)}".encode()).text
    finally:
        pool.close()
