"""A file of messages for `accord call --batch`.

Two forms are read. A JSON array holds messages as JSON-RPC writes them: with `id` they are
calls, without it notifications; `jsonrpc` may be left out. Otherwise each line is a call,
`METHOD PARAMS`, with params as on the command line; empty lines and lines that begin with
`#` are skipped.
"""

from __future__ import annotations

import shlex
from typing import Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from accord.cli.exits import UsageError
from accord.cli.params import read_params, structured
from accord.jsonrpc.nesting import check_nesting


class Item(Struct, frozen=True):
    """One message of a batch; without an id it is a notification."""

    method: str
    params: Raw | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    jsonrpc: Literal["2.0"] = "2.0"


_decode_items = msgspec.json.Decoder(list[Item]).decode
_decode_id = msgspec.json.Decoder(int | float | str | None).decode


def read_batch(data: bytes) -> list[Item]:
    """The messages in a file, in their order. Raises `UsageError`."""
    items = _read_array(data) if data.lstrip().startswith(b"[") else _read_lines(data)
    if not items:
        raise UsageError("the batch is empty")
    return items


def _read_array(data: bytes) -> list[Item]:
    try:
        data.decode()
        check_nesting(data)
        items = _decode_items(data)
        for item in items:
            if item.id is not UNSET:
                _decode_id(item.id)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"the batch is no array of messages: {error}") from None
    return [_with_checked_params(item, place) for place, item in enumerate(items)]


def _with_checked_params(item: Item, place: int) -> Item:
    if item.params is UNSET:
        return item
    params = structured(bytes(item.params), f"the params of message {place}")
    return Item(item.method, params, item.id)


def _read_lines(data: bytes) -> list[Item]:
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError as error:
        raise UsageError(f"the batch is not UTF-8 at byte {error.start}") from None
    items: list[Item] = []
    for number, line in enumerate(lines, 1):
        line = line.strip()
        if line and not line.startswith("#"):
            items.append(_read_line(line, number, len(items) + 1))
    return items


def _read_line(line: str, number: int, id: int) -> Item:
    method, _, rest = line.partition(" ")
    rest = rest.strip()
    try:
        # A shell would eat the quotes of JSON.
        words = [rest] if rest.startswith(("[", "{")) else shlex.split(rest)
        return Item(method, read_params(words, _no_stdin), Raw(str(id)))
    except (UsageError, ValueError) as error:
        raise UsageError(f"line {number} of the batch: {error}") from None


def _no_stdin() -> bytes:
    raise UsageError("params of a batch cannot come from stdin")
