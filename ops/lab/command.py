"""How a COMMAND starts in a lab: its environment, and the step of becoming it."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ops.lab.namespace import NAMESERVER

AUTHORITY = "ca.pem"
NOT_FOUND, NOT_RUNNABLE = 127, 126  # POSIX shells' statuses


def environment(folder: Path) -> dict[str, str]:
    """The environment of a COMMAND: ours, without proxies, told of the lab's DNS and CA.

    The programs beside our interpreter are found first: `outrider`, also where no virtual environment is active.
    """
    ours = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    authority = str(folder / AUTHORITY)
    beside = Path(sys.executable).parent  # not resolved: a virtual environment's python is a link
    return ours | {
        "PATH": os.pathsep.join((str(beside), ours.get("PATH", os.defpath))),
        "OUTRIDER_NAMESERVERS": NAMESERVER,
        "OUTRIDER_CA_FILE": authority,
        "OUTRIDER_LAB": str(folder),
        # Sockets cross network namespaces: a stack that runs outside would answer from outside.
        "OUTRIDER_HOME": ours.get("OUTRIDER_HOME", str(folder / "home")),
        # For other programs run here: OpenSSL's, curl's and requests' names for the same file.
        "SSL_CERT_FILE": authority,
        "CURL_CA_BUNDLE": authority,
        "REQUESTS_CA_BUNDLE": authority,
    }


def execute(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Become COMMAND; comes back only with the status that says why not."""
    # Looked for first: a PATH with a closed folder would make exec say "permission denied" of what is nowhere.
    if "/" not in command[0] and shutil.which(command[0], path=environ.get("PATH")) is None:
        sys.stderr.write(f"lab: {command[0]}: command not found\n")
        return NOT_FOUND
    try:
        os.execvpe(command[0], list(command), dict(environ))  # noqa: S606 - no shell is what we want
    except FileNotFoundError:
        sys.stderr.write(f"lab: {command[0]}: command not found\n")
        return NOT_FOUND
    except OSError as refusal:
        sys.stderr.write(f"lab: {command[0]}: {refusal.strerror}\n")
        return NOT_RUNNABLE
