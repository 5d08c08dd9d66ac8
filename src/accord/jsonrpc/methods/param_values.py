"""Decoding of param values by msgspec, and problems of values that are refused.

A problem names the expected type of a value. msgspec's error messages are turned into problems.
Duplicate members are refused too. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import lru_cache
from types import EllipsisType
from typing import Any, Final, TypeAlias

import msgspec
import msgspec.inspect as m
from msgspec import Raw, Struct

from accord.jsonrpc.protocol.errors import RpcError, own_error

MAX_PROBLEMS: Final = 10
"""Maximum number of problems in one error."""
MAX_TEXT: Final = 200
"""Maximum length of a name or text in a problem."""
MAX_DIAGNOSED_BYTES: Final = 2_048
"""Maximum size of refused params that are decoded again for a better error message: refusing must
not cost more than serving."""
_MAX_COMPARED: Final = 64
"""A similar name is suggested only if the unknown name has at most this many characters, and if at
most this many names are allowed."""


class ParamsProblem(Struct, frozen=True):
    """One fault in the params of a call."""

    parameter: str
    path: str
    expected: str
    got: str
    text: str = ""
    """Text to show in place of `expected …, got …`, if that would not explain the problem."""
    members: dict[str, Any] = {}
    """Members of the error's data besides `parameter`, `path`, `expected` and `got`."""

    @property
    def message(self) -> str:
        text = self.text or f"expected {self.expected}, got {self.got}"
        return f"parameter '{shorten(self.path)}': {shorten(text)}"

    def as_data(self) -> dict[str, Any]:
        return {
            "parameter": shorten(self.parameter),
            "path": shorten(self.path),
            "expected": shorten(self.expected),
            "got": shorten(self.got),
            **self.members,
        }


class ValueRefusedError(Exception):
    """A value that a parameter's type does not accept; the binder catches it."""

    def __init__(self, problems: Iterable[ParamsProblem]) -> None:
        super().__init__()
        self.problems = list(problems)


def invalid_params(problems: Sequence[ParamsProblem]) -> RpcError:
    """Return the invalid_params error for `problems`, of which there is at least one.

    The `data` of the error has the members of the first problem. If there are several problems, the
    member `problems` lists all of them.
    """
    problems = problems[:MAX_PROBLEMS]
    first, more = problems[0], len(problems) - 1
    if not more:
        return own_error("invalid_params", first.message, **first.as_data())
    return own_error(
        "invalid_params",
        f"{first.message} (and {more} more)",
        **first.as_data(),
        problems=[{**problem.as_data(), "message": problem.message} for problem in problems],
    )


def missing(name: str, expected: str) -> ParamsProblem:
    return ParamsProblem(name, name, expected, "nothing")


def unexpected(name: str, allowed: Sequence[str], *, suggest: bool) -> ParamsProblem:
    """Return the problem of a parameter name that is not among the `allowed` names."""
    members: dict[str, Any] = {"allowed": list(allowed)}
    close = _closest(name, allowed) if suggest else None
    hint = ""
    if close:
        hint = f", did you mean '{close}'?"
        members["suggestion"] = close
    names = ", ".join(f"'{each}'" for each in allowed) or "none"
    text = f"no such parameter{hint} (allowed by name: {names})"
    return ParamsProblem(name, name, "no such parameter", "one", text, members)


def by_position_only(name: str) -> ParamsProblem:
    text = "it is taken by position only: send params as an array"
    return ParamsProblem(name, name, "a value by position", "one by name", text)


def too_many(takes: int, came: int | None) -> ParamsProblem:
    """Return the problem of too many positional parameters.

    The method takes `takes` parameters by position. `came` is the number of those in the call, None
    if they were not counted.
    """
    got = "more" if came is None else f"{came:,}"
    text = f"the method takes {_count(takes)} by position, {got} came"
    return ParamsProblem("params", "params", f"at most {_count(takes)}", got, text)


def undecodable(parameter: str, path: str, expected: str, error: Exception) -> ParamsProblem:
    """Return the problem of a value that is not valid JSON, or nested too deep."""
    why = "nested too deep" if isinstance(error, RecursionError) else str(error)
    return ParamsProblem(
        parameter, path, expected, "what cannot be decoded", f"not decodable: {why}"
    )


def shorten(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


def json_kind(value: Any) -> str:
    """Return the type of a decoded JSON value, as msgspec's messages name it."""
    return _JSON_KINDS.get(type(value), "another value")


_JSON_KINDS: Final[dict[type, str]] = {
    type(None): "null",
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    list: "array",
    dict: "object",
}


def _count(parameters: int) -> str:
    return "1 parameter" if parameters == 1 else f"{parameters} parameters"


def _closest(name: str, allowed: Sequence[str]) -> str | None:
    # The comparison is quadratic, and the caller chose the name.
    if len(name) > _MAX_COMPARED or len(allowed) > _MAX_COMPARED:
        return None
    return next(iter(get_close_matches(name, allowed, n=1)), None)


Step: TypeAlias = str | int | EllipsisType
"""One step of a path: a field, an index, or `...` for a key of a dictionary, as msgspec's messages
do not contain the key."""

_NAMES: dict[type[m.Type], str] = {
    m.AnyType: "any value",
    m.RawType: "any value",
    m.NoneType: "null",
    m.BoolType: "bool",
    m.IntType: "int",
    m.FloatType: "float",
    m.StrType: "str",
    m.BytesType: "bytes",
    m.ByteArrayType: "bytes",
    m.MemoryViewType: "bytes",
    m.DateTimeType: "datetime",
    m.TimeType: "time",
    m.DateType: "date",
    m.TimeDeltaType: "duration",
    m.UUIDType: "uuid",
    m.DecimalType: "decimal",
    m.TupleType: "array",
    m.NamedTupleType: "array",
    m.DictType: "object",
    m.TypedDictType: "object",
    m.DataclassType: "object",
}
_UNKNOWN_TYPE = "a value"
_STEP = re.compile(r"\.(?P<field>[^.\[]+)|\[(?P<index>\d+)\]|(?P<key>\[\.\.\.\])")


def expected(annotation: Any, path: str = "") -> str:
    """Return the name of the type that is expected for a value.

    With `path`, as in `.items[2].name`, this is the type of a part of the value.
    """
    try:
        found: m.Type | None = _described(annotation)
    except TypeError:  # an unhashable annotation
        found = _described.__wrapped__(annotation)
    if found is None:
        return _UNKNOWN_TYPE
    for step in steps(path):
        found = _part(found, step)
    return _name(found)


@lru_cache(maxsize=1024)
def _described(annotation: Any) -> m.Type | None:
    try:
        return m.type_info(annotation)
    except Exception:  # noqa: BLE001 - msgspec cannot describe it; pydantic decodes it
        return None


def steps(path: str) -> list[Step]:
    """Split a path from a message of msgspec, such as `.items[2]` of `$.items[2]`, into steps."""
    return [_step(found) for found in _STEP.finditer(path)]


def _step(found: re.Match[str]) -> Step:
    if found["field"] is not None:
        return found["field"]
    return ... if found["index"] is None else int(found["index"])


def _name(found: m.Type | None) -> str:
    match found:
        case None:
            return _UNKNOWN_TYPE
        case m.Metadata(type=inner):
            return _name(inner)
        case m.UnionType(types=types):
            return " | ".join(dict.fromkeys(_name(each) for each in types))
        case m.EnumType(cls=cls):
            return _choice([member.value for member in cls])
        case m.LiteralType(values=values):
            return _choice(list(values))
        case m.StructType(array_like=array_like):
            return "array" if array_like else "object"
        case m.CollectionType():
            return "array"
        case m.CustomType(cls=cls):
            return "object" if hasattr(cls, "model_fields") else cls.__name__
        case _:
            return _NAMES.get(type(found), _UNKNOWN_TYPE)


def _choice(values: list[Any]) -> str:
    return "one of " + ", ".join("null" if value is None else repr(value) for value in values)


def _part(found: m.Type | None, step: Step) -> m.Type | None:
    """Return the type that `step` leads to within the type `found`; None if unknown."""
    match found, step:
        case m.Metadata(type=inner), _:
            return _part(inner, step)
        case m.UnionType(types=types), _:
            return _tags(types, step) or _first(_part(each, step) for each in types)
        case (
            (
                m.StructType(fields=fields)
                | m.DataclassType(fields=fields)
                | m.TypedDictType(fields=fields)
            ),
            str(),
        ):
            return _first(field.type for field in fields if field.encode_name == step)
        case ((m.StructType(fields=fields) | m.NamedTupleType(fields=fields)), int()):
            return _first(field.type for field in fields[step : step + 1])
        case m.CollectionType(item_type=item), int():
            return item
        case m.TupleType(item_types=items), int():
            return _first(items[step : step + 1])
        case m.DictType(value_type=value), EllipsisType():
            return value
    return None


def _first(found: Any) -> m.Type | None:
    return next((each for each in found if each is not None), None)


def _tags(types: tuple[m.Type, ...], step: Step) -> m.Type | None:
    """Return the type of the tag field of a union of structs, if `step` is the tag field.

    It is a literal type of all tags. Returns None for any other field.
    """
    structs = [each for each in types if isinstance(each, m.StructType)]
    tags = [each.tag for each in structs if each.tag is not None and each.tag_field == step]
    return m.LiteralType(tuple(tags)) if tags else None


_decode: Final = msgspec.json.Decoder().decode
_decode_out_of_range: Final = msgspec.json.Decoder(float_hook=len).decode
_encode: Final = msgspec.json.Encoder().encode
_MAX_SEARCHED: Final = 32
"""Maximum number of values in a message with a duplicate member in which the member is located.
Each value takes a microsecond."""


class DuplicateMemberError(msgspec.ValidationError):
    """An object has a duplicate member; `path` leads to the member, empty if unknown."""

    def __init__(self, path: tuple[str | int, ...]) -> None:
        where = "" if not path else f" {str(path[-1])[:100]!r}"
        super().__init__(f"the member{where} is given twice")
        self.path = path


def check_members(data: bytes | Raw) -> None:
    """Raise `DuplicateMemberError` if an object in `data` has a duplicate member.

    Raises an exception of msgspec if `data` is invalid JSON.
    """
    data = bytes(data)
    try:
        value = _decode(data)
    except msgspec.ValidationError:
        value = _decode_out_of_range(data)
    again = _encode(value)
    if again == data:
        return  # the common case: compact JSON without optional blanks
    colons = data.count(b":")
    if b"\\" in data:  # a colon may be escaped in a string
        plain = data.replace(b"\\\\", b"")
        colons += plain.count(b"\\u003a") + plain.count(b"\\u003A")
    if again.count(b":") != colons:
        raise DuplicateMemberError(_place(data) if _is_small(data) else ())


def _is_small(data: bytes) -> bool:
    """Return whether `data` is small enough to be read again for a better message."""
    return (
        len(data) <= MAX_DIAGNOSED_BYTES
        and sum(map(data.count, (b",", b"[", b"{"))) <= _MAX_SEARCHED
    )


class _Twice:
    """A marker that replaces an object with a duplicate member in decoded JSON."""

    def __init__(self, name: str) -> None:
        self.name = name


def _place(data: bytes) -> tuple[str | int, ...]:
    """Return the path of the first duplicate member in `data`."""
    value = json.loads(data, object_pairs_hook=_object, parse_int=len, parse_float=len)
    path: list[str | int] = []
    _search(value, path)
    return tuple(path)


def _object(pairs: list[tuple[str, Any]]) -> Any:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    names = [name for name, _ in pairs]
    return _Twice(next(name for name in names if names.count(name) > 1))


def _search(value: Any, path: list[str | int]) -> bool:
    """Extend `path` to the first marker of a duplicate member in `value`.

    Returns whether there is one; if not, `path` is unchanged.
    """
    if isinstance(value, _Twice):
        path.append(value.name)
        return True
    inner: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    for step, each in inner:
        path.append(step)
        if _search(each, path):
            return True
        path.pop()
    return False


Json: TypeAlias = bytes | Raw
"""One JSON value, not yet decoded."""

REFUSALS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError)
"""All exceptions that msgspec raises for an invalid value of a parameter. Unlike `codec.REFUSALS`,
they include TypeError, which it raises for unhashable members of a set."""


class MsgspecType:
    """A decoder of the values of one parameter by msgspec."""

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

    def problem(self, data: Json, name: str, path: str, message: str) -> ParamsProblem:
        """Return the problem that an error message of msgspec about `data` describes.

        `name` is the parameter, `path` the place of `data` in the params.
        """
        return _MsgspecFault(self.annotation, data, name, path, message).problem()


_MAX_READ: Final = 4 * MAX_TEXT
"""Number of characters of a long error message of msgspec that are kept at each end of it."""
_AT = re.compile(r"(?P<what>.*) - at (?P<key>`key` in )?`\$(?P<path>[^`]*)`", re.DOTALL)
_EXPECTED_GOT = re.compile(r"Expected `(?P<expected>[^`]*)`, got `(?P<got>[^`]*)`")
_EXPECTED = re.compile(r"Expected `(?P<kind>[^`]*)`(?P<rest>.*)", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<field>[^`]*)`")
_UNKNOWN_FIELD = re.compile(r"Object contains unknown field `(?P<field>.*)`", re.DOTALL)
_FORMAT = re.compile(r"Invalid (?!enum value|value )(?P<format>.*)", re.DOTALL)
_CHOICE = re.compile(r"Invalid (enum value|value) .*", re.DOTALL)


class _MsgspecFault:
    """A parser of an error message of msgspec about the value of a parameter.

    The path of the faulty value is only in the message: ``Expected `int`, got `str` - at
    `$.items[2].name` ``. A caller can choose the name of an unknown field so that the path is
    misread; the wrong problem is then reported to that caller only.
    """

    def __init__(self, annotation: Any, data: Json, name: str, path: str, message: str) -> None:
        self._annotation = annotation
        self._data = data
        self._name = name
        self._path = path
        if len(message) > 2 * _MAX_READ:  # it contains a name of the caller; the path is at the end
            message = f"{message[:_MAX_READ]}…{message[-_MAX_READ:]}"
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
        if found := _UNKNOWN_FIELD.fullmatch(what):
            return self._at(f".{found['field']}", "no such field", "one")
        if found := _FORMAT.fullmatch(what):
            return self._at("", found["format"], self._came())
        noun = expected(self._annotation, self._inner)
        text = "" if _CHOICE.fullmatch(what) else what
        return self._at("", noun, self._came(), text)

    def _at(self, field: str, noun: str, got: str, text: str = "") -> ParamsProblem:
        return ParamsProblem(self._name, f"{self._path}{self._inner}{field}", noun, got, text)

    def _came(self, sized: str = "") -> str:
        """Return the type of the faulty value as text for the problem, such as `another int`.

        For a value of the type `sized` the text has its length instead: `str of length 3`.
        """
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
