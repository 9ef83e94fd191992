"""Pages that omit their head and body tags: what WHATWG HTML calls the body is read."""

import pytest

from schemas.profiles import WEB_FETCH
from workers.extract.document import extract


@pytest.mark.parametrize(
    ("page", "text"),
    [
        pytest.param("<!doctype html><title>T</title><main><p>Words</p></main>", "Words", id="main"),
        pytest.param("<title>T</title><article><h1>H</h1><p>Words</p></article>", "# H\n\nWords", id="article"),
        pytest.param("<title>T</title><section><p>One</p></section><p>Two</p>", "One\n\nTwo", id="then-a-body"),
        pytest.param("<title>T</title><style>x</style><main>Bare words</main> and a tail", "Bare words", id="bare"),
        pytest.param("<title>T</title><script>x()</script><p>Words</p>", "Words", id="head-alone-stays"),
    ],
)
def test_page_without_body_tags_is_read(page: str, text: str) -> None:
    """M111"""
    document = extract(
        page.encode(), content_type="text/html; charset=utf-8", base_url="https://a.example/", limits=WEB_FETCH.limits
    )
    assert document.title == "T"
    assert document.text.startswith(text)
