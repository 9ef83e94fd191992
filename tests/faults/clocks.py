"""Clocks that lie on command, by libfaketime: the wall's alone, the monotonic one stays straight."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ops.stack.child import Part
from ops.stack.home import Home

LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
needs_faketime = pytest.mark.skipif(LIBRARY is None, reason="needs libfaketime (Debian: faketime)")


def wrong_by(skew: str) -> dict[str, str]:
    """The environment of a process whose clock is wrong from the start, by `+1h` or the like."""
    return {"LD_PRELOAD": str(LIBRARY), "FAKETIME": skew, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


@dataclass(slots=True)
class Clock:
    """The clock of one store: `jump` moves it at any time, for all its processes."""

    store: str
    start: str
    file: Path | None = None

    def change(self, _home: Home, part: Part) -> Part:
        """Give the store this clock: for `running_stores`."""
        if part.name != self.store:
            return part
        self.file = part.folder / "clock"  # where the store's user may read
        self.jump(self.start)
        lies = {
            "LD_PRELOAD": str(LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        return replace(part, environment=dict(part.environment) | lies)

    def jump(self, skew: str) -> None:
        """Be wrong by so much from now on."""
        assert self.file is not None
        new = self.file.with_suffix(".new")
        new.write_text(skew)
        new.chmod(0o644)
        new.replace(self.file)
