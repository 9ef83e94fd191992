"""Exported chains: a run's receipts as JSON lines, to be checked anywhere and without a database.

The first line is {"chain", "head", "length", "project", "run"}; each line after it {"body", "digest", "link",
"operation", "position"}, where `body` is a text: the receipt's very bytes. Every line is RFC 8785 canonical JSON.
A signed chain has one more line, {"key", "signature"}; `schemas/signature.py` says over what.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any, cast

from schemas.chain import FORMAT, Chain, Head, Link, Signature, statement
from schemas.receipt import canonical

_HEAD: dict[str, type] = {"chain": str, "head": str, "length": int, "project": str, "run": str}
_LINK: dict[str, type] = {"body": str, "digest": str, "link": str, "operation": str, "position": int}
_SIGNATURE: dict[str, type] = {"key": str, "signature": str}


class NotAChain(ValueError):
    """A line of the file is not what it should be. Its words name the line and never quote it."""


def export(chain: Chain) -> Iterator[str]:
    """The lines of the file."""
    yield statement(chain) + "\n"
    for link in chain.links:
        fields = {"body": link.body, "digest": link.digest, "link": link.link, "operation": link.operation_id}
        yield canonical(fields | {"position": link.position}) + "\n"
    if chain.signature is not None:
        yield canonical(asdict(chain.signature)) + "\n"


def parse(lines: Iterable[bytes]) -> Chain:
    """The chain of a file. Raises: NotAChain."""
    rows = enumerate(lines, start=1)
    number, first = next(rows, (1, b""))
    start = _fields(number, first, _HEAD)
    if start["chain"] != FORMAT:
        raise NotAChain("line 1: not a chain of a format that this version knows")
    links: list[Link] = []
    signature = None
    shapes = [_LINK, _SIGNATURE]
    for number, line in rows:
        fields = _fields(number, line, *shapes)
        if "signature" in fields:
            signature, shapes = Signature(**fields), []  # nothing comes behind it
        else:
            links.append(Link(operation_id=fields.pop("operation"), **fields))
    head = Head(length=start["length"], link=start["head"]) if start["length"] else None
    return Chain(project=start["project"], run=start["run"], links=tuple(links), head=head, signature=signature)


def _fields(number: int, line: bytes, *shapes: dict[str, type]) -> dict[str, Any]:
    """The line's object, with exactly the fields of one of these shapes."""
    try:
        fields = json.loads(line.decode())
        # Also refuses halves of surrogate pairs, which have no bytes to be digested.
        right = isinstance(fields, dict) and canonical(fields) == line.decode().removesuffix("\n")
    except (ValueError, RecursionError):
        right = False
    if not right or {name: type(value) for name, value in fields.items()} not in shapes:
        raise NotAChain(f"line {number}: not the canonical JSON object that stands there in an exported chain")
    return cast("dict[str, Any]", fields)
