"""The independent witness: the counting origin, which writes each request to disk first, and the canaries."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ops.lab import channel
from ops.lab.answers import fold
from ops.lab.canary import Canary
from ops.lab.certificates import Authority
from ops.lab.http import Reply, Request, html, text
from ops.lab.journal import Journal
from ops.lab.web import Web
from ops.lab.zone import COUNTED, Zone, in_pools

MODES = frozenset({"answer", "hold", "half"})
WORDS = (
    "This request has been written down, and the note was on disk before this answer left.",
    "Whoever asks the same thing twice will be found here twice, whatever their own books may say about it.",
)


class Witness(Web):
    """A web whose every host is counted."""

    def __init__(self, zone: Zone, authority: Authority, journal: Journal, *, has_ipv6: bool) -> None:
        super().__init__(zone, authority, journal, has_ipv6=has_ipv6)
        self._diary = journal
        self._book: list[dict[str, Any]] = []
        self._modes: dict[str, str] = {}
        self._gates: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._arrived = asyncio.Condition()
        self._ringing: set[asyncio.Task[None]] = set()
        outside = zone.owned()
        self._canary = Canary(lambda address: address in outside or in_pools(address, zone.pools))
        self._hosts = [host for host in zone.hosts.values() if host.site == COUNTED]
        self._perches = [one for one in zone.canaries if has_ipv6 or ":" not in one]

    def operations(self) -> Mapping[str, channel.Operation]:
        """The control calls the witness answers."""
        return {
            "requests": self._requests,
            "await_requests": self._await_requests,
            "behave": self._behave,
            "release": self._release,
            "canaries": self._canaries,
            "reset": self._forget,
        }

    async def open(self) -> None:
        """Serve the counted hosts, and a page on every canary's perch so that an escape would succeed."""
        for host in self._hosts:
            await self.place(host)
        for address in self._perches:
            await self.listen(address, 80, "http")
            await self.listen(address, 443, "https")
        asyncio.get_running_loop().add_reader(self._canary.socket, self._look)

    def answer(self, request: Request) -> Reply:
        """Write the request down, durably, then answer it as its path was told to."""
        note = {key: value for key, value in asdict(request).items() if key not in ("body", "turn")}
        note["body_bytes"] = len(request.body)
        self._diary.write("counted", durable=True, **note)
        self._book.append(note)
        ringing = asyncio.get_running_loop().create_task(self._ring())
        self._ringing.add(ringing)
        ringing.add_done_callback(self._ringing.discard)
        wire = self._page(request)
        mode, gate = self._mode(request)
        if mode == "answer":
            return Reply(wire=wire)
        return Reply(wire=self._held(wire, 0 if mode == "hold" else len(wire) // 2, gate))

    def _page(self, request: Request) -> bytes:
        """A page; under `/plain/` a text, which no extraction process has to read."""
        title = f"Counted: {len(self._book)}"
        return text("\n".join((title, *WORDS))) if request.parts()[:1] == ["plain"] else html(title, *WORDS * 6)

    def _mode(self, request: Request) -> tuple[str, str]:
        parts = request.parts()
        if request.target in self._modes:
            return self._modes[request.target], request.target
        if len(parts) > 1 and parts[0] in MODES:
            return parts[0], parts[1]
        return "answer", ""

    async def _held(self, wire: bytes, before: int, gate: str) -> AsyncIterator[bytes]:
        """`before` bytes at once, the rest when the gate opens."""
        if before:
            yield wire[:before]
        await self._gates[gate].wait()
        yield wire[before:]

    async def _ring(self) -> None:
        async with self._arrived:
            self._arrived.notify_all()

    def _look(self) -> None:
        for escape in self._canary.look():
            self._diary.write("escape", **escape)

    def _matching(self, request: channel.Request) -> list[dict[str, Any]]:
        host, target = fold(request.get("host", "")), request.get("target", "")
        return [one for one in self._book if host in ("", one["host"]) and target in ("", one["target"])]

    async def _requests(self, request: channel.Request) -> dict[str, Any]:
        return {"requests": self._matching(request)}

    async def _await_requests(self, request: channel.Request) -> dict[str, Any]:
        """Wait until `count` requests have come, `seconds` at most; gives what came either way."""

        async def enough() -> None:
            async with self._arrived:
                await self._arrived.wait_for(lambda: len(self._matching(request)) >= request["count"])

        with suppress(TimeoutError):  # the caller counts what came
            await asyncio.wait_for(enough(), request["seconds"])
        return await self._requests(request)

    async def _behave(self, request: channel.Request) -> dict[str, Any]:
        if request["mode"] not in MODES:
            raise ValueError(request["mode"])
        self._modes[request["target"]] = request["mode"]
        return {}

    async def _release(self, request: channel.Request) -> dict[str, Any]:
        self._gates[request["gate"]].set()
        return {}

    async def _canaries(self, _request: channel.Request) -> dict[str, Any]:
        self._look()
        return {"escapes": self._canary.escapes}

    async def _forget(self, _request: channel.Request) -> dict[str, Any]:
        self._book.clear()
        self._modes.clear()
        self._gates.clear()
        self._canary.forget()
        return {}


async def serve(witness: Witness, folder: Path) -> None:
    """Open the witness and its control socket, then return; the running loop does the rest."""
    await witness.open()
    await channel.listen(folder / "witness.sock", witness.operations())
