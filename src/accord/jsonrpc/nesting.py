"""How deep JSON may nest that is read outside of a JSON-RPC message. Pure.

The limit of messages is `Limits.max_depth`. Bodies, files, texts that hold JSON and values of
workflows have the one below. Without it the limit would be that of the interpreter's stack, which
is another one on each version of Python: some 950 levels on 3.11, 9,999 on 3.13.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from accord.jsonrpc.codec import DEFAULT_MAX_DEPTH
from accord.jsonrpc.depth import is_bracketed, is_deeper

MAX_DEPTH: Final = DEFAULT_MAX_DEPTH
"""Arrays and objects inside each other: as many as a message has by default."""


class NestingError(msgspec.DecodeError):
    """JSON that is nested deeper than the limit."""

    def __init__(self, max_depth: int = MAX_DEPTH) -> None:
        super().__init__(f"nested deeper than {max_depth} levels")


def check_nesting(data: bytes | str, max_depth: int = MAX_DEPTH) -> None:
    """Raise NestingError for JSON that is nested too deep, whether or not it is valid."""
    if len(data) <= max_depth:
        return
    if isinstance(data, str):
        data = data.encode(errors="surrogatepass")
    if is_bracketed(data, max_depth) and is_deeper(data, max_depth):
        raise NestingError(max_depth)


def decode_json(data: bytes | str, type: Any = Any, max_depth: int = MAX_DEPTH) -> Any:
    """Return the value of JSON as `type`. Raise msgspec.DecodeError, and UnicodeDecodeError or
    UnicodeEncodeError for what is no text."""
    check_nesting(data, max_depth)
    return msgspec.json.decode(data, type=type)
