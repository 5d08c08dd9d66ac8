"""Parameters that msgspec decodes, and the problems in its error messages."""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Raw

from accord.jsonrpc.methods.params_errors import (
    MAX_DIAGNOSED_BYTES,
    MAX_TEXT,
    ParamsProblem,
    ValueRefusedError,
    expected,
    json_kind,
    steps,
    undecodable,
)

Json: TypeAlias = bytes | Raw
"""One JSON value, not yet decoded."""

REFUSALS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError)
"""All exceptions of msgspec for a value; TypeError is for unhashable members of a set."""


class MsgspecType:
    """A type that msgspec decodes."""

    def __init__(self, annotation: Any) -> None:
        self.annotation = annotation
        self._decode = msgspec.json.Decoder(annotation).decode

    def decode(self, data: Json, name: str, path: str) -> Any:
        try:
            return self._decode(data)
        except msgspec.ValidationError as error:
            problem = self.problem(data, name, path, str(error))
        except REFUSALS as error:
            problem = undecodable(name, path, expected(self.annotation), error)
        raise ValueRefusedError([problem])

    def problem(self, data: Json, name: str, path: str, said: str) -> ParamsProblem:
        """Return the problem of the parameter `name` from an error message about `data`."""
        return _Fault(self.annotation, data, name, path, said).problem()


_LONGEST: Final = 4 * MAX_TEXT
"""Maximum length read at both ends of an error message of msgspec."""
_AT = re.compile(r"(?P<what>.*) - at (?P<key>`key` in )?`\$(?P<path>[^`]*)`", re.DOTALL)
_EXPECTED_GOT = re.compile(r"Expected `(?P<expected>[^`]*)`, got `(?P<got>[^`]*)`")
_EXPECTED = re.compile(r"Expected `(?P<kind>[^`]*)`(?P<rest>.*)", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<field>[^`]*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<field>.*)`", re.DOTALL)
_FORMAT = re.compile(r"Invalid (?!enum value|value )(?P<format>.*)", re.DOTALL)
_CHOICE = re.compile(r"Invalid (enum value|value) .*", re.DOTALL)


class _Fault:
    """The problem that an error message of msgspec describes.

    The path is only in its message: ``Expected `int`, got `str` - at
    `$.items[2].name` ``. A field's name in it may have been chosen by the caller; it can
    mislead no one but that caller.
    """

    def __init__(self, annotation: Any, data: Json, name: str, path: str, message: str) -> None:
        self._annotation = annotation
        self._data = data
        self._name = name
        self._path = path
        if len(message) > 2 * _LONGEST:  # it contains a name of the caller; the path is at the end
            message = f"{message[:_LONGEST]}…{message[-_LONGEST:]}"
        located = _AT.fullmatch(message)
        self._what = located["what"] if located else message
        self._inner = located["path"] if located else ""
        self._in_key = located is not None and located["key"] is not None

    def problem(self) -> ParamsProblem:
        what = self._what
        if found := _EXPECTED_GOT.fullmatch(what):
            noun = f"{found['expected']} as key" if self._in_key else found["expected"]
            return self._at("", noun, found["got"])
        if found := _EXPECTED.fullmatch(what):
            sized = found["kind"] if " of length " in found["rest"] else ""
            return self._at("", found["kind"] + found["rest"], self._came(sized))
        if found := _MISSING.fullmatch(what):
            field = f".{found['field']}"
            return self._at(field, expected(self._annotation, self._inner + field), "nothing")
        if found := _UNKNOWN.fullmatch(what):
            return self._at(f".{found['field']}", "no such field", "one")
        if found := _FORMAT.fullmatch(what):
            return self._at("", found["format"], self._came())
        noun = expected(self._annotation, self._inner)
        text = "" if _CHOICE.fullmatch(what) else what
        return self._at("", noun, self._came(), text)

    def _at(self, field: str, noun: str, got: str, text: str = "") -> ParamsProblem:
        return ParamsProblem(self._name, f"{self._path}{self._inner}{field}", noun, got, text)

    def _came(self, sized: str = "") -> str:
        """Return the kind of the faulty value, with its length if lengths are limited."""
        if memoryview(self._data).nbytes > MAX_DIAGNOSED_BYTES:
            return "another value"
        try:
            value = msgspec.json.decode(self._data)
            for step in steps(self._inner):
                value = value[step]
        except (*REFUSALS, LookupError):  # a key that msgspec does not name, or a fault further on
            return "another value"
        kind = json_kind(value)
        if kind == sized and isinstance(value, str | list | dict):
            return f"{kind} of length {len(value)}"
        return f"another {kind}"
