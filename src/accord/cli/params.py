"""Params as they are written on a command line, as JSON.

Values that are JSON are sent as they were written, to the last digit, but without spaces and
newlines between their parts; anything else is a string.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.cli.exits import UsageError
from accord.jsonrpc.nesting import NestingError, check_nesting

_NAMED: Final = re.compile(r"([A-Za-z_][\w.-]*)=(.*)", re.DOTALL)
_is_json = msgspec.json.Decoder(Raw).decode
_is_structured = msgspec.json.Decoder(dict[str, Raw] | list[Raw]).decode


def read_params(words: Sequence[str], read_stdin: Callable[[], bytes]) -> Raw | UnsetType:
    """The params that these arguments say; UNSET for none. Raises `UsageError`.

    One array or object is the params; else each argument is a value by position, or all
    are `name=value`. A single `-` stands for what `read_stdin` gives.
    """
    if not words:
        return UNSET
    if len(words) == 1:
        if words[0] == "-":
            return structured(read_stdin(), "the params on stdin")
        if words[0].lstrip().startswith(("[", "{")):
            return structured(_utf8(words[0]), "the params")
    named = [_NAMED.fullmatch(word) for word in words]
    if all(named):
        return _by_name([(match[1], match[2]) for match in named if match is not None])
    stray = next((match[0] for match in named if match is not None), None)
    if stray is not None:
        raise UsageError(
            f"either all params are name=value or none, and {stray!r} is not alone "
            f"(a string with = in it can be written as JSON: '\"{stray}\"')"
        )
    return Raw(msgspec.json.encode([value(word) for word in words]))


def value(word: str) -> Raw:
    """One value: `word` itself if it is JSON, else a string."""
    data = _utf8(word)
    try:
        check_nesting(data)
        return _one_line(_is_json(data))
    except NestingError as error:
        raise UsageError(f"a value is {error}") from None
    except msgspec.DecodeError:
        return Raw(msgspec.json.encode(word))


def structured(data: bytes, what: str) -> Raw:
    """`data`, which must be a JSON array or object. Raises `UsageError` that names `what`."""
    try:
        data.decode()
        check_nesting(data)
        _is_json(data)
        _is_structured(data)
    except msgspec.ValidationError:
        raise UsageError(f"{what} must be an array or an object") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{what} are not JSON: {error}") from None
    return _one_line(data)


def _one_line(json: bytes | Raw) -> Raw:
    # Framing by newlines has no room for those of a file.
    return Raw(msgspec.json.format(json, indent=-1))


def _by_name(pairs: list[tuple[str, str]]) -> Raw:
    members: dict[str, Raw] = {}
    for name, text in pairs:
        if name in members:
            raise UsageError(f"the param {name!r} is given twice")
        members[name] = value(text)
    return Raw(msgspec.json.encode(members))


def _utf8(word: str) -> bytes:
    try:
        return word.encode()
    except UnicodeEncodeError:
        shown = word.encode(errors="backslashreplace").decode()
        raise UsageError(f"{shown!r} is not UTF-8") from None
