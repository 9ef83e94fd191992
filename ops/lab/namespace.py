"""A Linux network namespace of our own, with no uplink: made, entered, looked for.

As root a plain network and mount namespace; otherwise inside a user namespace that maps the caller to itself and nobody
to root, because PostgreSQL refuses to run as root, mapped or not. Capabilities granted by the user namespace belong to
the process that made it, and the kernel drops them when it starts another program: COMMAND runs without any.
"""

import os
import tempfile
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from ops.lab import kernel
from ops.lab.errors import LabUnavailable
from ops.lab.netlink import own_every_address

NAMESERVER = "127.0.0.1"
PRIVILEGED_PORTS = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
HINT = (
    "The private internet needs Linux network namespaces: root with CAP_SYS_ADMIN, or unprivileged user namespaces"
    " (sysctls user.max_user_namespaces, kernel.unprivileged_userns_clone,"
    " kernel.apparmor_restrict_unprivileged_userns)."
)


def enter(folder: Path) -> bool:
    """Move this single-threaded process into a fresh network; says whether IPv6 works there.

    `folder` receives the resolv.conf shown inside. Raises: LabUnavailable.
    """
    try:
        _unshare()
        has_ipv6 = own_every_address()
        # Best effort: a read-only /proc/sys leaves ports under 1024 to our servers, which hold the capability.
        with suppress(OSError):
            PRIVILEGED_PORTS.write_text("0\n")
        _show_our_resolver(folder)
    except (OSError, AttributeError) as refusal:
        raise LabUnavailable(f"no network namespace to be had: {refusal}. {HINT}") from refusal
    return has_ipv6


def join(supervisor: int) -> None:
    """Move this single-threaded process into the lab whose supervisor is `supervisor`. Raises: LabUnavailable."""
    here = Path.cwd()
    spaces = Path(f"/proc/{supervisor}/ns")
    try:
        if (spaces / "user").readlink() != Path("/proc/self/ns/user").readlink():
            kernel.setns(spaces / "user", kernel.CLONE_NEWUSER)
        kernel.setns(spaces / "net", kernel.CLONE_NEWNET)
        kernel.setns(spaces / "mnt", kernel.CLONE_NEWNS)
        os.chdir(here)  # setns puts us at the root of the mount namespace
    except OSError as refusal:
        raise LabUnavailable(f"the lab is gone or not ours: {refusal}") from refusal


@cache
def available() -> str | None:
    """Why no lab can be had on this machine, or None when it can. Tried in a child, once a process."""
    if find_spec("trustme") is None:
        return "the private internet needs the package trustme: install outrider[lab]"
    if not hasattr(os, "fork"):
        return HINT
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _probe(writing)
    os.close(writing)
    with os.fdopen(reading, "r") as answer:
        reason = answer.read()
    os.waitpid(child, 0)
    return reason or None


def _probe(writing: int) -> None:
    try:
        with tempfile.TemporaryDirectory() as folder:
            enter(Path(folder))
    except LabUnavailable as refusal:
        os.write(writing, str(refusal).encode())
    finally:
        os._exit(0)


def _unshare() -> None:
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        try:
            kernel.unshare(kernel.CLONE_NEWNET | kernel.CLONE_NEWNS)
        except PermissionError:
            pass  # root without CAP_SYS_ADMIN (a plain container) may still make a user namespace
        else:
            kernel.keep_mounts_private()
            return
    kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNET | kernel.CLONE_NEWNS)
    # setgroups must be denied before an unprivileged process may map its group: user_namespaces(7).
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1\n")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1\n")
    kernel.keep_mounts_private()


def _show_our_resolver(folder: Path) -> None:
    """Point programs that ask libc at our DNS server; nss modules could answer over a Unix socket, so drop them."""
    resolver = Path("/etc/resolv.conf")
    if resolver.exists():
        ours = folder / "resolv.conf"
        ours.write_text(f"nameserver {NAMESERVER}\noptions timeout:2 attempts:1\n")
        kernel.bind_file(ours, resolver)
    switch = Path("/etc/nsswitch.conf")
    if switch.exists():
        ours = folder / "nsswitch.conf"
        lines = (line for line in switch.read_text().splitlines() if not line.startswith("hosts:"))
        ours.write_text("\n".join([*lines, "hosts: files dns", ""]))
        kernel.bind_file(ours, switch)
