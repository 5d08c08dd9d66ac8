"""Structured logs without secrets: redaction, fields of the current call, formats, set-up.

    {"time":"2026-11-15T09:30:00.123456Z","level":"info","logger":"accord.audit","message":"…",
     "correlation_id":"…"}

Tokens are recognized by their form, other secrets by their place: after the name of a header, in a
URL, as the value of a field called `password`. Texts are cut to a maximum length after redaction.
Values passed as `extra=` and the context of the call become fields of the line.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Literal, Protocol, TextIO, TypeAlias

import msgspec

from accord.telemetry.observers import current_traceparent

REDACTED: Final = "[redacted]"
MAX_READ: Final = 20_000
"""Maximum number of characters of a text that are examined; the rest is dropped."""
MAX_TEXT: Final = 16_384
MAX_ITEMS: Final = 50
MAX_DEPTH: Final = 5

_FIELDS: Final = (
    "password|passwd|current_password|new_password|password_hash|secret|secret_key|client_secret"
    "|accord_secret_key|token|access_token|refresh_token|id_token|session_token|csrf_token"
    "|api_key|apikey|private_key|authorization|proxy-authorization|cookie|set-cookie"
    "|x-csrf-token|x-api-key"
)
_IS_SECRET: Final = re.compile(f"(?:{_FIELDS})", re.IGNORECASE)

_TOKEN: Final = (re.compile(r"(accord_(?:pat|ses)_)[0-9A-Za-z]{6,}"), rf"\1{REDACTED}")
# postgresql://user:password@host
_URL: Final = (
    re.compile(r"(?i)\b([a-z][a-z0-9+.-]{1,20}://[^\s/:@'\"]*):[^\s/@'\"]+@"),
    rf"\1:{REDACTED}@",
)
_PATTERNS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    _TOKEN,
    (
        re.compile(r"(?<![0-9A-Za-z_-])eyJ[0-9A-Za-z_-]{6,}(?:\.[0-9A-Za-z_-]*){1,4}"),
        REDACTED,
    ),  # JWT, JWE
    (re.compile(r"\$argon2i?d?\$[^\s\"']+"), REDACTED),
    (
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*KEY-----|\Z)"),
        REDACTED,
    ),
    # The header lines of a request: name, colon, everything up to the end of the line.
    (
        re.compile(
            r"(?im)(?<![\w-])((?:proxy-)?authorization|(?:set-)?cookie|x-csrf-token|x-api-key)"
            r"(['\"]?[ \t]*[:=,][ \t]*(?:b?['\"])?)[^'\"\r\n]+"
        ),
        rf"\1\2{REDACTED}",
    ),
    (re.compile(r"(?i)\b(bearer|basic|dpop)(\s+)[0-9A-Za-z\-._~+/]{6,}=*"), rf"\1\2{REDACTED}"),
    _URL,
    # Values of fields: in JSON and in reprs they are quoted, in queries and settings they are not.
    (
        re.compile(rf"(?i)(?<!\w)((?:{_FIELDS})\\?['\"]?\s*[:=]\s*\\?)(\"(?:[^\"\\]|\\.)*\"?)"),
        rf'\1"{REDACTED}"',
    ),
    (
        re.compile(rf"(?i)(?<!\w)((?:{_FIELDS})['\"]?\s*[:=]\s*)'(?:[^'\\]|\\.)*'?"),
        rf"\1'{REDACTED}'",
    ),
    (
        re.compile(rf"(?i)(?<!\w)((?:{_FIELDS})=)(?:\[redacted\]|[^\s&,;'\")\]}}])+"),
        rf"\1{REDACTED}",
    ),
)


_SIGNS: Final = (
    *("accord_", "eyj", "$argon2", "private key", "authorization", "cookie", "csrf", "bearer"),
    *("basic", "dpop", "://", "passw", "secret", "token", "key"),
)
"""Lower-case strings for a quick test before the patterns of secrets.

Every text that one of the patterns can match contains at least one of the strings.
"""


def redact(text: str) -> str:
    """Return a text without secrets, of bounded length."""
    read = text[:MAX_READ]
    lowered = read.lower()
    if any(sign in lowered for sign in _SIGNS):
        for pattern, instead in _PATTERNS:
            read = pattern.sub(instead, read)
    if len(read) > MAX_TEXT or len(text) > MAX_READ:
        return f"{read[:MAX_TEXT]}… ({len(text):,} characters)"
    return read


def masked(text: str) -> str:
    """Mask tokens, and passwords in URLs, in a text that is repeated to its sender.

    The rest of the text is not changed: people should be able to read what they sent.
    """
    if "accord_" in text or "://" in text:
        for pattern, instead in (_TOKEN, _URL):
            text = pattern.sub(instead, text)
    return text


def redact_value(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Return a JSON value without secrets, of bounded size; other types become text."""
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return redact(value)
        case bytes() | bytearray() | memoryview():
            return redact(bytes(value[: MAX_READ + 1]).decode("utf-8", "backslashreplace"))
        case Mapping() if depth > 0:
            return {
                str(name)[:200]: REDACTED if is_secret(str(name)) else redact_value(each, depth - 1)
                for name, each in list(value.items())[:MAX_ITEMS]
            }
        case list() | tuple() | set() | frozenset() if depth > 0:
            return [redact_value(each, depth - 1) for each in list(value)[:MAX_ITEMS]]
    return redact(_text_of(value))


def is_secret(field: str) -> bool:
    """Return True if a field of this name has a secret value."""
    return _IS_SECRET.fullmatch(field) is not None


def _text_of(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # noqa: BLE001 - any `__str__`; the line must be logged anyway
        return f"<{type(value).__name__}, which has no text: {type(error).__name__}>"


class ServedCaller(Protocol):
    """The attributes of a caller that log lines contain."""

    @property
    def username(self) -> str: ...
    @property
    def face(self) -> str: ...
    @property
    def correlation_id(self) -> str: ...


serving: Final[ContextVar[tuple[ServedCaller, str] | None]] = ContextVar(
    "accord serving", default=None
)
"""The caller and the operation of the current call.

Set by the runner, read by the log formatters only.
"""


def current_context() -> Mapping[str, str]:
    """Return the log fields of the current call, without empty ones."""
    known = {"trace_id": current_traceparent()[3:35]}
    call = serving.get()
    if call is not None:
        caller, operation = call
        known |= {
            "correlation_id": caller.correlation_id,
            "operation": operation,
            "actor": caller.username,
            "face": caller.face,
        }
    return {name: text for name, text in known.items() if text}


_KNOWN: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_OWN: Final = frozenset({"time", "level", "logger", "message", "exception"})
_CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}


class JsonFormat(logging.Formatter):
    """A formatter that writes one JSON object per line."""

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
    """A formatter for people: time, level, logger, message; then fields and tracebacks."""

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
    """Return the message of a log record with secrets redacted.

    The message is redacted with its arguments inserted, as only then a secret argument of
    `"password=%s"` is next to the word that reveals it.
    """
    try:
        return redact(record.getMessage())
    except Exception:  # noqa: BLE001 - arguments that do not fit; the line must be logged anyway
        return redact(f"{record.msg} {record.args}")


def _fields(record: logging.LogRecord) -> Mapping[str, Any]:
    """Return the log fields of a line: those of the current call, then `extra`."""
    extra = {name: each for name, each in record.__dict__.items() if name not in _KNOWN}
    return {
        f"{name}_" if name in _OWN else name: REDACTED if is_secret(name) else redact_value(each)
        for name, each in {**current_context(), **extra}.items()
    }


def _trace(record: logging.LogRecord) -> str:
    """Return the redacted traceback with its exceptions."""
    if record.exc_info and record.exc_info[0] is not None:
        text = logging.Formatter().formatException(record.exc_info)
    else:
        text = record.exc_text or ""
    if record.stack_info:
        text = f"{text}\n{record.stack_info}"
    return redact(text)


log = logging.getLogger("accord")

Level: TypeAlias = Literal["debug", "info", "warning", "error"]
LogFormat: TypeAlias = Literal["auto", "text", "json"]

QUIET_LOGGERS: Final = ("asyncio", "asyncpg")
"""Loggers whose debug output does not help to debug Accord."""


def configure_logging(
    level: Level = "info", format: LogFormat = "auto", stream: TextIO | None = None
) -> None:
    """Send all logs, warnings and uncaught exceptions to `stream`, by default stderr.

    They are JSON lines, or text on a terminal. Replaces an earlier configuration.
    """
    stream = sys.stderr if stream is None else stream
    as_text = format == "text" or (format == "auto" and stream.isatty())
    handler = logging.StreamHandler(stream)
    handler.setFormatter(TextFormat() if as_text else JsonFormat())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in QUIET_LOGGERS:
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


def _uncaught_in_thread(details: threading.ExceptHookArgs) -> None:
    if details.exc_type is SystemExit or details.exc_value is None:
        return
    name = "" if details.thread is None else details.thread.name
    log.critical(
        "thread %s ended by an exception",
        name,
        exc_info=(details.exc_type, details.exc_value, details.exc_traceback),
    )


def _unraisable(details: Any) -> None:
    log.error(
        "an exception was ignored in %r",
        details.object,
        exc_info=(details.exc_type, details.exc_value, details.exc_traceback),
    )
