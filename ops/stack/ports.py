"""Ports: one to listen on at loopback, the wanted one where it is free."""

import socket


def choose(wanted: int) -> int:
    """The wanted port; any free one where that is taken."""
    return wanted if is_free(wanted) else _any_free()


def is_free(port: int) -> bool:
    """Whether nobody listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _any_free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
