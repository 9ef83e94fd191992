"""A test's hand inside a running lab: tell DNS and sites what to say, open gates, count what was seen."""

import base64
import json
import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ops.lab import journal

SECONDS = 60.0


class LabControl:
    """The control sockets in a lab's folder, by default the one this process runs in (OUTRIDER_LAB)."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = Path(os.environ["OUTRIDER_LAB"]) if folder is None else folder

    def dns(self, name: str, **records: Any) -> None:
        """Make DNS say `A=`, `AAAA=` or `CNAME=` of a name, in the words of a zone file."""
        self._call("names", {"op": "dns", "name": name, **records})

    def chain(self, name: str, *links: str, **records: Any) -> None:
        """Make DNS lead from a name over CNAME `links` to `records` of the last; a link back to the name is a loop."""
        names = (name, *links)
        for start, end in zip(names, links, strict=False):
            self.dns(start, CNAME=end)
        if records:
            self.dns(names[-1], **records)

    def site(self, *hosts: str, **entry: Any) -> str:
        """Serve hosts as a zone entry says, sharing one site; DNS is told where, unless the entry says itself.

        Gives the first host's address ("" when it listens nowhere).
        """
        places: dict[str, list[str]] = self._call("web", {"op": "site", "hosts": hosts, "entry": entry})["places"]
        said: dict[str, Any] = {key: entry[key] for key in ("A", "AAAA", "CNAME") if key in entry}
        for host, addresses in places.items():
            records = said or _families(addresses)
            self.dns(host, **records)
        return next((one for addresses in places.values() for one in addresses), "")

    def wire(self, host: str, *wires: bytes, close: str = "fin", **entry: Any) -> str:
        """Serve these very bytes, one wire a request and the last for ever; gives the host's address."""
        replies = [{"wire_b64": base64.b64encode(one).decode(), "close": close} for one in wires]
        return self.site(host, site="wire", replies=replies, **entry)

    def hits(self, host: str = "") -> dict[str, int]:
        """How often each `host/target` of the ordinary sites was asked for."""
        hits = self._call("web", {"op": "hits", "host": host})["hits"]
        return {f"{hit['host']}{hit['target']}": hit["count"] for hit in hits}

    def queries(self, name: str = "") -> list[dict[str, str]]:
        """The DNS questions so far: name, type, transport."""
        found: list[dict[str, str]] = self._call("names", {"op": "queries", "name": name})["queries"]
        return found

    def requests(self, target: str = "", host: str = "") -> list[dict[str, Any]]:
        """What the counting origin was asked: scheme, host, method, target, headers, body_bytes."""
        found: list[dict[str, Any]] = self._call("witness", {"op": "requests", "target": target, "host": host})[
            "requests"
        ]
        return found

    def await_requests(self, target: str, count: int = 1, seconds: float = 10.0) -> list[dict[str, Any]]:
        """The same, as soon as `count` have come or `seconds` are over."""
        call = {"op": "await_requests", "target": target, "count": count, "seconds": seconds}
        found: list[dict[str, Any]] = self._call("witness", call)["requests"]
        return found

    def behave(self, target: str, mode: str) -> None:
        """Make the counting origin `answer`, `hold` or `half`-answer a target; its gate is the target itself."""
        self._call("witness", {"op": "behave", "target": target, "mode": mode})

    def release(self, gate: str) -> None:
        """Let held answers go: the NAME of `/hold/NAME` and `/half/NAME`, or a target given to `behave`."""
        self._call("witness", {"op": "release", "gate": gate})

    def canaries(self) -> list[dict[str, Any]]:
        """Every attempt to reach an address the lab does not own: address, port, protocol."""
        found: list[dict[str, Any]] = self._call("witness", {"op": "canaries"})["escapes"]
        return found

    def log(self) -> list[dict[str, Any]]:
        """The whole diary on disk, which outlives any reset."""
        return list(journal.lines(self.folder / "log.jsonl"))

    def reset(self) -> None:
        """Back to the zone as loaded: nothing told, nothing counted."""
        for server in ("names", "web", "witness"):
            self._call(server, {"op": "reset"})

    def _call(self, server: str, request: Mapping[str, Any]) -> dict[str, Any]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(SECONDS)
            line.connect(str(self.folder / f"{server}.sock"))
            line.sendall(json.dumps(request).encode() + b"\n")
            with line.makefile("rb") as reader:
                answer: dict[str, Any] = json.loads(reader.readline())
        if "error" in answer:
            raise ControlRefused(answer["error"])
        return answer


class ControlRefused(Exception):
    """A control call the lab could not carry out; the message is the server's."""


def _families(addresses: Sequence[str]) -> dict[str, Any]:
    return {"A": [one for one in addresses if ":" not in one], "AAAA": [one for one in addresses if ":" in one]}
