"""`outrider doctor`: one line a check, and what to do."""

from dataclasses import asdict
from typing import Annotated

import typer

from broker import settings as configuration
from ops.cli.printing import OURS, give, give_json, leave, plain, say


def doctor(
    host: Annotated[list[str] | None, typer.Option(help="A name to look up; may be given again.")] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list on stdout.")] = False,
) -> None:
    """Check this machine, its stores and its network, and say what to do. Exit code 1 when anything fails.

    Example: outrider doctor --host example.com --host docs.python.org
    """
    from ops import doctor as craft  # noqa: PLC0415 - Celery, the ledger and the resolver, for this command alone

    findings = []
    for finding in craft.examine(configuration.settings(), tuple(host or ("example.com",)), say):
        findings.append(finding)
        if not as_json:
            give(plain(f"{finding.state:4}  {finding.name}: {finding.seen}"))
            if finding.todo:
                give(plain(f"      do: {finding.todo}"))
    if as_json:
        give_json([asdict(finding) for finding in findings])
    if any(finding.state == "FAIL" for finding in findings):
        leave(OURS)
