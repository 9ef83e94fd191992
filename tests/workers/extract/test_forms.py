"""Plain text and Markdown of one walk (M111, M210), images, and the links of most use (M114)."""

import pytest

from tests.workers.extract.reading import BASE, SENTENCE, article, limits_of, markdown, read
from workers.extract.document import extract


def text_of(inside: str) -> str:
    document = extract(
        article(inside).encode(), content_type="text/html", base_url=BASE, limits=limits_of(), form="text"
    )
    return document.text.removeprefix((SENTENCE * 3).strip()).removesuffix(SENTENCE.strip()).strip("\n")


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h2>A <code>b</code></h2><p>after it, text.</p>", "A b\n\nafter it, text."),
        ("<p>x <b>bold</b> <a href=/y>link [1]</a> 2*3 f_g</p>", "x bold link [1] 2*3 f_g"),
        ("<p>a<br>b</p>", "a\nb"),
        ("<p># no heading</p>", "# no heading"),
        ("<pre>def f():\n\n    pass</pre>", "def f():\n\n    pass"),
        ("<ol start=3><li>a<li>b<ul><li>c</ul></ol>", "3. a\n4. b\n   - c"),
        ("<blockquote><p>a</p><p>b</p></blockquote>", "a\n\nb"),
        ("<blockquote><p>so:<pre>a\n\nb</pre><blockquote><pre>c</pre></blockquote></blockquote>", "so:\n\na\n\nb\n\nc"),
        ("<table><tr><th>a<th>b<tr><td>1|2<td><ul><li>p<li>q</ul></table>", "a | b\n1|2 | - p; - q"),
    ],
)
def test_text_has_the_words_the_lists_and_the_tables_without_the_marks(html, text):
    assert text_of(html) == text


def test_text_is_bounded_by_its_own_length():
    page = "".join(f"<p><b>{SENTENCE}</b>{n}.</p>" for n in range(30)).encode()

    document = extract(page, content_type="text/html", base_url=BASE, limits=limits_of(source_chars=2_000), form="text")

    assert document.source_truncated
    assert 1_800 < len(document.text) <= 2_000
    assert document.text.endswith(" 17.")


@pytest.mark.parametrize("reference", ["&#2;", "&#x03;", "&#4;", "&#05", "&#127;", "&#x1F;"])
def test_page_cannot_write_the_marks_of_the_forms(reference):
    assert markdown(f"<p>a{reference}b</p>") == "ab"
    assert text_of(f"<p>a{reference}b</p>") == "ab"


@pytest.mark.parametrize("reference", ["&#9;", "&#10;", "&#x20;"])
def test_white_space_by_reference_stays(reference):
    assert markdown(f"<p>a{reference}b</p>") == "a b"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<p>so <img class="mwe-math-fallback-image" alt="x^2 + `y`"> holds</p>', "so `` x^2 + `y` `` holds"),
        ("<p>yes <img alt=🎉> yes</p>", "yes 🎉 yes"),
        ("<p>As seen: <img src=/a.png alt='Three ships in the [old] harbour'></p>",
         "As seen: ![Three ships in the \\[old\\] harbour]()"),
        ("<p>Here <img alt=photo.jpg> and <img alt='IMG 20 7.jpg'> and <img alt=logo> and <img>.</p>",
         "Here and and and ."),
    ],
)  # fmt: skip
def test_image_is_told_where_it_carries_meaning(html, expected):
    assert markdown(html) == expected


def test_links_come_in_the_order_of_their_use():
    page = article(
        '<p>It is <a href="/login?x">sign in here please</a> and <a href="/1">1</a> and <a href="page.html?p=2">this '
        'very page</a>, told in <a href="/atlas">the atlas of lighthouses</a> and '
        '<a href="/log">the log of 1907</a>.</p>'
    )

    assert [link.text for link in read(page).links[:2]] == ["the atlas of lighthouses", "the log of 1907"]
    assert len(read(page).links) == 5
