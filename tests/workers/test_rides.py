"""Rides: when one counts as stuck."""

from itertools import count

import pytest

from workers.rides import GRACE_SECONDS, LOOK_SECONDS, Lookout, riding


class Clock:
    """A clock that stands still until it is moved."""

    now = 100.0

    def __call__(self) -> float:
        return self.now

    def stuck_after(self, lookout: Lookout, seconds: float) -> list[str]:
        """Who is stuck after so many seconds of looking, as often as the keeper does."""
        for _ in range(int(seconds / LOOK_SECONDS)):
            self.now += LOOK_SECONDS
            lookout.stuck()
        self.now += seconds % LOOK_SECONDS
        return [ride.operation_id for ride in lookout.stuck()]


@pytest.mark.parametrize(
    ("seconds", "stuck"),
    [
        (GRACE_SECONDS - 0.5, []),  # under: perhaps on its way back
        (GRACE_SECONDS, ["late"]),  # at
        (GRACE_SECONDS + 0.5, ["late"]),  # over
    ],
    ids=["under", "at", "over"],
)
def test_ride_is_stuck_when_its_grace_is_over(seconds: float, stuck: list[str]) -> None:
    clock = Clock()
    with riding("late", until=clock.now - 0.1), riding("in time", until=clock.now + 60):
        lookout = Lookout(clock)
        assert lookout.stuck() == ()
        assert clock.stuck_after(lookout, seconds) == stuck
    assert lookout.stuck() == ()


def test_frozen_process_has_lost_no_thread() -> None:
    """X2: an hour passes between two looks; the ride has as much time to come back as any."""
    clock = Clock()
    with riding("frozen", until=clock.now + 10):
        lookout = Lookout(clock)
        clock.now += 3_600
        assert lookout.stuck() == ()
        assert clock.stuck_after(lookout, GRACE_SECONDS - LOOK_SECONDS) == []
        assert clock.stuck_after(lookout, LOOK_SECONDS) == ["frozen"]


def test_ride_that_comes_back_late_is_forgotten() -> None:
    clock = Clock()
    lookout = Lookout(clock)
    for number in count(1):
        with riding(f"late-{number}", until=clock.now - 1):
            assert clock.stuck_after(lookout, GRACE_SECONDS - LOOK_SECONDS) == []
        if number == 3:
            break
