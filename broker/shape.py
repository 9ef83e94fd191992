"""Shapes: what a task message must look like before Celery may act on it.

Celery unpacks headers and body in many places, some of them in the pool, where a surprise leaves the message
unacknowledged for ever, or in its loop, where it ends the worker. A message of another shape is rejected at the door.
"""

import re
from collections.abc import Mapping
from typing import Any

from celery.exceptions import InvalidTaskError

# Ours have 32 hex digits; the ledger refuses longer ones as well. ASCII: the id is a key of the result store.
_ID = re.compile(r"[\x21-\x7e]{1,512}")


def check(headers: Mapping[str, Any], payload: Any) -> None:
    """Let a well-shaped message pass. Raises: InvalidTaskError, with the name of the part and never its value."""
    _insist(is_id(headers.get("id")), "id")
    for field in ("root_id", "parent_id", "group", "shadow", "lang", "meth"):
        given = headers.get(field)
        _insist(given is None or (isinstance(given, str) and given.isprintable()), field)
    _insist(isinstance(headers.get("retries"), int | None), "retries")
    _insist(_is_time_limit(headers.get("timelimit")), "timelimit")
    _insist(isinstance(payload, list | tuple) and len(payload) == 3, "body")
    args, keywords, embed = payload
    _insist(isinstance(args, list | tuple), "args")
    _insist(isinstance(keywords, dict), "kwargs")
    _insist(_is_embed(embed), "embed")


def is_id(given: Any) -> bool:
    """Whether this can be a task's id."""
    return isinstance(given, str) and _ID.fullmatch(given) is not None


def _insist(holds: bool, part: str) -> None:  # noqa: FBT001 - an assertion that names its part
    if not holds:
        message = f"malformed {part}"
        raise InvalidTaskError(message)


def _is_time_limit(given: Any) -> bool:
    if given is None:
        return True
    return isinstance(given, list | tuple) and len(given) == 2 and all(isinstance(n, int | float | None) for n in given)


def _is_embed(given: Any) -> bool:
    if given is None:
        return True
    if not isinstance(given, dict) or not (given.get("chord") is None or _is_signature(given["chord"])):
        return False
    chains = (given.get(name) or [] for name in ("callbacks", "errbacks", "chain"))
    return all(isinstance(chain, list | tuple) and all(map(_is_signature, chain)) for chain in chains)


def _is_signature(given: Any) -> bool:
    """A task to be sent next, as Celery writes one down. Its options may not say how it is to be run here."""
    return (
        isinstance(given, dict)
        and isinstance(given.get("task"), str)
        and isinstance(given.get("args") or [], list | tuple)
        and isinstance(given.get("kwargs") or {}, dict)
        and isinstance(given.get("options") or {}, dict)
    )
