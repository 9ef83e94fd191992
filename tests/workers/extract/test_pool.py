"""The extraction processes: many callers, each with its own answer, error and deadline."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from schemas.deadline import Deadline
from schemas.errors import Cancelled, EmptySource, ExtractionFailed, RequestTimeout, UnsupportedContentType, revive
from tests.workers.extract.pooling import PATIENCE_SECONDS, SLOW, children, read_in
from tests.workers.extract.reading import SENTENCE
from workers.extract.pool import PLAIN_BYTES, ExtractionPool


@pytest.fixture(scope="module")
def pool():
    made = ExtractionPool(2)
    yield made
    made.close()
    assert children() == []


def test_pool_gives_what_extract_gives(pool):
    document = read_in(pool, f"<title>T</title><p>{SENTENCE}".encode())

    assert (document.title, document.text) == ("T", SENTENCE.strip())


@pytest.mark.parametrize(
    ("body", "content_type", "error"),
    [(b"", "text/html", EmptySource), (b"%PDF-1.7", "text/html", UnsupportedContentType)],
)
def test_pool_raises_the_child_s_own_errors(pool, body, content_type, error):
    with pytest.raises(error) as caught:
        read_in(pool, body, content_type)

    assert caught.value.__cause__ is None


def doubled(number: int) -> int:
    return 2 * number


def lying(number: int) -> int:
    return f"{number}"  # type: ignore[return-value]


def breaking(text: str) -> int:
    raise ValueError(text)


def crossing(code: str) -> int:
    raise revive(code, "not an end of reading", {})


def test_pool_runs_a_module_s_function_and_gives_what_its_annotation_says(pool):
    assert pool.run(doubled, (21,), Deadline.after(PATIENCE_SECONDS)) == 42


def test_pool_tells_of_a_foreign_exception_its_kind_alone(pool):
    with pytest.raises(ExtractionFailed) as caught:
        pool.run(breaking, ("text of the page",), Deadline.after(PATIENCE_SECONDS))

    assert (caught.value.facts, "text of the page" in str(caught.value)) == ({"cause": "ValueError"}, False)


@pytest.mark.parametrize(("work", "argument"), [(lying, 7), (crossing, "cancelled"), (crossing, "internal")])
def test_pool_takes_nothing_from_a_child_that_no_reading_gives(pool, work, argument):
    """A page that took its child over can neither forge another type nor another kind of end."""
    with pytest.raises(ExtractionFailed) as caught:
        pool.run(work, (argument,), Deadline.after(PATIENCE_SECONDS))

    assert caught.value.facts == {"cause": "child_died"}
    assert read_in(pool, b"<p>alive").text == "alive"


def test_pool_serves_32_callers_at_once_and_each_gets_its_own(pool):
    with ThreadPoolExecutor(32) as threads:
        texts = list(threads.map(lambda n: read_in(pool, f"page {n}".encode() * 500, "text/markdown").text, range(320)))

    assert texts == [f"page {n}" * 500 for n in range(320)]


@pytest.mark.parametrize(
    ("size", "started"),
    [(PLAIN_BYTES - 1, False), (PLAIN_BYTES, False), (PLAIN_BYTES + 1, True)],  # one more byte earns a child
)
def test_pool_reads_little_plain_text_without_a_child(size, started):
    pool = ExtractionPool(1)
    before = len(children())
    try:
        assert read_in(pool, b"a" * size, "text/plain").text == "a" * size
        assert (len(children()) > before) is started
    finally:
        pool.close()


def test_pool_keeps_the_deadline_when_it_reads_plain_text_itself(pool):
    with pytest.raises(RequestTimeout):
        read_in(pool, b"words", "text/plain", deadline=Deadline.after(0))


def test_pool_raises_request_timeout_when_the_call_s_own_deadline_passes(pool):
    read_in(pool, b"<p>warm")

    with pytest.raises(RequestTimeout):
        read_in(pool, SLOW, deadline=Deadline.after(0.3))

    assert read_in(pool, b"<p>alive").text == "alive"


def test_pool_raises_request_timeout_at_once_when_nothing_is_left(pool):
    with pytest.raises(RequestTimeout):
        read_in(pool, b"<p>x", deadline=Deadline.after(0))


def test_pool_raises_cancelled_when_the_caller_takes_the_call_back(pool):
    cancelled = Event()
    deadline = Deadline.after(PATIENCE_SECONDS, cancelled=cancelled.is_set)
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(read_in, pool, SLOW, deadline=deadline)
        cancelled.set()
        with pytest.raises(Cancelled):
            call.result(PATIENCE_SECONDS)

    assert read_in(pool, b"<p>alive").text == "alive"
