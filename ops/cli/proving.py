"""`outrider receipt verify` and `export`: whether receipts are what they were, for anybody to see."""

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from broker import settings as configuration
from broker.ledger.chains import read_chain, run_of
from ops.cli.keeping import open_ledger
from ops.cli.printing import FAILED, OURS, give, give_json, leave, say
from schemas.chain import Chain
from schemas.chain_file import NotAChain, export, parse
from schemas.findings import Finding, verify
from schemas.signature import sign


class Form(StrEnum):
    """What receipts are exported as."""

    JSONL = "jsonl"
    WARC = "warc"


Run_Name = Annotated[str | None, typer.Option("--run", metavar="RUN", help="The run whose receipts are meant.")]
Project_Name = Annotated[str, typer.Option("--project", metavar="P", help="The run's project.")]


def verify_receipts(
    receipt_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="An operation's id: its run is checked.")
    ] = None,
    *,
    run: Run_Name = None,
    project: Project_Name = "local",
    file: Annotated[Path | None, typer.Option("--file", help="An exported chain; needs no database.")] = None,
    signer: Annotated[
        str | None, typer.Option("--signer", metavar="KEY", help="Who must have signed the file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
) -> None:
    """Check receipts: their bytes, digests and rows, and that none was altered, removed, moved or put in.

    Exit code 0 when all is right, 3 when something is wrong or there is nothing to check, 1 for our own fault.

    Example: outrider receipt verify --run run-7 --project research
    """
    if [receipt_id, run, file].count(None) != 2:
        raise typer.BadParameter("name one of ID, --run and --file")
    chain = _of_file(file) if file else _of_ledger(receipt_id, project, run)
    found = verify(chain, signer=signer)
    if as_json:
        give_json(_told(chain, found))
    else:
        _show(chain, found)
    if found or not chain.links:
        leave(FAILED)


def export_receipts(
    run: Annotated[str, typer.Option("--run", metavar="RUN", help="The run whose receipts are meant.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The file to write; it must not be there yet.")],
    *,
    project: Project_Name = "local",
    form: Annotated[Form, typer.Option("--format", help="What is written.")] = Form.JSONL,
) -> None:
    """Write a run's receipts and their chain to a file that `receipt verify --file` checks anywhere; or to a WARC file.

    A WARC 1.1 file holds each receipt, its hops with the pinned addresses, and the text of those that keep it.
    Exit code 3 when there are none, or when something is wrong with them: they are written as they are all the same.
    With OUTRIDER_SIGN_KEY, a PEM file of an Ed25519 key, the file is signed.

    Example: outrider receipt export --run run-7 --project research --out run-7.jsonl
    """
    chain = _signed(_of_ledger(None, project, run))
    try:
        with out.open("xb") as file:
            _write(chain, file, form)
    except OSError as error:
        say(f"{out} cannot be written: {error.strerror}")
        leave(OURS)
    found = verify(chain)
    _show(chain, found)
    if found:
        leave(FAILED)


def _write(chain: Chain, file: BinaryIO, form: Form) -> None:
    if form is Form.WARC:
        from ops.cli.warc import write_warc  # noqa: PLC0415 - warcio, for this command alone

        write_warc(chain, file)
    else:
        file.writelines(line.encode() for line in export(chain))


def _signed(chain: Chain) -> Chain:
    """The chain, signed where the deployment has a key."""
    file = configuration.settings().sign_key
    if file is None:
        return chain
    try:
        return sign(chain, file.read_bytes())
    except (OSError, ValueError) as error:
        say(f"OUTRIDER_SIGN_KEY: {error.strerror if isinstance(error, OSError) else error}")
        leave(OURS)


def _of_ledger(receipt_id: str | None, project: str, run: str | None) -> Chain:
    with open_ledger() as ledger:
        place = run_of(ledger, receipt_id) if receipt_id is not None else (project, run or "")
        chain = None if place is None else read_chain(ledger, *place)
    if chain is None:
        say(f"no receipt {receipt_id}: no such operation, or it has not ended")
        leave(FAILED)
    elif chain.head is None and not chain.links and not chain.bare:
        say(f"no receipts of run {chain.run} in project {chain.project}")
        leave(FAILED)
    return chain


def _of_file(file: Path) -> Chain:
    try:
        with file.open("rb") as lines:
            return parse(lines)
    except NotAChain as error:
        say(f"{file}: {error}")
        leave(FAILED)
    except OSError as error:
        say(f"{file} cannot be read: {error.strerror}")
        leave(OURS)


def _told(chain: Chain, found: tuple[Finding, ...]) -> dict[str, Any]:
    return {
        "project": chain.project,
        "run": chain.run,
        "receipts": len(chain.links),
        "head": None if chain.head is None else asdict(chain.head),
        "signer": None if chain.signature is None else chain.signature.key,
        "right": not found and bool(chain.links),
        "findings": [asdict(finding) for finding in found],
    }


def _show(chain: Chain, found: tuple[Finding, ...]) -> None:
    for finding in found:
        place = f" at position {finding.position}" if finding.position is not None else ""
        give(f"WRONG  {finding.operation_id or 'the chain'}{place}: {finding.words} ({finding.fault})")
    head = "no head" if chain.head is None else f"head {chain.head.link}"
    if chain.signature is not None:
        say(f"signed with the key {chain.signature.key}")
    verdict = f"{len(found)} wrong" if found else "all right"
    say(f"run {chain.run} of project {chain.project}: {len(chain.links)} receipts, {head}: {verdict}")
