"""Chains of receipts made by hand, and links that are altered."""

from dataclasses import replace

from schemas.chain import Chain, Head, Link, follow, genesis
from schemas.receipt import canonical, digest_of


def body_of(number, *, project="p", run="r", **other):
    """A receipt's bytes, with the fields that a verifier reads."""
    error = None if number % 3 else {"code": "http_error", "facts": {}, "message": "said 500"}
    fields = {
        "error": error,
        "milliseconds": 12.5 + number,
        "operation": f"op-{number}",
        "project": project,
        "run": run,
    }
    return canonical(fields | {"hops": [{"number": 1, "wire_bytes": 1e20}], "state": "completed"} | other)


def chain_of(bodies, *, project="p", run="r"):
    """A whole chain: what the ledger makes of these bodies of op-0, op-1 ..."""
    links, before = [], genesis(project, run)
    for number, body in enumerate(bodies):
        before = follow(before, digest_of(body))
        links.append(
            Link(position=number + 1, operation_id=f"op-{number}", body=body, digest=digest_of(body), link=before)
        )
    return Chain(project=project, run=run, links=tuple(links), head=Head(length=len(links), link=before))


def whole_chain(length):
    return chain_of([body_of(number) for number in range(length)])


def with_link(chain, index, **fields):
    """The chain with one receipt altered."""
    links = list(chain.links)
    links[index] = replace(links[index], **fields)
    return replace(chain, links=tuple(links))


def without(chain, index):
    return replace(chain, links=chain.links[:index] + chain.links[index + 1 :])
