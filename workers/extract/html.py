"""Readable Markdown of an HTML page: tame, parse, grow, weigh, choose, prune, render."""

from dataclasses import dataclass

from schemas.document import Form, Link
from workers.extract.body import body_of
from workers.extract.classify import choose, is_listing, weigh
from workers.extract.clean import clean, cut, fit
from workers.extract.flat import flat_text
from workers.extract.forms import FORMS, as_markdown, mark
from workers.extract.genre import Genre, judge_genre
from workers.extract.guard import tame
from workers.extract.head import Head, parse, read_head
from workers.extract.ink import Ink
from workers.extract.links import ranked
from workers.extract.prune import is_prose, prune
from workers.extract.render import render
from workers.extract.streamed import place_segments
from workers.extract.tree import Element, Tree, grow

_LITTLE_CHARS = 1_500  # unlinked text; with less, what was taken for furniture may be the page
_NOTHING_CHARS = 300  # with less, the text may be in noscript (Discourse, discourse#10834)
_REPEATED_CHARS = 60  # a block this long that stands twice is a teaser of itself
_LABEL_CHARS = 40
_FENCES = (mark("```")[:-1], mark("~~~")[:-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a page gives."""

    text: str = ""
    links: tuple[Link, ...] = ()
    truncated: bool = False
    head: Head = Head()


def render_html(source: str, *, base_url: str, source_chars: int, links_max: int, form: Form = "markdown") -> Page:
    """The page's readable text in one of its forms, at most `source_chars` of it."""
    markup = tame(source.encode("utf-8", "replace"))
    root, cut_deep = parse(markup)
    if root is None:
        return Page()
    head = read_head(root, markup, base_url)
    body = body_of(root)
    if body is None:
        return Page(head=head)
    if cut_deep:
        text, _ = cut(clean(flat_text(markup, source_chars)), source_chars)
        return Page(text=text, truncated=True, head=head)
    place_segments(root, markup)
    tree = _grown(body, judge_genre(markup, head.generator, base_url))
    ink = Ink(head.base_url, chars_max=source_chars, chars_left=source_chars)
    blocks = _content(tree, head.title, ink)
    text, cut_long = fit(blocks, source_chars, FORMS[form])
    truncated = cut_long or ink.is_dry or tree.truncated
    return Page(text=text, links=ranked(list(ink.links.values()), base_url, links_max), truncated=truncated, head=head)


def _grown(body: Element, genre: Genre) -> Tree:
    """The page's tree; with little in it, the tree that holds more."""
    tree = grow(body, genre=genre)
    if tree.skipped and _unlinked(tree) < _LITTLE_CHARS:
        tree = grow(body, furniture=True, genre=genre)
    if _unlinked(tree) < _NOTHING_CHARS:
        fuller = grow(body, furniture=True, noscript=True, genre=genre, veiled=True)
        if fuller.root.text_chars > 2 * tree.root.text_chars:
            return fuller
    return tree


def _unlinked(tree: Tree) -> int:
    return tree.root.text_chars - tree.root.link_chars


def _content(tree: Tree, title: str, ink: Ink) -> list[str]:
    weigh(tree)
    if is_listing(tree):
        tree.genre = "listing"
        ink.images = False  # each is named again beside it
        weigh(tree)
    container = choose(tree, title)
    prose = is_prose(container)
    prune(container, genre=tree.genre)
    blocks = render(container, ink)
    if tree.genre == "manual":
        return blocks
    return _once(_without_labels(blocks) if prose else blocks)


def _once(blocks: list[str]) -> list[str]:
    """The blocks without long ones that stood before, code aside."""
    seen: set[str] = set()
    kept = []
    for block in blocks:
        if len(block) > _REPEATED_CHARS and not block.startswith(_FENCES):
            if block in seen:
                continue
            seen.add(block)
        kept.append(block)
    return kept


def _without_labels(blocks: list[str]) -> list[str]:
    """The blocks without the headings and labels that end them: what they announce was left out."""
    while blocks and _is_label(as_markdown(blocks[-1]), alone=len(blocks) <= 3):
        blocks.pop()
    return blocks


def _is_label(block: str, *, alone: bool) -> bool:
    return block.startswith(("#", "![")) or (not alone and len(block) < _LABEL_CHARS and block[-1] not in '.!?。"”`|')
