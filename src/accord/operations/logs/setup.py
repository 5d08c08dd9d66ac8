"""`configure_logging`: one sink, which redacts, for everything that this process says."""

from __future__ import annotations

import logging
import sys
import threading
from types import TracebackType
from typing import Any, Final, Literal, TextIO, TypeAlias

from accord.operations.logs.formats import JsonFormat, TextFormat

log = logging.getLogger("accord")

Level: TypeAlias = Literal["debug", "info", "warning", "error"]
Format: TypeAlias = Literal["auto", "text", "json"]

QUIET: Final = ("asyncio", "asyncpg")
"""Whose debugging is of no use to whoever debugs Accord."""


def configure_logging(
    level: Level = "info", format: Format = "auto", stream: TextIO | None = None
) -> None:
    """Send all logs, warnings and exceptions that nobody caught to `stream`, stderr unless given:
    as JSON lines, or on a terminal as text. What was configured before is replaced."""
    stream = sys.stderr if stream is None else stream
    as_text = format == "text" or (format == "auto" and stream.isatty())
    handler = logging.StreamHandler(stream)
    handler.setFormatter(TextFormat() if as_text else JsonFormat())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.INFO)
    logging.captureWarnings(True)
    # Tracebacks that Python prints by itself would not be redacted.
    sys.excepthook = _uncaught
    threading.excepthook = _uncaught_in_thread
    sys.unraisablehook = _unraisable


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        return
    log.critical("nobody caught an exception", exc_info=(kind, error, trace))


def _uncaught_in_thread(told: threading.ExceptHookArgs) -> None:
    if told.exc_type is SystemExit or told.exc_value is None:
        return
    name = "" if told.thread is None else told.thread.name
    log.critical(
        "thread %s ended by an exception",
        name,
        exc_info=(told.exc_type, told.exc_value, told.exc_traceback),
    )


def _unraisable(told: Any) -> None:
    log.error(
        "an exception was ignored in %r",
        told.object,
        exc_info=(told.exc_type, told.exc_value, told.exc_traceback),
    )
