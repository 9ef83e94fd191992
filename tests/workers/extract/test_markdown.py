"""Markdown that a CommonMark parser reads back as the page's own constructs (M111, X16)."""

import pytest

from tests.workers.extract.reading import SENTENCE, article, markdown, read


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c"),
        ("<ul><li>a</li><ul><li>b</li></ul></ul>", "- a\n  - b"),
        ("<ol start=9><li>i<li>j</ol>", "9. i\n10. j"),
        ("<ol><li value=4>d<li>e</ol>", "4. d\n5. e"),
        ("<ol start=-1><li>x</ol>", "1. x"),
        ("<ul><li><div>one</div><div>two</div></li></ul>", "- one\n\n  two"),
        ("<ul><li>do:<pre>a\n\n  b</pre></li></ul>", "- do:\n\n  ```\n  a\n\n    b\n  ```"),
        ("<table><tr><th>a<th>b<tr><td>1<td></table>", "| a | b |\n| --- | --- |\n| 1 |  |"),
        ("<table><tr><th>a<th>b<tr><td>x|y<td><ul><li>p<li>q</ul></table>",
         "| a | b |\n| --- | --- |\n| x\\|y | - p<br>- q |"),
        ("<table><tr><td>only a layout</td></tr></table>", "only a layout"),
        ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n> \n> b"),
        ("<p>a<br>b</p>", "a  \nb"),
        ("<p>see <code>f`g</code></p>", "see ``f`g``"),
        ("<p>x <b>bold </b>y <i>it</i>.</p>", "x **bold** y *it*."),
        ("<p>说明<strong>（注意）</strong>正文</p>", "说明（注意）正文"),  # noqa: RUF001 - as Chinese is written
        ("<p>a <em></em>b</p>", "a b"),
        ("<p># no heading</p>", "\\# no heading"),
        ("<p>1. no list</p>", "1\\. no list"),
        ("<p>- no list</p>", "\\- no list"),
        ("<p>a<b>b</b>c <b>(d)</b> e</p>", "a**b**c **(d)** e"),
        ("<p>*a* _b_ &lt;i> [c](d) `e` &amp;amp; f_g 2 * 3</p>",
         "\\*a\\* \\_b\\_ \\<i> [c\\](d) \\`e\\` \\&amp; f_g 2 * 3"),
        ('<p>It is told in <a href="/x_(y)">a [b]</a>.</p>', "It is told in [a \\[b\\]](https://site.example/x_%28y%29)."),
        ('<p>It calls <a href="/c"><code>f()</code></a>.</p>', "It calls [`f()`](https://site.example/c)."),
        ('<h2>Head <code>f</code><a class="headerlink" href="#x">¶</a></h2><p>after it, text.</p>',
         "## Head `f`\n\nafter it, text."),
        ('<pre class="language-js"><code>a\n</code></pre>', "```js\na\n```"),
        ("<pre>```\nx</pre>", "````\n```\nx\n````"),
        ("<pre><span class=line>a</span><span class=line>b</span></pre>", "```\na\nb\n```"),
        ("<pre><span class=line>a</span>\n<span class=line>b</span></pre>", "```\na\nb\n```"),
        ("<p>He said <q>yes</q>.</p>", "He said “yes”."),
    ],
)  # fmt: skip
def test_extract_writes_the_construct(html, expected):
    assert markdown(html) == expected


def test_extract_resolves_links_against_the_base_element():
    page = article('<p>see <a href="x">this</a></p>').replace("<body>", '<head><base href="/b/c/"></head><body>')

    assert read(page).links[0].url == "https://site.example/b/c/x"


def test_extract_keeps_a_late_script_free_segment_of_a_streamed_page():
    page = f'<body><div id=root><p>Loading</p></div><div hidden id="S:0"><main><p>{SENTENCE * 3}</p></main></div>'

    assert SENTENCE.strip() in read(page).text


def test_extract_reads_noscript_when_the_page_is_empty_without_it():
    assert SENTENCE.strip() in read(f"<body><div></div><noscript><p>{SENTENCE * 3}</p></noscript>").text


def test_extract_leaves_noscript_out_when_the_page_has_text():
    assert "JavaScript" not in read(article("<noscript>Please enable JavaScript.</noscript>")).text


def test_extract_leaves_a_cookie_wall_out_when_it_is_longer_than_the_page():
    wall = "<div id=onetrust-banner-sdk><p>" + "We use necessary cookies. " * 100 + "</p></div>"

    text = read(f"<body>{wall}<main><h1>Statement</h1><p>{SENTENCE}</p></main>").text

    assert text == f"# Statement\n\n{SENTENCE.strip()}"


def test_extract_keeps_content_that_an_unclosed_button_swallowed():
    page = f"<body><header><button><svg><path></header><main><h1>Real</h1><p>{SENTENCE * 4}</p></main>"

    assert SENTENCE.strip() in read(page).text


def test_extract_takes_the_article_that_the_page_is_named_after():
    other = f"<article><h2>Another thing entirely</h2><p>{SENTENCE * 3}</p></article>"
    mine = (
        "<article><h2>The wanted story</h2><p>"
        + "This one is what the page is about, and it is told at some length. " * 3
    )
    text = read(f"<title>The wanted story - Site</title><body>{other}{mine}</p></article>{other}").text

    assert "what the page is about" in text
    assert "Another thing" not in text


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("<title>Story - Site</title><meta property=og:title content=Story>", "Story"),
        ("<title>Story - Site</title><meta property=og:title content=Other>", "Story - Site"),
        ("<meta property=og:title content=Other>", "Other"),
        ("", "Heading"),
        (f"<title>{'t' * 301}</title>", "t" * 300),
    ],
)
def test_extract_names_the_page(head, expected):
    assert read(f"<head>{head}</head><body><h1>Heading</h1><p>{SENTENCE}</p>").title == expected


def test_extract_gives_markdown_through_with_its_first_heading_as_title():
    document = read(b"\xef\xbb\xbfintro  \r\nx\r\n\r\n# Title #\r\n* a\x01b\r\n", "text/markdown")

    assert (document.title, document.text) == ("Title", "intro  \nx\n\n# Title #\n* ab")


def test_extract_gives_plain_text_through_cleaned():
    document = read(b"\n\n  a \t\r\nb\rc\x0cd\n\n", "text/plain")

    assert (document.title, document.text, document.links) == ("", "  a\nb\nc\nd", ())
