"""The params of one call, taken apart: each value by its name or its place, unread.

Small params are taken as they come, so that one error can list all that is wrong with them. In
large ones msgspec stops at the first value that the method does not take: half a million unknown
names are refused without being listed. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, defstruct, field
from msgspec.structs import astuple

from accord.jsonrpc.msgspec_types import REFUSALS
from accord.jsonrpc.params_errors import (
    MAX_DIAGNOSED_BYTES,
    Problem,
    invalid_params,
    too_many,
    undecodable,
)

Params: TypeAlias = bytes | Raw | UnsetType
"""The `params` of a request: JSON not yet decoded, UNSET when absent. `null` is absent too."""

_LONG: Final = 256
_decode_any: Final = msgspec.json.Decoder(dict[str, Raw] | list[Raw] | None).decode
_decode_object: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_array: Final = msgspec.json.Decoder(list[Raw]).decode
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)


class ParamsForm:
    """The names and places that one method has.

    `places` is None for a method that takes any number of values by position, `names` is None for
    one that takes any name. `unexpected` makes the problem of a name that the method lacks.
    """

    def __init__(
        self, names: list[str] | None, places: int | None, unexpected: Callable[[str], Problem]
    ) -> None:
        self._names = names
        self._places = places
        self._unexpected = unexpected

    @cached_property
    def _object(self) -> Callable[[Any], Any]:
        """Decodes large params by name."""
        if self._names is None:
            return _decode_object
        fields = [
            (f"f{index}", Raw, field(name=name, default=UNSET))
            for index, name in enumerate(self._names)
        ]
        form = defstruct("ByName", fields, forbid_unknown_fields=True, gc=False)
        return msgspec.json.Decoder(form).decode

    @cached_property
    def _array(self) -> Callable[[Any], Any]:
        """Decodes large params by position."""
        if self._places is None:
            return _decode_array
        fields = [(f"f{index}", Raw, UNSET) for index in range(self._places)]
        form = defstruct(
            "ByPosition", fields, array_like=True, forbid_unknown_fields=True, gc=False
        )
        return msgspec.json.Decoder(form).decode

    def read(self, params: Params) -> dict[str, Raw] | list[Raw]:
        """The values. Raises `InvalidParamsError`."""
        if params is UNSET:
            return []
        try:
            if not is_large(params):
                return _decode_any(params) or []
            form = (self._array if is_array(params) else self._object)(_structured(params))
        except REFUSALS as error:
            raise invalid_params([self._problem(str(error), error)]) from None
        if not isinstance(form, Struct):
            return form  # type: ignore[no-any-return]
        values = astuple(form)
        if form.__struct_config__.array_like:
            return [value for value in values if value is not UNSET]
        pairs = zip(self._names or (), values, strict=True)
        return {name: value for name, value in pairs if value is not UNSET}

    def _problem(self, said: str, error: Exception) -> Problem:
        if found := _UNKNOWN.match(said):
            return self._unexpected(found[1])
        if said.startswith("Expected `array`") and self._places is not None:
            return too_many(self._places, None)
        return undecodable("params", "params", "array or object", error)


def _structured(params: bytes | Raw) -> bytes | Raw:
    """Params without the text of a long string or number, which are refused for their type."""
    first = memoryview(params)[0]
    return params if first in b"{[" else b"0"


def is_large(params: bytes | Raw) -> bool:
    return memoryview(params).nbytes > MAX_DIAGNOSED_BYTES


def is_long(params: bytes | Raw) -> bool:
    """Whether there may be so many values that each by itself would take long."""
    return memoryview(params).nbytes > _LONG


def is_array(params: bytes | Raw) -> bool:
    return memoryview(params)[0] == ord("[")
