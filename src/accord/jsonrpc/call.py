"""The decoding of what a call returns."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET

from accord.jsonrpc.errors import InvalidResultError


def decode_result(raw: Any, into: Any, method: str) -> Any:
    """Decode `raw` as a value of the type `into`. Raises `InvalidResultError`."""
    try:
        return _decoder(into).decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidResultError(
            f"the result of {method} is not what was asked for: {error}"
        ) from error


def decode_data(raw: Any) -> Any:
    """Decode an error's data to plain values; None if there is none."""
    if raw is UNSET:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return bytes(raw).decode(errors="replace")


@lru_cache(maxsize=256)
def _decoder(into: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(into)
