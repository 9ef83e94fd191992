"""Findings: what is wrong with the receipts of a run, each named; data in, findings out."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from schemas.chain import Chain, Link, Row, follow, genesis
from schemas.receipt import canonical, digest_of
from schemas.signature import is_right


class Fault(StrEnum):
    """What can be wrong with a receipt or with its chain."""

    UNREADABLE = "unreadable"
    NOT_CANONICAL = "not_canonical"
    DIGEST_WRONG = "digest_wrong"
    NOT_ITS_OWN = "not_its_own"
    ROW_DIFFERS = "row_differs"
    ROW_MISSING = "row_missing"
    LINK_WRONG = "link_wrong"
    OUT_OF_ORDER = "out_of_order"
    TWO_FOLLOW = "two_follow"
    POSITION_TAKEN = "position_taken"
    MISSING = "missing"
    BEYOND_HEAD = "beyond_head"
    HEAD_MISSING = "head_missing"
    HEAD_WRONG = "head_wrong"
    SIGNATURE_WRONG = "signature_wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong. Shape: `operation_id` is None where the receipt is gone and only its place is known."""

    fault: Fault
    words: str
    operation_id: str | None = None
    position: int | None = None


def verify(chain: Chain, *, signer: str | None = None) -> tuple[Finding, ...]:
    """Everything that is wrong with a chain; nothing for one that is whole. Order: receipts, links, places, head.

    Shape: `signer` is the public key whose signature the chain must bear; without it any signature will do, or none.
    """
    links = _in_order(chain)
    found = [finding for link in links for finding in _judge(chain, link)]
    found += _judge_links(chain, links)
    found += _judge_places(chain, links)
    found += _judge_head(chain, links)
    found += _judge_signature(chain, signer)
    found += [
        Finding(fault=Fault.MISSING, operation_id=name, words="the operation has ended, and its receipt is gone")
        for name in chain.bare
    ]
    return tuple(found)


def _in_order(chain: Chain) -> list[Link]:
    """By position; of two at one place the one comes first that follows the place before."""
    befores: dict[int, set[str]] = {0: {genesis(chain.project, chain.run)}}
    for link in chain.links:
        befores.setdefault(link.position, set()).add(link.link)

    def misfits(link: Link) -> bool:
        return link.link not in {follow(before, link.digest) for before in befores.get(link.position - 1, ())}

    return sorted(chain.links, key=lambda link: (link.position, misfits(link), link.operation_id))


def _judge(chain: Chain, link: Link) -> Iterator[Finding]:
    """The receipt alone: its bytes, its digest, and whether it speaks of this operation."""
    if chain.with_rows and link.row is None:
        yield _of(link, Fault.ROW_MISSING, "the receipt's operation is gone")
    if digest_of(link.body) != link.digest:
        yield _of(link, Fault.DIGEST_WRONG, "the receipt's bytes are not those that its digest was made of")
    try:
        body = _parse(link.body)
        told = canonical(body)
    except (ValueError, RecursionError):
        yield _of(link, Fault.UNREADABLE, "the receipt is not a JSON object that has a canonical form")
        return
    if told != link.body:
        yield _of(link, Fault.NOT_CANONICAL, "the receipt's bytes are not in canonical form (RFC 8785)")
    own = {"operation": link.operation_id, "project": chain.project, "run": chain.run}
    if others := sorted(name for name, value in own.items() if body.get(name) != value):
        yield _of(link, Fault.NOT_ITS_OWN, f"the receipt names another {', '.join(others)}")
    if link.row is not None and (names := _differing(link.row, body)):
        yield _of(link, Fault.ROW_DIFFERS, f"the operation's row and the receipt differ in {', '.join(names)}")


def _parse(text: str) -> dict[str, Any]:
    """A JSON object with its numbers read as RFC 8785 means them: all are doubles. Raises: ValueError."""
    body = json.loads(text, parse_int=float)
    if not isinstance(body, dict):
        raise ValueError  # noqa: TRY004 - a text of another shape, not a caller's mistake
    return body


def _differing(row: Row, body: dict[str, Any]) -> list[str]:
    error = body.get("error")
    told = body | {"code": error.get("code") if isinstance(error, dict) else None}
    return [name for name, value in asdict(row).items() if told.get(name) != value]


def _judge_links(chain: Chain, links: list[Link]) -> Iterator[Finding]:
    """Whether each receipt follows the one before it.

    Behind a link that is wrong, the stored and the right one are both good, so that one receipt alone is blamed.
    """
    start = genesis(chain.project, chain.run)
    places = {start: 0, **{link.link: link.position for link in reversed(links)}}
    first: dict[str, Link] = {}
    position, here, then = 0, [start], [start]  # what the receipt at this position may follow; and the one at the next
    for link in links:
        if link.position == position:
            parent = _parent(link, here)
            yield _of(link, Fault.POSITION_TAKEN, "another receipt stands at this place already")
        else:
            here = then if link.position == position + 1 else []
            position, parent = link.position, _parent(link, here)
            then = [link.link] if parent else [link.link, *(follow(one, link.digest) for one in here[-1:])]
            if parent is None:
                parent = _parent(link, places)
                yield from _misplaced(link, places.get(parent or ""), follows_a_gap=not here)
        if parent is not None and (rival := first.setdefault(parent, link)) is not link:
            for one in (rival, link):
                yield _of(one, Fault.TWO_FOLLOW, "another receipt follows the same one: one of the two is forged")


def _parent(link: Link, befores: Iterable[str]) -> str | None:
    """The one of these links that the receipt truly follows."""
    return next((before for before in befores if follow(before, link.digest) == link.link), None)


def _misplaced(link: Link, parent_position: int | None, *, follows_a_gap: bool) -> Iterator[Finding]:
    if parent_position is None and not follows_a_gap:
        yield _of(link, Fault.LINK_WRONG, "its link does not follow from the receipt before it and its own digest")
    elif parent_position is not None and parent_position != link.position - 1:
        yield _of(link, Fault.OUT_OF_ORDER, f"it was linked behind position {parent_position}")


def _judge_places(chain: Chain, links: list[Link]) -> Iterator[Finding]:
    """Whether the places are those from 1 to the chain's length."""
    last = max((link.position for link in links), default=0)
    length = last if chain.head is None else chain.head.length
    for link in links:
        if not 1 <= link.position <= length:
            yield _of(link, Fault.BEYOND_HEAD, f"the chain has {length} places: it was never linked at this one")
    taken = sorted({link.position for link in links if 1 <= link.position <= length})
    for before, after in zip([0, *taken], [*taken, length + 1], strict=True):
        if after > before + 1:
            yield _gap(before + 1, after - 1)


def _gap(first: int, last: int) -> Finding:
    places = f"position {first}" if first == last else f"positions {first} to {last}"
    return Finding(fault=Fault.MISSING, position=first, words=f"nothing stands at {places}: removed")


def _judge_head(chain: Chain, links: list[Link]) -> Iterator[Finding]:
    """Whether the chain ends where its head says. A last receipt that is gone is named by its place already."""
    if chain.head is None:
        if links or chain.bare:
            yield Finding(fault=Fault.HEAD_MISSING, words="the chain's head is gone")
        return
    last = [link.link for link in links if link.position == chain.head.length]
    if last and chain.head.link not in last:
        yield Finding(
            fault=Fault.HEAD_WRONG,
            position=chain.head.length,
            words="the head is not the link of the last receipt",
        )


def _judge_signature(chain: Chain, signer: str | None) -> Iterator[Finding]:
    if chain.signature is not None and not is_right(chain):
        yield Finding(fault=Fault.SIGNATURE_WRONG, words="the signature was not made for this chain")
    elif signer is not None and (chain.signature is None or chain.signature.key != signer):
        yield Finding(fault=Fault.SIGNATURE_WRONG, words="the chain is not signed by the key that was named")


def _of(link: Link, fault: Fault, words: str) -> Finding:
    return Finding(fault=fault, words=words, operation_id=link.operation_id, position=link.position)
