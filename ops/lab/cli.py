"""The command line of the private internet: `outrider lab [OPTIONS] [COMMAND...]`."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ops.lab import zone as zones
from ops.lab.errors import LabUnavailable, ZoneWrong
from ops.lab.namespace import available

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

HELP = """Run COMMAND in a private internet that has no way out.

COMMAND gets a network of its own: public-looking addresses on the loopback device, a DNS server on 127.0.0.1 that lies
on command, web sites on the real ports 80 and 443 with a test CA, and canaries that count every packet for an address
the lab does not own. It works as root and as an ordinary user, and leaves nothing behind. Exit status: COMMAND's own;
69 when this machine gives us no network namespace; 78 when the zone file is wrong.

\b
Try:
  outrider lab --list
  outrider lab curl https://good.example/
  outrider lab outrider fetch https://good.example/
  outrider lab            (a shell)

COMMAND finds OUTRIDER_NAMESERVERS, OUTRIDER_CA_FILE and OUTRIDER_LAB (sockets and log.jsonl) in its environment.
"""
BANNER = """You are in Outrider's private internet: nothing leaves it. `exit` ends it.
  Try: curl https://good.example/  ·  outrider fetch https://rebind.example/  ·  tail -f $OUTRIDER_LAB/log.jsonl
  All hosts: outrider lab --list
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `outrider lab` with these arguments; gives the exit status."""
    try:
        app(args=None if argv is None else list(argv), prog_name="outrider lab")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0


@app.command(help=HELP, context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False})
def lab(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="The program to run; a shell when left out."),
    ] = None,
    zone: Annotated[Path | None, typer.Option(help="TOML file of hosts laid over the default zone.")] = None,
    json_log: Annotated[Path | None, typer.Option(help="Keep the log (JSON lines) in this file.")] = None,
    join: Annotated[Path | None, typer.Option(help="Run COMMAND in the lab of this OUTRIDER_LAB folder.")] = None,
    list_hosts: Annotated[bool, typer.Option("--list", help="Print the hosts, a line each, and end.")] = False,  # noqa: FBT002 - typer flag
) -> None:
    """Read options, then run."""
    try:
        internet = zones.load(zone)
        if list_hosts:
            _print(internet)
            return
        words = command or _shell()
        status = _run(words, internet, json_log) if join is None else _join(join, words)
    except (LabUnavailable, ZoneWrong) as refusal:
        typer.echo(f"lab: {refusal}", err=True)
        raise typer.Exit(refusal.exit_status) from refusal
    raise typer.Exit(status)


def _run(command: Sequence[str], internet: zones.Zone, json_log: Path | None) -> int:
    reason = available()
    if reason is not None:
        raise LabUnavailable(reason)
    from ops.lab import supervise  # noqa: PLC0415 - needs the optional extra that available() has looked for

    return supervise.run(command, internet, json_log)


def _join(folder: Path, command: Sequence[str]) -> int:
    from ops.lab import entrance  # noqa: PLC0415 - as above

    return entrance.run(folder, command)


def _shell() -> list[str]:
    if sys.stdin.isatty():
        typer.echo(BANNER, err=True)
    return [os.environ.get("SHELL", "/bin/sh")]


def _print(internet: zones.Zone) -> None:
    width = max(map(len, internet.hosts))
    for host in internet.hosts.values():
        typer.echo(f"{host.name:<{width}}  {host.about}".rstrip())
