"""What is left out of the chosen container: blocks that are mostly links."""

from workers.extract.classify import is_menu
from workers.extract.genre import Genre
from workers.extract.marks import ARTICLE, HEADINGS, INLINE, KEPT, PRUNED, tags
from workers.extract.tree import Node

_CELLS = tags("td th tr tbody thead tfoot caption li dt dd pre")  # never dropped for their links alone
_ROWS = tags("tr tbody thead")
_KEPT_SHARE = 0.35  # where pruning would leave less of the container, the container is a list of links: keep it


def is_prose(container: Node) -> bool:
    """Whether the container is written text rather than a list of things."""
    prose, kept = container.prose_chars, container.kept_chars
    claims = container.worth >= ARTICLE
    return (claims and prose > 600 and prose > 0.55 * kept) or prose > 0.75 * kept


def prune(container: Node, *, genre: Genre) -> None:
    """Mark the link-dense blocks of the container, unless they are most of it."""
    pruned: list[Node] = []
    _prune(container, pruned, prose=is_prose(container), genre=genre)
    if pruned and _kept(container) < _KEPT_SHARE * container.kept_chars:
        for node in pruned:
            node.mark = KEPT


def _prune(node: Node, pruned: list[Node], *, prose: bool, genre: Genre) -> None:
    for kid in node.kids:
        if isinstance(kid, str) or kid.mark or kid.tag in INLINE or kid.tag in HEADINGS:
            continue
        if (
            kid.tag not in _CELLS
            and kid.kept_chars
            and kid.prose_chars == 0
            and _is_links(kid, prose=prose, genre=genre)
        ):
            kid.mark = PRUNED
            pruned.append(kid)
        else:
            _prune(kid, pruned, prose=prose, genre=genre)


def _is_links(node: Node, *, prose: bool, genre: Genre) -> bool:
    if node.tag == "table" and _has_header(node):
        return False
    kept, links = node.kept_chars, node.kept_link_chars
    if genre == "manual":
        return False
    if genre == "listing":
        return node.link_count > 2 and is_menu(node)
    most = 0.6 if prose else 0.9 if node.tag == "table" else 0.8
    if links <= most * kept:
        return False
    return node.tag != "p" or kept < 60 or (prose and links > 0.8 * kept and kept < 160)


def _has_header(node: Node) -> bool:
    """Whether the table names its columns: then its links are its data."""
    return any(
        isinstance(kid, Node) and (kid.tag == "th" or (kid.tag in _ROWS and _has_header(kid))) for kid in node.kids
    )


def _kept(node: Node) -> int:
    return sum(
        len(kid) if isinstance(kid, str) else 0 if kid.mark else kid.kept_chars if kid.tag in INLINE else _kept(kid)
        for kid in node.kids
    )
