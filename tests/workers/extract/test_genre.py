"""What sort of writing a page is, and what that makes of its parts (M111, X16)."""

import pytest

from tests.workers.extract.reading import SENTENCE, article, limits_of, read
from workers.extract.document import extract
from workers.extract.genre import judge_genre

REPLY = "I have kept a lighthouse myself, and I counted the gulls twice each evening, as one does in winter. "


def text_at(url: str, page: str) -> str:
    return extract(page.encode(), content_type="text/html", base_url=url, limits=limits_of()).text


@pytest.mark.parametrize(
    ("generator", "url", "page", "genre"),
    [
        ("Discourse 3.4.0 - https://github.com/discourse", "https://a.example/", b"", "thread"),
        ("", "https://forum.a.example/x", b"", "thread"),
        ("", "https://a.example/showthread.php?t=1", b"", "thread"),
        ("", "https://a.example/", b'{"@type": "DiscussionForumPosting"}', "thread"),
        ("Doxygen 1.9", "https://a.example/", b"", "manual"),
        ("Docutils 0.18", "https://a.example/topics/x/", b"", "manual"),
        ("", "https://docs.a.example/topics/x/", b"", "manual"),
        ("", "https://a.example/", b"<p>" * 20 + b"<code>" * 12, "manual"),
        ("", "https://a.example/", b"<p>" * 26 + b"<code>" * 12, "page"),
        ("", "https://a.example/", b"<code>" * 11, "page"),
        ("WordPress 6.5", "https://a.example/threadbare/", b"", "page"),
    ],
)
def test_genre_is_told_by_generator_address_and_code(generator, url, page, genre):
    assert judge_genre(page, generator, url) == genre


def test_thread_is_read_as_its_posts_and_an_article_without_its_comments():
    page = article(
        f"<p>{SENTENCE * 9}</p><div id=comments><div class=comment><p>{REPLY * 3}</p>"
        "<p class=signature>SIGNED</p></div></div>"
    )

    thread = text_at("https://site.example/forum/topic/7", page)

    assert REPLY.strip() in thread
    assert "SIGNED" not in thread
    assert REPLY.strip() not in text_at("https://site.example/story/7", page)


def test_manual_keeps_what_is_furniture_elsewhere():
    page = article(
        f"<p>{SENTENCE * 2}</p><div class=related><p>Related directives matter here.</p></div>"
        '<p>See also <a href="/a">one_function</a>, <a href="/b">another_function</a></p>'
        "<ul><li><a href=/c>Options</a></li><li><a href=/d>Files</a></li><li><a href=/e>Bugs</a></li></ul>"
    )

    manual = text_at("https://docs.site.example/x", page)

    assert "Related directives" in manual
    assert "another_function" in manual
    assert "- [Bugs](https://docs.site.example/e)" in manual
    assert "Bugs" not in text_at("https://site.example/x", page)


def test_manual_keeps_a_text_that_stands_twice():
    note = "The caller owns the returned value and must release it when it is no longer needed."
    page = article(f"<h2>one()</h2><p>{note}</p><h2>two()</h2><p>{note}</p>")

    assert text_at("https://docs.site.example/x", page).count(note) == 2
    assert text_at("https://site.example/x", page).count(note) == 1


def test_listing_keeps_its_linked_cards_and_not_its_menus():
    cards = "".join(
        f'<div class=card><h3><a href="/p/{n}">The long name of the thing number {n}</a></h3>'
        f"<span>{n} euro</span></div>"
        for n in range(30)
    )
    menu = "".join(f"<a href=/m/{n}>Part {n}</a> " for n in range(12))

    text = read(f"<title>Things</title><body><div>{menu}</div><div>{cards}</div>").text

    assert "### [The long name of the thing number 29](https://site.example/p/29)" in text
    assert "Part 3" not in text


def test_page_takes_the_heading_along_that_stands_above_its_text():
    page = (
        f"<body><div class=wrap><div class=head><h1>Only the heading</h1><p>{SENTENCE}</p></div>"
        f"<div class=text><p>{SENTENCE * 6}</p><p>{SENTENCE * 6}</p></div></div><div><a href=/x>{'x' * 90}</a></div>"
    )

    assert read(page).text.startswith("# Only the heading")


def test_menu_is_told_from_navy_and_hidden_from_hidden_on_small_screens():
    page = article(
        f"<div class=navy-blue><p>NAVY {SENTENCE}</p></div><div class='hidden md:block'><p>WIDE {SENTENCE}</p></div>"
        f"<div class=hidden><p>SECRET {SENTENCE}</p></div>"
    )

    text = read(page).text

    assert "NAVY" in text
    assert "WIDE" in text
    assert "SECRET" not in text


def test_panel_that_a_click_unfolds_is_read():
    page = article(
        f"<section role=tabpanel hidden><p>FOLDED {SENTENCE}</p></section>"
        f"<div class=accordion-body style='display: none'><p>ANSWER {SENTENCE}</p></div>"
        f"<div style='display: none'><p>SECRET {SENTENCE}</p></div>"
    )

    text = read(page).text

    assert "FOLDED" in text
    assert "ANSWER" in text
    assert "SECRET" not in text


def test_page_that_is_veiled_until_a_script_has_run_is_read():
    veiled = f"<body><div><div style='visibility:hidden'><article><p>{SENTENCE * 5}</p></article></div></div>"

    assert SENTENCE.strip() in read(veiled).text


def test_shop_tags_in_a_class_are_no_furniture():
    page = article(f"<div class='product type-product post-7 tag-featured'><p>Cup, {SENTENCE}</p></div>")

    assert "Cup" in read(page).text
