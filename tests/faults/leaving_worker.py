"""`python -m tests.faults.leaving_worker LEASE MARK WORDS...`: a real worker with a lease of so many seconds.

Where MARK names a file that is not there yet, it is made when the first body arrives, and the thread that rides then
never comes back. The library under the product is wrapped, never the product.
"""

import dataclasses
import os
import sys
import threading
from pathlib import Path

from schemas import profiles

LEASE_SECONDS = float(sys.argv[1])
_limits = dataclasses.replace(
    profiles.WEB_FETCH.limits, lease_seconds=LEASE_SECONDS, deadline_seconds=min(30.0, LEASE_SECONDS - 4)
)
profiles.WEB_FETCH = dataclasses.replace(profiles.WEB_FETCH, limits=_limits)
profiles.PROFILES = (profiles.WEB_FETCH,)


def main() -> None:
    """Run the worker; the words are Celery's."""
    from broker.app import app

    # Twice the lease, as in the product: what a lost connection left lying comes back soon enough to be waited for.
    app.conf.broker_transport_options = app.conf.broker_transport_options | {"visibility_timeout": 2 * LEASE_SECONDS}
    mark = Path(sys.argv[2])
    if mark.name != "-" and not mark.exists():
        _stick_once(mark)
    app.worker_main(sys.argv[3:])


def _stick_once(mark: Path) -> None:
    import pycurl

    class Curl(pycurl.Curl):
        def setopt(self, option: int, value: object) -> None:
            if option == pycurl.WRITEFUNCTION:
                inner = value

                def body(piece: bytes) -> object:
                    if not mark.exists():
                        mark.touch()
                        threading.Event().wait()
                    return inner(piece)

                value = body
            super().setopt(option, value)

    pycurl.Curl = Curl


if __name__ == "__main__":
    os.umask(0o077)
    main()
