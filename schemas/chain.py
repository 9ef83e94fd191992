"""Chains: the receipts of one run, each linked to the one before it, so that whoever alters one is found out.

The byte form, for anybody who checks it elsewhere; SHA-256 and the text `sha-256=:BASE64:` (RFC 9530) throughout:
digest of a receipt = over its body, which is RFC 8785 canonical JSON;
link 0 = over the canonical JSON of {"chain": "outrider/1", "project": PROJECT, "run": RUN};
link n = over the text of link n-1 followed at once by the text of the digest of the receipt at position n;
head = the link of the last receipt, kept with their number.
"""

from dataclasses import dataclass

from schemas.receipt import canonical, digest_of

FORMAT = "outrider/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What the ledger's table of operations says of an operation that has a receipt; an exported chain has none."""

    project: str
    run: str
    step: str
    agent: str
    call: str
    tool: str
    arguments_sha256: str
    state: str
    code: str | None
    sent: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One receipt in its chain, as it is stored. Shape: `position` counts from 1; `link` and `digest` are RFC 9530."""

    position: int
    operation_id: str
    body: str
    digest: str
    link: str
    row: Row | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """How long a chain is, and the link of its last receipt."""

    length: int
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """Who vouches for an exported chain. Shape: both base64; `key` is the raw Ed25519 public key."""

    key: str
    signature: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """All that is kept of one run's receipts. Order: by position.

    Shape: `bare` are the ids of operations that have ended and have no receipt. `with_rows`: the operations' rows were
    read too, so that a link without one has lost it.
    """

    project: str
    run: str
    links: tuple[Link, ...]
    head: Head | None
    bare: tuple[str, ...] = ()
    with_rows: bool = False
    signature: Signature | None = None


def genesis(project: str, run: str) -> str:
    """What the first receipt of a run follows."""
    return digest_of(canonical({"chain": FORMAT, "project": project, "run": run}))


def follow(link: str, digest: str) -> str:
    """The link of the receipt with that digest, behind that link."""
    return digest_of(link + digest)


def statement(chain: Chain) -> str:
    """The first line of an exported chain. One without a head is of length 0."""
    head = chain.head or Head(length=0, link="")
    fields = {"chain": FORMAT, "head": head.link, "length": head.length, "project": chain.project, "run": chain.run}
    return canonical(fields)
