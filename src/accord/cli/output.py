"""How results and errors look: indented and coloured JSON for people, exact JSON for programs.

What other ends send is shown without its control characters: it must not drive the terminal.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any, Final, TextIO

import msgspec

from accord.jsonrpc.errors import RpcError, TransportError
from accord.jsonrpc.messages import ErrorObject

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
    """Whether to colour what goes to `stream` (https://no-color.org)."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return wanted and stream.isatty()


def paint(text: str, style: str, stream: TextIO) -> str:
    """`text` in a style, where `stream` shows styles."""
    return f"{_STYLES[style]}{text}{_RESET}" if has_colour(stream) else text


def printable(text: str) -> str:
    """`text` with its control characters escaped."""
    return text.translate(_CONTROLS)


def pretty(raw: bytes, stream: TextIO) -> str:
    """JSON for people: indented, in colour where `stream` shows it; numbers as they were sent."""
    text = msgspec.json.format(raw, indent=2).decode().translate(_CONTROLS_IN_JSON)
    if not has_colour(stream):
        return text
    return _TOKEN.sub(lambda match: paint(match[0], match.lastgroup or "", stream), text)


def print_line(text: str | bytes) -> None:
    """One line on stdout, in UTF-8 whatever the locale says."""
    data = text.encode(errors="backslashreplace") if isinstance(text, str) else text
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def print_json(value: Any) -> None:
    """One JSON value on a line of stdout, for programs."""
    print_line(msgspec.json.encode(value))


def print_error_line(text: str) -> None:
    """One line on stderr."""
    sys.stderr.buffer.write(text.encode(errors="backslashreplace") + b"\n")
    sys.stderr.buffer.flush()


def complain(error: Exception | str) -> None:
    """Say on stderr what went wrong, in one line with the next step.

    What the other end sent as an error's data stands below it.
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
    """An error's code and message."""
    return f"{error.code}: {printable(error.message)}"


def error_object(error: RpcError) -> ErrorObject:
    """An error for programs, as JSON-RPC writes it. One of our own says what to do."""
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
