"""Loopback that owns every address: the few rtnetlink messages the lab needs, without iproute2.

A `local` default route makes the kernel treat every address as its own. A server may then bind any address, nothing can
leave, and a connection to an address where nothing listens is refused at once instead of hanging.
"""

import os
import socket
import struct

NETLINK_ROUTE = 0
RTM_NEWLINK, RTM_NEWROUTE = 16, 24
NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE = 0x1, 0x4, 0x400, 0x100
NLMSG_ERROR = 2
IFF_UP = 1
RT_TABLE_LOCAL, RTPROT_BOOT, RTN_LOCAL = 255, 3, 2
RT_SCOPE_HOST = 254
RTA_OIF = 4


def own_every_address() -> bool:
    """Raise the loopback device and route every address to it; says whether IPv6 came along.

    Raises: OSError when the kernel says no.
    """
    loopback = socket.if_nametoindex("lo")
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_ROUTE) as kernel:
        kernel.bind((0, 0))
        _ask(kernel, RTM_NEWLINK, struct.pack("=BxHiII", socket.AF_UNSPEC, 0, loopback, IFF_UP, IFF_UP))
        _ask(kernel, RTM_NEWROUTE, _local_default(socket.AF_INET, loopback))
        try:
            _ask(kernel, RTM_NEWROUTE, _local_default(socket.AF_INET6, loopback))
        except OSError:
            return False
    return True


def _local_default(family: int, device: int) -> bytes:
    header = struct.pack("=8BI", family, 0, 0, 0, RT_TABLE_LOCAL, RTPROT_BOOT, RT_SCOPE_HOST, RTN_LOCAL, 0)
    return header + struct.pack("=HHI", 8, RTA_OIF, device)


def _ask(kernel: socket.socket, kind: int, payload: bytes) -> None:
    flags = NLM_F_REQUEST | NLM_F_ACK
    if kind == RTM_NEWROUTE:
        flags |= NLM_F_CREATE | NLM_F_REPLACE
    kernel.send(struct.pack("=IHHII", 16 + len(payload), kind, flags, 1, 0) + payload)
    answer = kernel.recv(65536)
    (answered,) = struct.unpack_from("=H", answer, 4)
    (code,) = struct.unpack_from("=i", answer, 16)
    if answered != NLMSG_ERROR or code:
        raise OSError(-code, os.strerror(-code))
