"""The light tree that a page is read from: what a reader would see, with its lengths counted."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from lxml import etree

from workers.extract import marks
from workers.extract.genre import Genre
from workers.extract.hidden import CONCEALING, is_hidden
from workers.extract.marks import CONSENT, DOUBTED, FURNITURE, NAMED, Attributes, tags

Element: TypeAlias = etree._Element  # noqa: SLF001 - the only name that lxml has for it

_Counts: TypeAlias = tuple[int, int, int]

NODES_MAX = 100_000  # a page of 2 MB has under 40,000; the rest of a flood is not read
DEPTH_MAX = 256  # real pages stay under 60; deeper text is kept, its structure is not
NEVER = tags(
    "script style template iframe object embed svg canvas audio video select option button input textarea head link "
    "meta map area datalist progress meter dialog frame frameset noframes applet param basefont"
)
_LITTLE_CHARS = 1_500  # unlinked text; with less, what was taken for furniture may be the page
_NOTHING_CHARS = 300  # with less, the text may be in noscript (Discourse, discourse#10834) or behind a veil
_LEAKY = tags("svg button select option textarea audio video canvas object map")
_LEAKS_MAX = 16  # each is looked through whole, and they may nest
_VEIL_DEPTH = 5
_CONTENT_TAGS = ("main", "article", "h1", "p")
_FORM_CONTENT_TAGS = ("main", "article", "h1", "h2", "pre")


class Node:
    """One element that is read. Its counts are filled while it grows, its verdicts by `weigh` and `prune`.

    Shape: `kids` are text and nodes in order; `mark` is nonzero where the element is page furniture; `worth` is how
    much it claims to be the content; `at` and `end` are its span in the order of the tree.
    """

    __slots__ = (
        "at", "attrs", "classes", "end", "has_blocks", "is_rich", "kept_chars", "kept_link_chars", "kids", "link_chars",
        "link_count", "mark", "prose_chars", "tag", "text_chars", "worth",
    )  # fmt: skip

    def __init__(self, tag: str, attrs: Attributes) -> None:
        self.tag = tag
        self.attrs = attrs
        self.classes = ""
        self.kids: list[str | Node] = []
        self.mark = self.worth = self.at = self.end = self.link_count = 0
        self.text_chars = self.link_chars = self.prose_chars = self.kept_chars = self.kept_link_chars = 0
        self.has_blocks = self.is_rich = False


@dataclass(slots=True)
class Tree:
    """A grown tree. `order` holds every node before its children; `skipped` says whether furniture was left out."""

    order: list[Node]
    skipped: bool = False
    truncated: bool = False
    genre: Genre = "page"

    @property
    def root(self) -> Node:
        """The body's node."""
        return self.order[0]


def grow(
    body: Element, *, noscript: bool = False, furniture: bool = False, genre: Genre = "page", veiled: bool = False
) -> Tree:
    """The tree of a page's body; `noscript`, `furniture` and `veiled` read also what is left out at first."""
    never = NEVER if noscript else NEVER | {"noscript"}
    grower = _Grower(Tree([], genre=genre), never, furniture=furniture, veiled=veiled)
    grower.grow(body, 0, False, False, {})
    return grower.tree


def grow_enough(body: Element, genre: Genre) -> Tree:
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


class _Grower:
    """The one pass over a page's elements, within its budgets."""

    __slots__ = ("furniture", "leaks_left", "never", "nodes_left", "tree", "veiled")

    def __init__(self, tree: Tree, never: frozenset[str], *, furniture: bool, veiled: bool) -> None:
        self.tree, self.never, self.furniture, self.veiled = tree, never, furniture, veiled
        self.leaks_left = _LEAKS_MAX
        self.nodes_left = NODES_MAX

    def grow(self, element: Element, depth: int, in_link: bool, in_pre: bool, attrs: Attributes) -> Node:  # noqa: FBT001 - keywords cost 6 %
        tag = element.tag
        node = Node(tag, attrs)
        order = self.tree.order
        node.at = len(order)
        order.append(node)
        if attrs or tag in marks.SPEAKING_TAGS:
            node.classes, node.mark, node.worth = marks.judge(tag, attrs, self.tree.genre, in_pre=in_pre)
            if tag == "form" and not node.mark and not node.worth and not _holds(element, _FORM_CONTENT_TAGS):
                node.mark = DOUBTED
        if node.mark and self._is_left_out(node):
            node.end = len(order)
            return node
        in_link = in_link or tag == "a"
        counts = self._fill(node.kids, element, depth + 1, in_link, in_pre or tag == "pre")
        node.text_chars, node.link_chars, node.link_count = counts
        if in_link:
            node.link_chars, node.link_count = node.text_chars, 1
        node.end = len(order)
        return node

    def _is_left_out(self, node: Node) -> bool:
        """Whether a marked element is not even read. Its node stays, empty."""
        if node.mark in {FURNITURE, NAMED} and not self.furniture and node.tag not in {"section", "pre"}:
            self.tree.skipped = True
            return True
        return node.mark == CONSENT

    def _fill(self, kids: list["str | Node"], element: Element, depth: int, in_link: bool, in_pre: bool) -> _Counts:  # noqa: FBT001 - as above
        """Add what an element holds to `kids`; how much text, linked text and links that is."""
        text_chars = link_chars = link_count = 0
        if text := element.text:
            text = text if in_pre else squeeze(text)
            kids.append(text)
            text_chars += len(text)
        if not (count := len(element)):
            return text_chars, 0, 0
        self.nodes_left -= count
        for child in element if self.nodes_left >= 0 else self._afforded(element, count):
            if child.tag == "br":
                kids.append(BREAK)
            elif (attrs := self._entered(child)) is not None:
                if depth >= DEPTH_MAX:
                    text = self._flat(child)
                    kids.append(text)
                    text_chars += len(text)
                elif child.tag in marks.PLAIN_INLINE and (not attrs or marks.says_nothing(attrs, in_pre=in_pre)):
                    chars, linked, links = self._fill(kids, child, depth + 1, in_link, in_pre)
                    text_chars += chars
                    link_chars += linked
                    link_count += links
                else:
                    kid = self.grow(child, depth, in_link, in_pre, attrs)
                    kids.append(kid)
                    text_chars += kid.text_chars
                    link_chars += kid.link_chars
                    link_count += kid.link_count
            if text := child.tail:
                text = text if in_pre else squeeze(text)
                kids.append(text)
                text_chars += len(text)
        return text_chars, link_chars, link_count

    def _afforded(self, element: Element, count: int) -> Iterable[Element]:
        """The children that the budget of nodes still pays for."""
        self.tree.truncated = True
        return islice(element, max(0, count + self.nodes_left))

    def _entered(self, element: Element) -> Attributes | None:
        """The attributes of an element that is read; None for one that is not."""
        tag = element.tag
        if tag.__class__ is not str or (tag in self.never and not self._leaks(element, tag)):
            return None
        if not (pairs := element.items()):
            return _NONE
        attrs: Attributes = dict(pairs)  # type: ignore[arg-type] # of a parsed page, all are str
        if (
            not CONCEALING.isdisjoint(attrs)
            and is_hidden(attrs, element)
            and not (self.veiled and _is_veil(attrs, element))
        ):
            return None
        return attrs

    def _leaks(self, element: Element, tag: str) -> bool:
        """Whether content fell into an element that has none: libxml2 does not close `<button><svg>` (WCXB 5216)."""
        if tag == "template":
            return element.get("shadowrootmode") is not None
        if tag not in _LEAKY or self.leaks_left == 0 or not _holds(element, _CONTENT_TAGS):
            return False
        self.leaks_left -= 1
        return True

    def _flat(self, element: Element) -> str:
        """The visible text of a subtree that lies too deep for structure."""
        out: list[str] = []
        walk = etree.iterwalk(element, events=("start", "end"))
        for event, one in walk:
            if event == "end":
                out.append((one.tail or "") if one is not element else "")
            elif self._entered(one) is None:
                walk.skip_subtree()
            else:
                out.append(one.text or "")
        return squeeze(" " + " ".join(out) + " ")


_NONE: Attributes = {}
BREAK = Node("br", _NONE)  # one serves all: a break has nothing of its own


def _is_veil(attrs: Attributes, element: Element) -> bool:
    """Whether an element is the whole page, hidden by its style until a script has run."""
    return "style" in attrs and "hidden" not in attrs and sum(1 for _ in element.iterancestors()) <= _VEIL_DEPTH


def holder(node: Node) -> Node:
    """A container around one node, for what is written of it as a whole."""
    around = Node("div", _NONE)
    around.kids = [node]
    return around


def squeeze(text: str) -> str:
    """The text with each run of white space as one space, also at its ends."""
    if text.isspace():
        return " "
    words = " ".join(text.split())
    return (" " if text[0].isspace() else "") + words + (" " if text[-1].isspace() else "")


def _holds(element: Element, tags: tuple[str, ...]) -> bool:
    return next(element.iter(*tags), None) is not None
