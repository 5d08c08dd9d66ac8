"""A record of `logging` as a line of JSON, or as text for people. Nothing leaves unredacted.

    {"time":"2026-11-15T09:30:00.123456Z","level":"info","logger":"accord.audit","message":"…",
     "correlation_id":"…"}

What was passed as `extra=` and the context of the call are fields beside these.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from accord.operations.logs.context import current_context
from accord.operations.logs.redaction import REDACTED, is_secret, redact, redact_value

_KNOWN: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_OWN: Final = frozenset({"time", "level", "logger", "message", "exception"})
_CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}


class JsonFormat(logging.Formatter):
    """One JSON object for each record, on a line of its own."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
            **_fields(record),
        }
        trace = _trace(record)
        if trace:
            line["exception"] = trace
        return msgspec.json.encode(line).decode()


class TextFormat(logging.Formatter):
    """For people: the time, the level, who says what; fields and tracebacks below it."""

    def format(self, record: logging.LogRecord) -> str:
        message = _message(record).translate(_CONTROLS)
        line = f"{_time(record)[11:23]} {record.levelname:<8} {record.name}: {message}"
        fields = " ".join(
            f"{name}={str(value).translate(_CONTROLS)}" for name, value in _fields(record).items()
        )
        trace = _trace(record)
        return "\n".join(part for part in (f"{line}  {fields}" if fields else line, trace) if part)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _message(record: logging.LogRecord) -> str:
    """What is said. A secret argument of `"password=%s"` is found where it then stands."""
    try:
        return redact(record.getMessage())
    except Exception:  # arguments that do not fit: say so, and go on
        return redact(f"{record.msg} {record.args}")


def _fields(record: logging.LogRecord) -> Mapping[str, Any]:
    """The context of the call, then what was passed as `extra`."""
    extra = {name: each for name, each in record.__dict__.items() if name not in _KNOWN}
    return {
        f"{name}_" if name in _OWN else name: REDACTED if is_secret(name) else redact_value(each)
        for name, each in {**current_context(), **extra}.items()
    }


def _trace(record: logging.LogRecord) -> str:
    """The traceback, and what the exceptions in it say."""
    if record.exc_info and record.exc_info[0] is not None:
        text = logging.Formatter().formatException(record.exc_info)
    else:
        text = record.exc_text or ""
    if record.stack_info:
        text = f"{text}\n{record.stack_info}"
    return redact(text)
