"""What the walk's tests share: a road that leads every public name to loopback origins, with the real judge in it."""

from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import ip_address

from schemas.destination import Destination
from schemas.errors import AddressRefused
from schemas.pin import Pin
from tests.faults.servers import Fault, origin
from workers.net.fetch import Road
from workers.net.judge import judge_literal
from workers.net.transport import Transport

PUBLIC = ("93.184.215.14",)


class Names:
    """Stands for DNS: what it says of a name is judged as the resolver judges it. Shape: `asked` in order."""

    def __init__(self, answers: dict[str, list[str]] | None = None, *, before=None) -> None:
        self._answers = answers or {}
        self._before = before
        self.asked: list[str] = []

    def pin(self, place, _limits, deadline, record) -> Pin:
        self.asked.append(place.host)
        if self._before:
            self._before()
        deadline.check("resolving")
        found = self._answers.get(place.name, PUBLIC)
        record.dns = {"A": "NOERROR", "AAAA": "NOERROR"}
        record.addresses = tuple(found)
        record.verdicts = {text: judge_literal(text).reason for text in found if not judge_literal(text).public}
        if record.verdicts:
            raise AddressRefused("The host is not a public destination.")
        addresses = tuple(ip_address(text) for text in found)
        return Pin(host=place.host, port=place.port, addresses=addresses, resolved_at=datetime.now(UTC))


class Detour:
    """Stands for the internet between us and the origins: the real transport, led from any place to loopback.

    Only the port and the addresses of what the walk asks for are replaced; the exchange itself is the product's.
    """

    def __init__(self, transport: Transport, ports: dict[str, int]) -> None:
        self._transport, self._ports = transport, ports

    def exchange(self, place, pin, ask, **rest):
        port = self._ports[place.scheme]
        detour = Destination.parse(place.href.replace(place.origin(), self._moved(place, port), 1))
        loopback = replace(pin, port=port, addresses=(ip_address("127.0.0.1"),))
        return replace(self._transport.exchange(detour, loopback, ask, **rest), place=place)

    @staticmethod
    def _moved(place: Destination, port: int) -> str:
        return f"{place.scheme}://{place.host}:{port}"


@contextmanager
def internet(transport: Transport, fault: Fault, tls, names: Names | None = None):
    """A road to two origins that commit the same fault, one on each scheme: (road, plain, secure)."""
    with origin(fault) as plain, origin(fault, tls=tls) as secure:
        detour = Detour(transport, {"http": plain.port, "https": secure.port})
        yield Road(resolver=names or Names(), transport=detour), plain, secure
