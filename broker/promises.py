"""Start-up checks: refuse to serve where the settings would break a promise."""

from schemas.limits import Profile


class PromiseBroken(RuntimeError):
    """A setting under which at-most-once or its bounds cannot hold; the message says what to change."""


def check_order(profiles: tuple[Profile, ...], redelivery_seconds: float) -> None:
    """Deadline < lease < redelivery timeout, for every profile. Raises: PromiseBroken."""
    for profile in profiles:
        limits = profile.limits
        if not limits.deadline_seconds < limits.lease_seconds < redelivery_seconds:
            message = (
                f"{profile.name}: deadline {limits.deadline_seconds} s < lease {limits.lease_seconds} s < redelivery "
                f"{redelivery_seconds} s does not hold. Change the profile or the broker's visibility timeout."
            )
            raise PromiseBroken(message)
