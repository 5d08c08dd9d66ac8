"""Output of commands: JSON, tables and progress, for people and for programs.

Control characters in text from other programs are escaped, so that it cannot control the terminal.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Final, TextIO

import msgspec

from accord.cli.commands import Parser
from accord.jsonrpc.protocol.errors import RpcError, TransportError
from accord.jsonrpc.protocol.messages import ErrorObject

# JSON and lines


_RESET: Final = "\x1b[0m"
_STYLES: Final = {
    "key": "\x1b[34m",
    "string": "\x1b[32m",
    "number": "\x1b[36m",
    "word": "\x1b[35m",
    "error": "\x1b[1;31m",
    "faint": "\x1b[2m",
}
_TOKEN: Final = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*")(?=\s*:)'
    r'|(?P<string>"(?:[^"\\]|\\.)*")'
    r"|(?P<number>-?\d[\d.eE+-]*)"
    r"|(?P<word>true|false|null)"
)
# DEL and the C1 controls may stand unescaped in JSON, C0 controls in an error's message.
_CONTROLS: Final = {code: f"\\u{code:04x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
_CONTROLS_IN_JSON: Final = {code: shown for code, shown in _CONTROLS.items() if code >= 0x7F}


def has_colour(stream: TextIO) -> bool:
    """Return whether to colour output to `stream`, following https://no-color.org."""
    is_allowed = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return is_allowed and stream.isatty()


def paint(text: str, style: str, stream: TextIO) -> str:
    """Return `text` in a style if `stream` shows colours, else unchanged."""
    return f"{_STYLES[style]}{text}{_RESET}" if has_colour(stream) else text


def printable(text: str) -> str:
    """Return `text` with its control characters escaped."""
    return text.translate(_CONTROLS)


def pretty(raw: bytes, stream: TextIO) -> str:
    """Return JSON for people: indented, with numbers as sent, coloured if possible."""
    text = msgspec.json.format(raw, indent=2).decode().translate(_CONTROLS_IN_JSON)
    if not has_colour(stream):
        return text
    return _TOKEN.sub(lambda match: paint(match[0], match.lastgroup or "", stream), text)


def print_line(text: str | bytes) -> None:
    """Print one line on stdout, in UTF-8 whatever the locale says."""
    data = text.encode(errors="backslashreplace") if isinstance(text, str) else text
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def print_json(value: Any) -> None:
    """Print a JSON value on one line of stdout, for programs."""
    print_line(msgspec.json.encode(value))


def print_error_line(text: str) -> None:
    """Print one line on stderr."""
    sys.stderr.buffer.write(text.encode(errors="backslashreplace") + b"\n")
    sys.stderr.buffer.flush()


def complain(error: Exception | str) -> None:
    """Print an error on one line of stderr.

    The line for a transport error ends with the advice of the error. If the peer sent the error
    with data, a second line shows the data.
    """
    label = paint("error", "error", sys.stderr)
    if isinstance(error, TransportError):
        print_error_line(f"{label}: {printable(_sentence(error.message))} {error.advice}")
    elif isinstance(error, RpcError):
        print_error_line(f"{label} {describe(error)}")
        if error.remote and error.data is not None:
            print_error_line(paint(f"data: {_compact(error.data)}", "faint", sys.stderr))
    else:
        print_error_line(f"{label}: {printable(str(error))}")


def describe(error: RpcError) -> str:
    """Return an error's code and message."""
    return f"{error.code}: {printable(error.message)}"


def error_object(error: RpcError) -> ErrorObject:
    """Convert an error to a JSON-RPC error object.

    The object for a transport error without data contains the advice of the error as data.
    """
    data = error.data
    if data is None and isinstance(error, TransportError):
        data = {
            "reason": "transport_error",
            "recoverable": error.recoverable,
            "advice": error.advice,
        }
    return ErrorObject(error.code, error.message, msgspec.UNSET if data is None else data)


def _compact(value: Any) -> str:
    return msgspec.json.encode(value).decode().translate(_CONTROLS_IN_JSON)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


# Tables


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: a line with the column names, and a line for each row."""
    lines = [[printable(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print_line("  ".join(cells).rstrip())


# Progress on stderr


REDRAWN_AFTER: Final = 0.1
"""Seconds between two updates of a progress bar."""
TOLD_AFTER: Final = 5.0
"""Seconds before the first progress line and between two lines; used if stderr is no terminal."""
BAR: Final = 24
NARROW: Final = 72
"""Terminals with fewer columns show progress without a bar."""
_CLEAR: Final = "\r\x1b[K"


class Progress:
    """Progress of long work: a bar on a terminal, elsewhere a line every few seconds.

    The work calls `progress(done, total)`; `total` may be None. The bar is removed at the end of
    the `with` block. With --json or --quiet nothing is shown.
    """

    def __init__(
        self,
        doing: str,
        unit: str,
        *,
        stream: TextIO,
        quiet: bool = False,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._doing = doing
        self._unit = unit
        self._stream = stream
        self._quiet = quiet
        self._now = now
        self._is_drawn = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._began = self._shown = now()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._is_drawn and not self._quiet:
            self._write(_CLEAR)

    def __call__(self, done: int, total: int | None = None) -> None:
        now = self._now()
        if self._quiet or now - self._shown < (REDRAWN_AFTER if self._is_drawn else TOLD_AFTER):
            return
        self._shown = now
        text = progress_text(self._unit, done, total, now - self._began)
        if not self._is_drawn:
            self._write(f"{self._doing}: {text}\n")
            return
        columns = _columns(self._stream)
        bar = f"{_bar(done, total)} " if total and columns >= NARROW else ""
        self._write(_CLEAR + f"{self._doing} {bar}{text}"[: columns - 1])

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def add_quiet_flag(parser: Parser) -> None:
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def progress_of(arguments: argparse.Namespace, doing: str, unit: str) -> Progress:
    """Return the progress output of a command; --quiet or --json make it silent."""
    quiet = arguments.quiet or arguments.json
    return Progress(printable(doing), unit, stream=sys.stderr, quiet=quiet)


def progress_text(unit: str, done: int, total: int | None, seconds: float) -> str:
    """Describe progress: the count, the rate and, if the total is known, the time left."""
    of = f" of {total:,}" if total is not None else ""
    text = f"{done:,}{of} {unit}"
    if done <= 0 or seconds <= 0:
        return text
    rate = done / seconds
    text += f", {rate:,.0f}/s" if rate >= 1 else f", {rate * 60:,.0f}/min"
    return text if total is None else f"{text}, {_time(max(total - done, 0) / rate)} left"


def _bar(done: int, total: int) -> str:
    full = min(done * BAR // total, BAR)
    return f"[{'=' * full}{' ' * (BAR - full)}]"


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
