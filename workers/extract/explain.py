"""Why a page reads as it does: what was kept, what was left out, and for which reason. For reports of bad pages."""

from collections.abc import Iterator
from dataclasses import dataclass

from workers.extract import marks
from workers.extract.classify import plain
from workers.extract.genre import Genre, judge_genre
from workers.extract.guard import tame
from workers.extract.head import parse, read_head
from workers.extract.hidden import is_hidden
from workers.extract.html import read_body, select
from workers.extract.tree import NEVER, Element, Node, Tree, grow_enough

_BEGINS_CHARS = 60
_PARTS_MAX = 500  # whoever reads more reads the page
_WHY = {
    marks.FURNITURE: "its tag or role is page furniture",
    marks.NAMED: "its class or id is furniture's",
    marks.DOUBTED: "its class is often furniture's, and little in it is written text",
    marks.INLINE_JUNK: "a label, a permalink or a line number",
    marks.CONSENT: "a cookie wall",
    marks.PRUNED: "mostly links",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a page. Unit: `chars` and `link_chars` of text, 0 where it was not even entered."""

    where: str
    kept: bool
    why: str
    chars: int
    link_chars: int
    begins: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How a page was read: as what sort of writing, from which element down, and its parts in order."""

    genre: Genre
    container: str
    parts: tuple[Part, ...]


def explain_html(source: str, base_url: str) -> Explanation | None:
    """How the page is read; None where it holds no body, or nests too deep for any structure."""
    markup = tame(source.encode("utf-8", "replace"))
    root, cut_deep = parse(markup)
    if root is None or cut_deep:
        return None
    head = read_head(root, markup, base_url)
    body = read_body(root, markup)
    if body is None:
        return None
    tree = grow_enough(body, judge_genre(markup, head.generator, base_url))
    container = select(tree, head.title)
    parts = [part for _, part in zip(range(_PARTS_MAX), _parts(tree, container, body), strict=False)]
    return Explanation(genre=tree.genre, container=_path(tree, container), parts=tuple(parts))


def _parts(tree: Tree, container: Node, body: Element) -> Iterator[Part]:
    place = 0
    while place < len(tree.order):
        node = tree.order[place]
        if node is container:
            yield _part(node, "the chosen container", kept=True)
            yield from _left_out(tree, container)
            place = node.end
        elif node.at <= container.at < node.end:
            place += 1
        else:
            if node.mark or node.text_chars or marks.word_of(node.attrs, tree.genre):
                yield _part(node, _reason(node, tree.genre), kept=False)
            place = node.end
    yield from _unseen(body)


def _left_out(tree: Tree, container: Node) -> Iterator[Part]:
    place = container.at + 1
    while place < container.end:
        node = tree.order[place]
        if node.mark:
            yield _part(node, _reason(node, tree.genre), kept=False)
        place = node.end if node.mark else place + 1


def _reason(node: Node, genre: Genre) -> str:
    if not node.mark and node.text_chars:
        return "outside the chosen container"
    named = node.mark in {marks.KEPT, marks.NAMED, marks.DOUBTED}
    word = marks.word_of(node.attrs, genre) if named else ""
    return _WHY[node.mark or marks.NAMED] + (f" ({word})" if word else "")


def _unseen(body: Element) -> Iterator[Part]:
    """The outermost elements that nobody sees, with what they hide."""
    inside: set[Element] = set()
    for element in body.iter("*"):
        attrs: marks.Attributes = {str(name): str(value) for name, value in element.items()}
        if element.getparent() in inside:
            inside.add(element)
        elif element.tag not in NEVER and is_hidden(attrs, element):
            inside.add(element)
            text = " ".join("".join(map(str, element.itertext())).split())
            yield Part(
                where=_named(str(element.tag), attrs), kept=False, why="out of a reader's sight", chars=len(text),
                link_chars=0, begins=text[:_BEGINS_CHARS],
            )  # fmt: skip


def _part(node: Node, why: str, *, kept: bool) -> Part:
    text = " ".join(plain(node).split())
    return Part(
        where=_named(node.tag, node.attrs), kept=kept, why=why, chars=node.text_chars, link_chars=node.link_chars,
        begins=text[:_BEGINS_CHARS],
    )  # fmt: skip


def _path(tree: Tree, node: Node) -> str:
    return " > ".join(_named(one.tag, one.attrs) for one in tree.order[: node.at + 1] if one.at <= node.at < one.end)


def _named(tag: str, attrs: marks.Attributes) -> str:
    """The element as a selector that finds it."""
    name = f"#{attrs['id']}" if attrs.get("id") else ""
    return (tag + name + "".join(f".{one}" for one in attrs.get("class", "").split()))[:80]
