"""Pages made to break extractors: each ends, within its bounds, with the text that it holds (X7, M111)."""

import pytest

from ops.bench.floods import FLOODS, SENTENCE
from schemas.errors import EmptySource
from tests.workers.extract.pooling import read_in
from tests.workers.extract.reading import read
from workers.extract.pool import ExtractionPool

SMALL = 100_000
LARGE = 2_000_000


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
