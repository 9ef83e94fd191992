"""The canaries: every packet that tries to reach an address the lab does not own is an escape, and is counted.

A packet socket on the loopback device sees each first packet of a TCP connection and each UDP datagram, whatever its
port and whether or not anybody listens. A filter in the kernel keeps the thousands of other packets away from us.
"""

import ctypes
import socket
import struct
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

Escape = dict[str, Any]

ETH_P_ALL, ETH_P_IP, ETH_P_IPV6 = 3, 0x0800, 0x86DD
SO_ATTACH_FILTER = 26
PACKET_OUTGOING = 4
TCP, UDP = 6, 17
# On loopback itself these ports are somebody's web page, which a guard must not reach: ours are never there.
LOOPBACK_WEB_PORTS = frozenset({80, 443})

# Classic BPF: (code, jump when true, jump when false, value). At SKF_AD_OFF (-0x1000): ethertype, packet type at +4.
_LD_W, _LD_B, _LDX_MSH, _LD_B_X, _AND, _JEQ, _RET = 0x20, 0x30, 0xB1, 0x50, 0x54, 0x15, 0x06
_KEEP, _DROP = 20, 21  # the places of the two RET lines


def _program() -> list[tuple[int, int, int, int]]:
    """Outgoing TCP SYN without ACK, and UDP that is not for 127.0.0.0/8, over IPv4 and IPv6."""

    def jump(at: int, value: int, yes: int, no: int) -> tuple[int, int, int, int]:
        return (_JEQ, yes - at - 1, no - at - 1, value)

    return [
        (_LD_W, 0, 0, 0xFFFFF004),
        jump(1, PACKET_OUTGOING, 2, _DROP),
        (_LD_W, 0, 0, 0xFFFFF000),
        jump(3, ETH_P_IP, 4, 13),
        (_LD_B, 0, 0, 9),  # IPv4: protocol
        jump(5, TCP, 6, 10),
        (_LDX_MSH, 0, 0, 0),
        (_LD_B_X, 0, 0, 13),
        (_AND, 0, 0, 0x12),
        jump(9, 0x02, _KEEP, _DROP),
        jump(10, UDP, 11, _DROP),
        (_LD_B, 0, 0, 16),
        jump(12, 127, _DROP, _KEEP),
        jump(13, ETH_P_IPV6, 14, _DROP),
        (_LD_B, 0, 0, 6),  # IPv6: next header
        jump(15, TCP, 16, 19),
        (_LD_B, 0, 0, 53),
        (_AND, 0, 0, 0x12),
        jump(18, 0x02, _KEEP, _DROP),
        jump(19, UDP, _KEEP, _DROP),
        (_RET, 0, 0, 0xFFFF),
        (_RET, 0, 0, 0),
    ]


class Canary:
    """The packet socket and what it has seen. `owned` says whether an address is the lab's own."""

    def __init__(self, owned: Callable[[str], bool]) -> None:
        self._owned = owned
        self._seen: set[tuple[bytes, bytes]] = set()
        self.escapes: list[Escape] = []
        # Type and protocol 0 keep packets out until the filter is in place.
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        _attach(self.socket)
        self.socket.bind(("lo", ETH_P_ALL))
        self.socket.setblocking(False)

    def look(self) -> list[Escape]:
        """Read what is waiting; gives the escapes that are new."""
        fresh: list[Escape] = []
        while True:
            try:
                packet, (_, ethertype, *_) = self.socket.recvfrom(128)
            except BlockingIOError:
                break
            escape = self._judge(packet, ethertype)
            if escape is not None:
                fresh.append(escape)
        self.escapes.extend(fresh)
        return fresh

    def forget(self) -> None:
        """Start counting from nothing."""
        self.look()
        self.escapes.clear()

    def _judge(self, packet: bytes, ethertype: int) -> Escape | None:
        six = ethertype == ETH_P_IPV6
        addresses, start = (packet[8:40], 40) if six else (packet[12:20], (packet[0] & 15) * 4)
        protocol = packet[6] if six else packet[9]
        _, port = struct.unpack_from("!HH", packet, start)
        target = ip_address(addresses[len(addresses) // 2 :])
        if target.is_loopback:
            if protocol == UDP or port not in LOOPBACK_WEB_PORTS:
                return None
        elif self._owned(str(target)):
            return None
        mark = (addresses, packet[start : start + 8])  # ports and sequence number: a SYN sent again is the same one
        if protocol == TCP and mark in self._seen:
            return None
        self._seen.add(mark)
        return {"address": str(target), "port": port, "protocol": "tcp" if protocol == TCP else "udp"}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _attach(sock: socket.socket) -> None:
    code = b"".join(struct.pack("=HBBI", *line) for line in _program())
    buffer = ctypes.create_string_buffer(code)
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, bytes(program))
