"""What runs in an extraction process: its bounds, then one body at a time."""

import gc
import resource
import signal

from schemas.document import Document
from schemas.errors import OutriderError
from schemas.limits import Limits
from workers.extract.document import extract


def settle_in(memory_bytes: int) -> None:
    """Bound the process's memory, leave no core file with page text in it, and end at once when told to.

    A handler in Python never runs while libxml2 is in a loop: the default action of SIGTERM does.
    """
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.freeze()
    gc.disable()  # the trees hold no cycles and are freed by count; looking for some costs 6 %


def extract_one(body: bytes, content_type: str | None, base_url: str, limits: Limits) -> Document | OutriderError:
    """The document, or the error as a value: a raised one would carry a traceback across."""
    try:
        return extract(body, content_type=content_type, base_url=base_url, limits=limits)
    except OutriderError as error:
        return error.with_traceback(None)
