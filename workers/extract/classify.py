"""Which part of a page is its content: marks weighed against lengths, then one container chosen."""

import re

from workers.extract.marks import ARTICLE, DOUBTED, FURNITURE, INLINE, KEPT, MAIN, NAMED, NO_CONTAINER
from workers.extract.tree import Node, Tree

# The numbers of this module were tuned on the development pages of WCXB (the seven page types) and on manual pages.
_PROSE_CHARS = 60  # a run of text this long, mostly unlinked, is a real paragraph
_PROSE_LINKS = 0.4
_JUNK_CHARS = 80
_LISTING_PROSE = 0.4  # of what is kept; with less, the page is a listing (of 180 pages, one of those was an article)
_LITTLE_PROSE = 0.05  # of all there is
_ARTICLE_PROSE = 600  # an article of this much prose is one, whatever stands around it
_LABEL_CHARS = 22  # the mean label of a menu is shorter, that of a list of things longer
_RICH = frozenset({"pre", "table"})
_CANDIDATES_MAX = 2_000
_WORD = re.compile(r"\w+")


def weigh(tree: Tree) -> None:
    """Settle the marks of the whole tree, children before parents, and count what is kept of each node."""
    total = tree.root.text_chars or 1
    for node in reversed(tree.order):
        if node.tag == "pre":
            node.prose_chars, node.kept_chars, node.kept_link_chars = node.text_chars, node.text_chars, node.link_chars
        else:
            _weigh(node, total, tree)


def _weigh(node: Node, total: int, tree: Tree) -> None:
    prose = run = run_links = kept = kept_links = 0
    for kid in node.kids:
        if isinstance(kid, str):
            run += len(kid)
            kept += len(kid)
            continue
        inline = kid.tag in INLINE
        if not inline:
            prose += _prose(run, run_links)
            run = run_links = 0
        if kid.mark and (kid.text_chars < _JUNK_CHARS if inline else _stays_marked(kid, total, tree)):
            continue
        kid.mark = KEPT
        if kid.is_rich or kid.tag in _RICH:
            node.is_rich = True
        kept += kid.kept_chars
        kept_links += kid.kept_link_chars
        if inline and not kid.has_blocks:
            run += kid.kept_chars
            run_links += kid.kept_link_chars
        else:
            prose += kid.prose_chars
            node.has_blocks = True
    node.prose_chars = prose + _prose(run, run_links)
    node.kept_chars = kept
    # A link around whole blocks is a card of a listing, not link text: its blocks count as text.
    node.kept_link_chars = node.link_chars if node.tag in INLINE and not node.has_blocks else kept_links


def _prose(run: int, links: int) -> int:
    return run if run >= _PROSE_CHARS and links < _PROSE_LINKS * run else 0


def _stays_marked(node: Node, total: int, tree: Tree) -> bool:
    """Whether a marked block is furniture indeed: not half of the page, not long unlinked text, not code or a table."""
    chars, links = node.text_chars, node.link_chars
    if node.mark == FURNITURE:
        return chars < 0.5 * total
    if tree.genre == "listing" and node.mark == DOUBTED:
        return is_menu(node)
    if node.mark == NAMED:
        spared = chars > 400 and links < 0.1 * chars and node.tag in {"section", "pre"}
        return chars < 0.4 * total and not spared
    if node.mark == DOUBTED and tree.genre == "manual":
        return links > 0.65 * chars
    if node.mark == DOUBTED and chars < 0.4 * total:
        written = node.prose_chars > max(120, 0.5 * chars) and links < 0.2 * chars
        return not written and not (links < 0.6 * chars and node.is_rich)
    return False


def is_listing(tree: Tree) -> bool:
    """Whether the page shows things in a row rather than tells of one: then its links are its text."""
    body = tree.root
    little = body.prose_chars < max(_LISTING_PROSE * body.kept_chars, _LITTLE_PROSE * body.text_chars)
    return tree.genre == "page" and little


def is_menu(node: Node) -> bool:
    """Whether a block is links with labels of a word or two, as menus have and lists of things have not."""
    return node.link_chars > 0.6 * node.text_chars and node.link_chars < _LABEL_CHARS * node.link_count


def choose(tree: Tree, title: str) -> Node:
    """The node that holds the content. `title` is the page's, to tell its own article from the neighbours."""
    return _with_heading(tree, _chosen(tree, title))


def _with_heading(tree: Tree, node: Node) -> Node:
    """The node, or the nearest one around it that holds the page's first heading too, where little else comes along."""
    if node.worth >= ARTICLE and tree.genre != "manual":
        return node
    best, headings = node, _headings(tree)
    for one in reversed(_ancestry(tree, node)[:-1]):
        if best.worth == MAIN:
            break
        more = one.kept_chars - node.kept_chars
        links = one.kept_link_chars - node.kept_link_chars
        if 0.3 * more < links or (tree.genre != "manual" and more > 0.3 * node.kept_chars):
            break
        if tree.genre == "manual" and one.tag != "body":
            best = one
        if any(one.at <= heading.at < node.at for heading in headings):
            return one
    return best


def _ancestry(tree: Tree, node: Node) -> list[Node]:
    """The node and all around it, outermost first."""
    found, place = [], 0
    while place <= node.at:
        one = tree.order[place]
        if one.end > node.at:
            found.append(one)
            place += 1
        else:
            place = one.end
    return found


def _headings(tree: Tree) -> list[Node]:
    """The page's own headings, of the first level, that stand in nothing that is left out."""
    found, place = [], 0
    while place < len(tree.order):
        node = tree.order[place]
        if node.tag == "h1" and not node.mark:
            found.append(node)
        place = node.end if node.mark else place + 1
    return found


def _chosen(tree: Tree, title: str) -> Node:
    body = tree.root
    candidates = _candidates(tree)
    articles = [node for node in candidates if node.worth >= ARTICLE]
    told = max(_ARTICLE_PROSE, 0.6 * body.prose_chars)
    if tree.genre == "listing" and not any(node.prose_chars >= told for node in articles):
        return _holding_most(body)
    if articles and tree.genre != "thread" and (found := _article(tree, articles, words(title))):
        return found
    claims = [
        node for node in candidates
        if node.prose_chars >= 0.5 * body.prose_chars and (node.prose_chars or node.kept_chars > 0.5 * body.kept_chars)
    ]  # fmt: skip
    if claims:
        most = max(node.worth for node in claims)
        step = 0.05 * body.prose_chars + 1
        return min((n for n in claims if n.worth == most), key=lambda n: (-n.prose_chars // step, n.text_chars))
    return _descend(body)


def words(text: str) -> str:
    """The words of a text, lower case, one space between: what titles are compared by."""
    return " ".join(_WORD.findall(text.lower()))


def _candidates(tree: Tree) -> list[Node]:
    """The nodes that claim to be content and stand in nothing that is left out."""
    found: list[Node] = []
    place = 1
    while place < len(tree.order) and len(found) < _CANDIDATES_MAX:
        node = tree.order[place]
        if node.mark or not node.kept_chars or (node.tag in INLINE and not node.has_blocks):
            place = node.end
            continue
        if node.worth:
            found.append(node)
        place += 1
    return found


def _holds(outer: Node, inner: Node) -> bool:
    return outer.at <= inner.at < outer.end


def _article(tree: Tree, articles: list[Node], title: str) -> Node | None:
    total = tree.root.prose_chars
    if title and len(articles) > 1 and (titled := _titled(tree, articles, title)):
        return titled
    top = max(articles, key=lambda node: (node.prose_chars, -node.text_chars))
    rival = max(
        (node.prose_chars for node in articles if not _holds(node, top) and not _holds(top, node)),
        default=0,
    )
    if top.prose_chars <= 0.3 * total or top.prose_chars <= 2 * rival:
        return None
    inside = [node for node in articles if _holds(top, node) and node.prose_chars >= 0.85 * top.prose_chars]
    return min(inside, key=lambda node: node.text_chars)


def _titled(tree: Tree, articles: list[Node], title: str) -> Node | None:
    """Of several articles, the one whose heading the page is named after."""
    total = tree.root.prose_chars
    headings = [node for node in tree.order if node.tag in {"h1", "h2"} and not node.mark][:200]
    named = [node for node in headings if len(text := words(plain(node))) > 8 and (text in title or title in text)]
    mine = [node for node in articles if node.prose_chars > 150 and any(_holds(node, heading) for heading in named)]
    if not mine:
        return None
    top = max(mine, key=lambda n: (n.prose_chars if n.prose_chars < 0.9 * total else 0, -n.text_chars))
    return top if top.tag == "article" and 0.1 * total < top.prose_chars < 0.6 * total else None


def plain(node: Node) -> str:
    """The node's text without any markup."""
    return "".join(kid if isinstance(kid, str) else "" if kid.mark else plain(kid) for kid in node.kids)


def _holding_most(body: Node) -> Node:
    """Down from the body, while one child keeps nearly all of its text."""
    node = body
    while True:
        kids = [kid for kid in node.kids if isinstance(kid, Node) and not kid.mark and kid.tag not in INLINE]
        heir = max(kids, key=lambda kid: kid.kept_chars, default=None)
        if heir is None or heir.tag in NO_CONTAINER or heir.kept_chars < 0.75 * body.kept_chars:
            return node
        node = heir


def _descend(body: Node) -> Node:
    """Down from the body, while one child keeps nearly all of its prose and has no twin beside it."""
    total, unlinked = body.prose_chars, body.kept_chars - body.kept_link_chars
    node = body
    while True:
        kids = [kid for kid in node.kids if isinstance(kid, Node) and not kid.mark and kid.tag not in INLINE]
        heirs = [
            kid for kid in kids
            if kid.tag not in NO_CONTAINER and kid.prose_chars >= 0.75 * total
            and kid.kept_chars - kid.kept_link_chars >= 0.7 * unlinked
        ]  # fmt: skip
        if not heirs or any(_are_twins(heirs[-1], kid) for kid in kids):
            return node
        node = heirs[-1]


def _are_twins(node: Node, other: Node) -> bool:
    return other is not node and other.prose_chars > 0 and other.tag == node.tag and other.classes == node.classes


__all__ = ["choose", "plain", "weigh", "words"]
