"""Pages of lists: cursors that say behind which row the next page begins.

A cursor is opaque to callers. It holds the values by which the last row was sorted and its id, so
that rows which come or go between two pages neither repeat nor hide others, and a hash of what was
asked for, so that it is refused where something else is asked.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from hashlib import sha256
from typing import Any, Final, TypeVar

import msgspec

from accord.hub.entities import Page
from accord.operations.errors import InvalidError

T = TypeVar("T")

DEFAULT_LIMIT: Final = 20


class _Place(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    asked: str
    values: list[str | int | float]


_decoder: Final = msgspec.json.Decoder(_Place)


def asked(*what: Any) -> str:
    """A short name of what a list was asked for: its name, filters and order."""
    encoded = msgspec.json.encode(what, order="deterministic", enc_hook=str)
    return sha256(encoded).hexdigest()[:12]


def cursor_behind(asked_for: str, *values: str | float) -> str:
    """A cursor that stands behind the row with these values."""
    place = msgspec.json.encode(_Place(asked_for, list(values)))
    return urlsafe_b64encode(place).rstrip(b"=").decode()


def place_of(cursor: str, asked_for: str, *types: type) -> list[Any]:
    """The values in a cursor. Raises InvalidError for one that this list did not give; `types` are
    those that the values must have."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        place = _decoder.decode(urlsafe_b64decode(padded))
        if place.asked != asked_for:
            raise InvalidError("cursor", "this cursor belongs to another list, filter or order")
        values: list[Any] = [
            msgspec.convert(value, each) for value, each in zip(place.values, types, strict=True)
        ]
    except (ValueError, Base64Error, msgspec.MsgspecError):
        raise InvalidError("cursor", "this is no cursor of ours: begin without one") from None
    if not all(_is_storable(value) for value in values):
        raise InvalidError("cursor", "this is no cursor of ours: begin without one")
    return values


def page(rows: list[T], limit: int, total: int, next_cursor: str | None) -> Page[T]:
    """A page of `rows`; `next_cursor` is None on the last."""
    return Page(
        items=rows[:limit], next_cursor=next_cursor, has_more=next_cursor is not None, total=total
    )


def _is_storable(value: Any) -> bool:
    """Databases refuse numbers beyond 64 bits and NUL; both are no values of ours."""
    if isinstance(value, str):
        return "\0" not in value
    return bool(abs(value) < 2**63)
