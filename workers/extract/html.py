"""Readable text of an HTML page: tame, parse, place, grow, weigh, choose, prune, render, tidy, fit."""

from dataclasses import dataclass

from schemas.document import Form, Link
from schemas.limits import Limits
from workers.extract.body import body_of
from workers.extract.classify import choose, is_listing, weigh
from workers.extract.clean import clean, cut, fit
from workers.extract.flat import flat_text
from workers.extract.forms import FORMS
from workers.extract.genre import judge_genre
from workers.extract.guard import tame
from workers.extract.head import Head, parse, read_head
from workers.extract.ink import Ink
from workers.extract.links import ranked
from workers.extract.prune import is_prose, prune
from workers.extract.render import render
from workers.extract.streamed import place_segments
from workers.extract.tidy import tidied
from workers.extract.tree import Element, Node, Tree, grow_enough

_SILENT = Head()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a page gives."""

    text: str = ""
    links: tuple[Link, ...] = ()
    truncated: bool = False
    head: Head = _SILENT


def render_html(source: str, *, base_url: str, limits: Limits, form: Form = "markdown") -> Page:
    """The page's readable text in one of its forms, at most `source_chars` of it."""
    source_chars = limits.source_chars
    markup = tame(source.encode("utf-8", "replace"))
    root, cut_deep = parse(markup)
    if root is None:
        return Page()
    head = read_head(root, markup, base_url)
    body = read_body(root, markup)
    if body is None:
        return Page(head=head)
    if cut_deep:
        text, _ = cut(clean(flat_text(markup, source_chars)), source_chars)
        return Page(text=text, truncated=True, head=head)
    tree = grow_enough(body, judge_genre(markup, head.generator, base_url))
    container = select(tree, head.title)
    # What a listing's images show is named again beside each.
    ink = Ink(head.base_url, chars_max=source_chars, chars_left=source_chars, images=tree.genre != "listing")
    blocks = tidied(render(container, ink), tree.genre, prose=is_prose(container))
    text, cut_long = fit(blocks, source_chars, FORMS[form])
    truncated = cut_long or ink.is_dry or tree.truncated
    return Page(
        text=text, links=ranked(list(ink.links.values()), base_url, limits.links_max), truncated=truncated, head=head
    )


def read_body(root: Element, markup: bytes) -> Element | None:
    """The page's body, whole: with what fell into its head and what was streamed behind it."""
    body = body_of(root)
    if body is not None:
        place_segments(root, markup)
    return body


def select(tree: Tree, title: str) -> Node:
    """The node of the tree that is read, with what is left out of it marked."""
    weigh(tree)
    if is_listing(tree):
        tree.genre = "listing"
        weigh(tree)
    container = choose(tree, title)
    prune(container, genre=tree.genre)
    return container
