"""Logs of every process: structlog, one JSON object a line on stderr, facts as fields, never a body or a query."""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

# Celery's per-task lines would double ours: "one closing line per operation" is written by the shift.
_QUIET = (
    "celery.worker.strategy",
    "celery.app.trace",
    "celery.pool",
    "kombu",
    "amqp",
    "mcp",
    "httpx2",
    "httpcore2",
    "fastmcp",
)


# These put messages, exception texts or tracebacks of theirs into their lines.
_TALKERS = ("kombu.transport.redis", "kombu.transport.virtual.base", "celery.app.trace", "py.warnings")
_TALKING_PACKAGES = ("mcp.", "fastmcp", "pydantic_ai", "openai", "anthropic", "httpx2")  # the same of all loggers below
_WORDS = re.compile(r"[^%:(\n]*(?::\d+: \w+Warning)?")  # up to the first value; a warning's place and kind
_FACTS = {"reason", "count"}  # what our own lines to the standard library's loggers carry


def configure(*, level: int = logging.INFO) -> None:
    """Send this process's logs, ours and the libraries', to stderr as JSON lines."""
    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    # Our own lines go straight to the stream: through the standard library each one costs twice as much.
    structlog.configure(
        processors=[*shared, _exception_by_name, structlog.processors.JSONRenderer(), _as_bytes],
        logger_factory=_our_logger,
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder(allow=_FACTS)],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _exception_by_name,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    handler.addFilter(_only_words)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def _our_logger(name: str = "") -> structlog.BytesLogger:
    return structlog.BytesLogger(sys.stderr.buffer, name=name)


def _as_bytes(_logger: Any, _method: str, line: Any) -> bytes:
    return str(line).encode("utf-8", "backslashreplace")


def _only_words(record: logging.LogRecord) -> bool:
    """Keeps the first words of a line that would show a message, and drops its values."""
    if record.name not in _TALKERS and not record.name.startswith(_TALKING_PACKAGES):
        return True
    text = record.getMessage() if record.name == "py.warnings" else str(record.msg)
    found = _WORDS.match(text)
    record.msg, record.args = (found.group() if found else "").strip(), ()
    return True


def configure_for_celery(**_signal: Any) -> None:
    """The receiver of Celery's setup_logging: with it, Celery leaves logging to us."""
    configure()


def _exception_by_name(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """An exception is told by its type and place: its text may hold what was being handled."""
    info = event.pop("exc_info", None)
    if info is True:
        info = sys.exc_info()
    if isinstance(info, BaseException):
        info = (type(info), info, info.__traceback__)
    if isinstance(info, tuple) and info[0] is not None:
        event["exception"] = info[0].__name__
        event["at"] = where(info[2])
    event.pop("exception_text", None)
    return event


def where(traceback: Any) -> str:
    """The innermost place of a traceback: `file:line function`."""
    place = "unknown"
    while traceback is not None:
        code = traceback.tb_frame.f_code
        place = f"{code.co_filename.rsplit('/', 1)[-1]}:{traceback.tb_lineno} {code.co_name}"
        traceback = traceback.tb_next
    return place
