"""A network of a worker's own, with a link to each store and one to the web: links that can be cut."""

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ops.lab.namespace import NAMESERVER
from ops.stack.child import Part
from ops.stack.home import Home
from tests.fleet import wait_until

# Networks for documentation only (RFC 5737): nobody in the lab lives there. The second address is the worker's.
LINKS = {"broker": "192.0.2.0", "ledger": "192.0.2.4", "web": "192.0.2.8"}
PORTS = {"broker": 6379, "results": 6380, "postgres": 5432}
OF_STORE = {"broker": "broker", "results": "broker", "postgres": "ledger"}


def near(link: str) -> str:
    """The stores' end of a link."""
    head, _, last = LINKS[link].rpartition(".")
    return f"{head}.{int(last) + 1}"


def far(link: str) -> str:
    """The worker's end of a link."""
    head, _, last = LINKS[link].rpartition(".")
    return f"{head}.{int(last) + 2}"


@dataclass(frozen=True, slots=True)
class Network:
    """The worker's network namespace, held open by a process."""

    holder: int

    @property
    def entrance(self) -> tuple[str, ...]:
        """The words that take a command there."""
        return ("nsenter", f"--net=/proc/{self.holder}/ns/net", "--")

    @property
    def environment(self) -> dict[str, str]:
        """Where a worker finds its stores and its nameserver from there."""
        return {
            "OUTRIDER_DATABASE_URL": f"postgresql://outrider@{near('ledger')}:{PORTS['postgres']}/postgres",
            "OUTRIDER_BROKER_URL": f"redis://{near('broker')}:{PORTS['broker']}/0",
            "OUTRIDER_RESULT_URL": f"redis://{near('broker')}:{PORTS['results']}/0",
            "OUTRIDER_NAMESERVERS": near("web"),
        }

    def cut(self, *links: str) -> None:
        """Take these links down, without a word to anybody."""
        for link in links:
            ip("link", "set", f"s-{link}", "down")

    def mend(self, *links: str) -> None:
        """Have them back. Their routes went with them."""
        for link in links:
            ip("link", "set", f"s-{link}", "up")
            _route(link)

    def lay(self) -> None:
        """Make the links."""
        for link in LINKS:
            ip("link", "add", f"s-{link}", "type", "veth", "peer", "name", f"w-{link}", "netns", str(self.holder))
            ip("address", "add", f"{near(link)}/30", "dev", f"s-{link}")
            ip("link", "set", f"s-{link}", "up")
            ip("address", "add", f"{far(link)}/30", "dev", f"w-{link}", inside=self)
            ip("link", "set", f"w-{link}", "up", inside=self)
            _route(link)
        ip("route", "add", "default", "via", near("web"), inside=self)


def _route(link: str) -> None:
    """The lab takes every address for its own; the worker's are not."""
    ip("route", "replace", "unicast", far(link), "dev", f"s-{link}", "table", "local", "scope", "link")


def ip(*words: str, inside: Network | None = None) -> None:
    """One command of iproute2."""
    done = subprocess.run((*(inside.entrance if inside else ()), "ip", *words), capture_output=True, text=True)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr.strip()}"


@contextmanager
def own_network() -> Iterator[Network]:
    """A network with its links, while the block runs. Skips where none can be made."""
    try:
        holder = subprocess.Popen(("unshare", "--net", "--", "sleep", "infinity"), stderr=subprocess.PIPE, text=True)
    except FileNotFoundError:
        pytest.skip("needs unshare (util-linux)")
    with holder, _ended(holder):
        ours = Path("/proc/self/ns/net").readlink()
        theirs = Path(f"/proc/{holder.pid}/ns/net")
        wait_until(lambda: holder.poll() is not None or theirs.readlink() != ours, what="a network")
        if holder.poll() is not None:
            pytest.skip(f"no network namespace can be made: {holder.stderr.read().strip()}")
        network = Network(holder.pid)
        network.lay()
        with _nameserver():
            yield network


@contextmanager
def _ended(process: subprocess.Popen[str]) -> Iterator[None]:
    try:
        yield
    finally:
        process.kill()


@contextmanager
def _nameserver() -> Iterator[None]:
    """The lab's nameserver, which listens on loopback alone, at the near end of the web's link as well."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as front,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as back,
    ):
        front.bind((near("web"), 53))
        front.settimeout(0.2)
        back.settimeout(2)
        closing = threading.Event()

        def pass_on() -> None:
            while not closing.is_set():
                with suppress(TimeoutError):
                    asked, who = front.recvfrom(4_096)
                    back.sendto(asked, (NAMESERVER, 53))
                    front.sendto(back.recv(4_096), who)

        thread = threading.Thread(target=pass_on)
        thread.start()
        try:
            yield
        finally:
            closing.set()
            thread.join()


def listening(home: Home, part: Part) -> Part:
    """The store, at the near end of its link as well as at its socket."""
    address, port = near(OF_STORE[part.name]), PORTS[part.name]
    if part.name == "postgres":
        with (home.postgres / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {LINKS['ledger']}/30 trust\n")
        return replace(part, argv=(*part.argv, "-c", f"listen_addresses={address}"))
    return replace(part, argv=(*part.argv, "--port", str(port), "--bind", address, "--protected-mode", "no"))
