"""The last step before a child of the stack runs: bind its life to ours, drop root where asked, and become it.

Run as a script by path (`python -I -S launch.py PARENT DEATH_SIGNAL USER_ID -- COMMAND...`): standard library only, so
that it costs about 15 ms. It is a program of its own because code between fork and exec in a process with threads can
deadlock.

PostgreSQL will not run as root. Root therefore hands it to another user who keeps one capability, CAP_DAC_OVERRIDE, in
the ambient set: the files and the sockets stay inside folders that only root may enter (0700), and no permission of a
folder of the system (`/root`) is loosened for it. Source: capabilities(7), prctl(2).
"""

import ctypes
import os
import pwd
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_KEEPCAPS = 8
_PR_SET_SECUREBITS = 28
# Capabilities stay when the user changes; and access(2), with which PostgreSQL judges its own programs, counts them.
_SECBITS = 1 << 4 | 1 << 2  # SECBIT_KEEP_CAPS, SECBIT_NO_SETUID_FIXUP
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_RAISE = 2
_CAP_DAC_OVERRIDE = 1
_CAPABILITY_VERSION_3 = 0x20080522


def main() -> None:
    """Read the command line, settle who and for how long, and exec."""
    parent, death_signal, user = (int(word) for word in sys.argv[1:4])
    command = sys.argv[5:]
    os.umask(0o077)
    if user > 0 and os.geteuid() == 0:
        _become(user)
    # After the change of user: the kernel clears the death signal when credentials change.
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, death_signal)
    if os.getppid() != parent:
        sys.exit("the supervisor was gone before this child began")
    os.execv(command[0], command)  # noqa: S606 - a fixed program of the stack, no shell


def _become(user: int) -> None:
    """Give up root for `user`, keeping on Linux the right to pass the folders that lead to its files."""
    keeps = sys.platform == "linux"
    if keeps and not _may(_PR_SET_SECUREBITS, _SECBITS):  # without CAP_SETPCAP: enough where programs are open to all
        _prctl(_PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setgid(pwd.getpwuid(user).pw_gid)
    os.setuid(user)
    if keeps:
        _keep_passage()


def _keep_passage() -> None:
    """Hold CAP_DAC_OVERRIDE and nothing else, across exec."""
    mask = 1 << _CAP_DAC_OVERRIDE
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    # Two sets of (effective, permitted, inheritable): the lower 32 capabilities, then the upper ones.
    data = (ctypes.c_uint32 * 6)(mask, mask, mask, 0, 0, 0)
    if ctypes.CDLL(None, use_errno=True).capset(ctypes.byref(header), ctypes.byref(data)) != 0:
        sys.exit(f"capset failed: {os.strerror(ctypes.get_errno())}")
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_OVERRIDE)


def _prctl(option: int, *values: int) -> None:
    if not _may(option, *values):
        sys.exit(f"prctl({option}) failed: {os.strerror(ctypes.get_errno())}")


def _may(option: int, *values: int) -> bool:
    words = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    return bool(ctypes.CDLL(None, use_errno=True).prctl(option, *words) == 0)


if __name__ == "__main__":
    main()
