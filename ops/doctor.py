"""The doctor: what is wrong with this machine, its stores or its network, and what to do."""

import ssl
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import certifi
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from broker import settings as configuration
from broker.app import app
from broker.ledger.engine import Ledger, ledger_engine
from broker.ledger.health import clock_offset_seconds, durability, schema_is_current
from broker.settings import Settings
from ops.cli import watching
from ops.stack import home, sharing
from ops.stack.faults import StackError
from schemas.deadline import Deadline
from schemas.destination import Destination
from schemas.errors import Broken, OutriderError
from schemas.pin import Lookup
from schemas.profiles import WEB_FETCH
from workers.hands import provider_of
from workers.net.resolve import Resolver

State = Literal["ok", "warn", "FAIL"]
DNS_SECONDS = 8.0
# Leases are judged by the database's clock; ours only measures how long we took. A second apart is odd, a minute wrong.
OFFSET_SECONDS = (1.0, 60.0)
# This version was written after it: a clock that says earlier makes every certificate look not yet valid.
EARLIEST = datetime(2026, 1, 1, tzinfo=UTC)

_DIAGNOSES = {
    "fake_ip_dns": (
        "the DNS of this network answers with stand-in addresses (a fake-IP proxy), so the guard refuses everything",
        "set OUTRIDER_NAMESERVERS to a server that answers truly, or take this machine out of the proxy's fake-IP mode",
    ),
    "dns64": (
        "the DNS of this network translates IPv4 into IPv6 (DNS64), and the guard refuses translated addresses",
        "set OUTRIDER_NAMESERVERS to a server without DNS64, on a network with IPv4",
    ),
}

# What a lookup says when nobody answered it.
_SILENT = frozenset({"timeout", "unreachable"})
_NO_NETWORK = "connect this machine to a network, or set OUTRIDER_NAMESERVERS to a DNS server that it can reach"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: its name, how it went, what was seen, and what to do about it."""

    name: str
    state: State
    seen: str
    todo: str = ""


def examine(settings: Settings, hosts: tuple[str, ...], say: Callable[[str], None]) -> Iterator[Finding]:
    """All findings, in the order in which they build on each other."""
    yield _python()
    yield _clock()
    yield _home(settings)
    yield from _stores(settings, say)
    yield _certificates(settings)
    yield _search(settings)
    yield from _names(settings, hosts)


def _python() -> Finding:
    version = ".".join(str(part) for part in sys.version_info[:3])
    state: State = "ok" if sys.version_info >= (3, 11) else "FAIL"
    return Finding("python", state, version, "" if state == "ok" else "Outrider needs Python 3.11 or newer")


def _clock() -> Finding:
    now = datetime.now(UTC)
    seen = f"{now:%Y-%m-%d %H:%M:%S} UTC"
    if now < EARLIEST:
        return Finding("clock", "FAIL", seen, "set the clock: certificates are not yet valid at that time")
    return Finding("clock", "ok", seen)


def _home(settings: Settings) -> Finding:
    if sharing.find_external(settings) is not None:
        return Finding("home", "ok", "not needed: the stores are external")
    try:
        place = home.open_home(settings.home)
        probe = place.root / "doctor.probe"
        probe.write_bytes(b"")
        probe.unlink()
    except (StackError, OSError) as error:
        return Finding("home", "FAIL", str(error), "set OUTRIDER_HOME to a folder of yours on a disk with space")
    return Finding("home", "ok", str(place.root))


def _stores(settings: Settings, say: Callable[[str], None]) -> Iterator[Finding]:
    running = sharing.find(settings) is not None
    try:
        with ExitStack() as held:
            found = held.enter_context(sharing.open_stores(settings, say=say))
            configuration.install(found)
            yield Finding(
                "stack", "ok", "running" if running else "not running; its stores start and stop as they should"
            )
            yield from _database(found)
            yield from _broker(running=running)
    except StackError as error:
        yield Finding("stack", "FAIL", str(error), "see the named log, or stop the other process")
    except Exception as error:  # noqa: BLE001 - the doctor survives what he finds; the driver's words may hold a password
        yield Finding("database", "FAIL", f"cannot be reached ({type(error).__name__})", "check OUTRIDER_DATABASE_URL")


def _database(found: Settings) -> Iterator[Finding]:
    ledger = ledger_engine(found.require_database_url(), size=1)
    try:
        yield from _ledger(ledger)
    except Exception as error:  # noqa: BLE001 - as above
        yield Finding("database", "FAIL", f"cannot be used ({type(error).__name__})", "check OUTRIDER_DATABASE_URL")
    finally:
        ledger.dispose()


def _ledger(ledger: Ledger) -> Iterator[Finding]:
    try:
        durability(ledger)
        yield Finding("durability", "ok", "commits survive a crash")
    except Broken as error:
        yield Finding("durability", "FAIL", error.message, error.hint)
    if schema_is_current(ledger):
        yield Finding("schema", "ok", "current")
    else:
        yield Finding("schema", "FAIL", "not the one of this version", "run `outrider migrate`")
    offset = clock_offset_seconds(ledger)
    state: State = "ok" if abs(offset) < OFFSET_SECONDS[0] else "warn" if abs(offset) < OFFSET_SECONDS[1] else "FAIL"
    todo = "" if state == "ok" else "let NTP set both clocks"
    yield Finding("database clock", state, f"{offset:+.3f} s from ours", todo)


def _broker(*, running: bool) -> Iterator[Finding]:
    try:
        names = watching.answering()
        yield Finding("broker", "ok", "answers")
    except (OperationalError, RedisError, OSError) as error:
        yield Finding("broker", "FAIL", f"cannot be reached ({type(error).__name__})", "check OUTRIDER_BROKER_URL")
        names = ()
    try:
        backend: Any = app.backend
        backend.client.ping()
        yield Finding("result store", "ok", "answers")
    except Exception as error:  # noqa: BLE001 - each kind of store has errors of its own
        yield Finding(
            "result store", "FAIL", f"cannot be reached ({type(error).__name__})", "check OUTRIDER_RESULT_URL"
        )
    if names:
        yield Finding("workers", "ok", ", ".join(names))
    elif running:
        yield Finding("workers", "FAIL", "none answers", "start them: `outrider up`; if they run, see their logs")
    else:
        yield Finding("workers", "warn", "none: a call starts one for itself", "`outrider up` keeps a fleet running")


def _certificates(settings: Settings) -> Finding:
    bundle = str(settings.ca_file or certifi.where())
    try:
        count = len(ssl.create_default_context(cafile=bundle).get_ca_certs())
    except (OSError, ssl.SSLError) as error:
        why = error.strerror or type(error).__name__
        return Finding("certificates", "FAIL", f"{bundle} cannot be read ({why})", "check OUTRIDER_CA_FILE")
    if count == 0:
        return Finding("certificates", "FAIL", f"{bundle} holds none", "check OUTRIDER_CA_FILE")
    return Finding("certificates", "ok", f"{count} authorities in {bundle}")


def _search(settings: Settings) -> Finding:
    """By the settings alone: a question would tell the provider something, and cost a place under its limits."""
    try:
        provider = provider_of(settings)
    except ValueError as error:
        todo = "set OUTRIDER_SEARXNG_URL to a public https address, or leave OUTRIDER_SEARCH_PROVIDER unset"
        return Finding("search", "FAIL", str(error), todo)
    return Finding("search", "ok", f"{provider.name} at {provider.endpoint.origin()}")


def _names(settings: Settings, hosts: tuple[str, ...]) -> Iterator[Finding]:
    resolver = Resolver(settings.nameserver_list())
    heard = False
    for host in hosts:
        record = Lookup()
        yield _name(resolver, host, record)
        heard = heard or not _SILENT.issuperset(record.dns.values())
    yield _network(resolver) if heard else Finding("network", "FAIL", "no DNS server answers", _NO_NETWORK)


def _name(resolver: Resolver, host: str, record: Lookup) -> Finding:
    began = time.monotonic()
    try:
        place = Destination.parse(f"https://{host}/")
        pin = resolver.pin(place, WEB_FETCH.limits, Deadline.after(DNS_SECONDS), record)
    except OutriderError as error:
        answers = "".join(f", {family} {code}" for family, code in record.dns.items())
        return Finding(f"dns {host}", "FAIL", f"{error.message} ({error.code}{answers})", error.hint)
    spent = (time.monotonic() - began) * 1000
    return Finding(f"dns {host}", "ok", f"{len(pin.addresses)} public addresses in {spent:.0f} ms")


def _network(resolver: Resolver) -> Finding:
    try:
        diagnosis = resolver.diagnose(WEB_FETCH.limits, Deadline.after(DNS_SECONDS))
    except OutriderError as error:
        return Finding("network", "FAIL", error.message, _NO_NETWORK)
    if diagnosis is None:
        return Finding("network", "ok", "DNS answers truly: no fake-IP proxy, no DNS64")
    seen, todo = _DIAGNOSES[diagnosis]
    return Finding("network", "FAIL", seen, todo)
