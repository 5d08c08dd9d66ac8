"""Conversion of the params of a call to the arguments of a function.

Every kind of signature is supported. Each value is decoded by msgspec where that is possible, else
by pydantic. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from types import GenericAlias
from typing import Any, Final, Protocol, TypeAlias

import msgspec
import msgspec.inspect
from msgspec import UNSET, Raw, Struct, UnsetType, defstruct, field
from msgspec.structs import astuple

from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.methods.param_values import (
    MAX_DIAGNOSED_BYTES,
    MAX_PROBLEMS,
    REFUSALS,
    Json,
    MsgspecType,
    ParamsProblem,
    ValueRefusedError,
    by_position_only,
    expected,
    invalid_params,
    missing,
    too_many,
    undecodable,
    unexpected,
)
from accord.jsonrpc.methods.signature import Kind, Parameter, Signature, is_pydantic_field, survey
from accord.jsonrpc.protocol.errors import RegistrationError

Params: TypeAlias = bytes | Raw | UnsetType
"""The `params` of a request: JSON not yet decoded, UNSET when absent. `null` is absent too."""

_LONG: Final = 256
_decode_any: Final = msgspec.json.Decoder(dict[str, Raw] | list[Raw] | None).decode
_decode_object: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_array: Final = msgspec.json.Decoder(list[Raw]).decode
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)


class ParamsForm:
    """The forms of params that one method accepts: its names and number of positions.

    `places` is None if the method takes any number of values by position; `names` is None if it
    takes any name. The function `unexpected` gets a name that the method does not take, and returns
    the problem to report.
    """

    def __init__(
        self,
        names: list[str] | None,
        places: int | None,
        unexpected: Callable[[str], ParamsProblem],
    ) -> None:
        self._names = names
        self._places = places
        self._unexpected = unexpected

    @cached_property
    def _object(self) -> Callable[[Any], Any]:
        """The decoder for a params object larger than `MAX_DIAGNOSED_BYTES`."""
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
        """The decoder for a params array larger than `MAX_DIAGNOSED_BYTES`."""
        if self._places is None:
            return _decode_array
        fields = [(f"f{index}", Raw, UNSET) for index in range(self._places)]
        form = defstruct(
            "ByPosition", fields, array_like=True, forbid_unknown_fields=True, gc=False
        )
        return msgspec.json.Decoder(form).decode

    def read(self, params: Params) -> dict[str, Raw] | list[Raw]:
        """Split params into their values, each still raw JSON.

        Raises `InvalidParamsError` for invalid JSON, and for params that are no array or object.
        If the params are large, also raises it for too many values and for an unexpected name.
        """
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

    def _problem(self, message: str, error: Exception) -> ParamsProblem:
        if found := _UNKNOWN.match(message):
            return self._unexpected(found[1])
        if message.startswith("Expected `array`") and self._places is not None:
            return too_many(self._places, None)
        return undecodable("params", "params", "array or object", error)


def _structured(params: bytes | Raw) -> bytes | Raw:
    """Return params unchanged if they are an array or object, otherwise "0".

    A string or number is refused in any case. "0" stands in for it, so that a long value is not
    decoded.
    """
    first = memoryview(params)[0]
    return params if first in b"{[" else b"0"


def is_large(params: bytes | Raw) -> bool:
    return memoryview(params).nbytes > MAX_DIAGNOSED_BYTES


def is_long(params: bytes | Raw) -> bool:
    """Return whether params are over `_LONG` bytes: too long to decode each value separately."""
    return memoryview(params).nbytes > _LONG


def is_array(params: bytes | Raw) -> bool:
    return memoryview(params)[0] == ord("[")


class ParameterType(Protocol):
    """A decoder of JSON values to the type of one parameter."""

    annotation: Any

    def decode(self, data: Json, name: str, path: str) -> Any:
        """Decode the JSON value `data` of the parameter `name`.

        `path` is the place of the value in the params. Raises `ValueRefusedError`, with the
        problems found, for a value of another type.
        """


def choose_type(parameter: Parameter) -> ParameterType:
    """Return the decoder for `parameter`.

    Raises `RegistrationError` if no decoder supports its annotation or default.
    """
    annotation = parameter.annotation
    if is_pydantic_field(parameter.default):
        raise RegistrationError(
            "pydantic's Field(…) stands in the place of its default, where it would be passed "
            "as the value: write Annotated[type, Field(…)] and a plain default"
        )
    found = survey(annotation)
    if found.foreign and found.native:
        raise RegistrationError(
            f"{found.foreign[0]} is for pydantic and {found.native[0]} for msgspec, and each "
            "ignores the other's: declare this parameter with the types of one of them"
        )
    needs_pydantic = f"{found.foreign[0]} needs pydantic" if found.foreign else ""
    obstacle = needs_pydantic or _msgspec_obstacle(annotation)
    if not obstacle:
        return MsgspecType(annotation)
    if found.native:
        raise RegistrationError(f"{obstacle}, and pydantic does not know {found.native[0]}")
    if found.lazy:
        raise RegistrationError("the items of an iterable cannot be checked: write list[…]")
    return _pydantic_type(annotation, obstacle)


def _msgspec_obstacle(annotation: Any) -> str:
    """Return the reason why msgspec cannot decode `annotation`; empty if it can."""
    try:
        msgspec.json.Decoder(annotation)
        custom = _custom_class(msgspec.inspect.type_info(annotation))
    except TypeError as error:
        return str(error)
    # msgspec takes any class as a type, but then accepts its instances only, and JSON has none.
    return "" if custom is None else f"msgspec does not know the class {custom.__qualname__}"


def _custom_class(described: msgspec.inspect.Type) -> type | None:
    seen: dict[int, Any] = {}
    waiting: list[Any] = [described]
    while waiting:
        part = waiting.pop()
        if isinstance(part, msgspec.inspect.CustomType):
            if part.cls is not object:
                return part.cls
        elif isinstance(part, tuple):
            waiting.extend(part)
        elif (
            isinstance(part, msgspec.inspect.Type | msgspec.inspect.Field) and id(part) not in seen
        ):
            seen[id(part)] = part
            waiting.extend(getattr(part, name) for name in part.__struct_fields__)
    return None


def _pydantic_type(annotation: Any, obstacle: str) -> ParameterType:
    try:
        from accord.jsonrpc.methods.pydantic_types import PydanticType
    except ImportError as error:
        raise RegistrationError(
            f"{obstacle}, and pydantic is not installed: install accord[pydantic], or "
            "declare the parameter with msgspec's types and constraints"
        ) from error
    return PydanticType(annotation, obstacle)


_AT_VALUE = re.compile(
    r"(?P<what>.*) - at (?P<key>`key` in )?"
    r"`\$(?:\.(?P<name>\w+)|\[(?P<index>\d+)\])(?P<inner>[^`]*)`",
    re.DOTALL,
)


class Binder:
    """A binder of params to the arguments of one signature.

    Raises `RegistrationError` for a parameter type that it cannot decode.
    """

    def __init__(self, signature: Signature) -> None:
        self._types = {each.name: _choose(each) for each in signature.parameters}
        self._positional = [each for each in signature.parameters if each.by_position]
        self._keyword = [each for each in signature.parameters if each.kind == "keyword_only"]
        self._rest = _only(signature, "var_positional")
        self._others = _only(signature, "var_keyword")
        self._names = [each.name for each in signature.parameters if each.by_name]
        self._named = frozenset(self._names)
        self._context = signature.context
        self._reserved = signature.reserved
        self._form = ParamsForm(
            None if self._others else [each.name for each in (*self._positional, *self._keyword)],
            None if self._rest else len(self._positional),
            lambda name: self._unexpected(name, suggest=True),
        )
        self._whole: MsgspecType | None = None
        """The decoder of all params at once; None unless `*args` is the only parameter and msgspec
        decodes it."""
        rest = self._types.get(self._rest)
        alone = len(signature.parameters) == 1 and signature.context is None
        if alone and isinstance(rest, MsgspecType):
            self._whole = MsgspecType(GenericAlias(list, (rest.annotation,)))

    @property
    def by_msgspec(self) -> bool:
        """True if msgspec decodes every parameter."""
        return all(isinstance(each, MsgspecType) for each in self._types.values())

    def bind(self, params: Params, context: Context | None) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments for one call, including the context.

        Raises `InvalidParamsError` for params that do not fit the signature.
        """
        faults = _Faults()
        if params is not UNSET and self._whole and is_long(params) and is_array(params):
            try:
                return self._whole.decode(params, self._rest, self._rest), {}
            except ValueRefusedError as refused:
                raise invalid_params(refused.problems) from None
        named, rest, others = self._assign(self._form.read(params), faults)
        args = [self._value(each, named, faults) for each in self._positional]
        args += [
            self._decode(self._rest, raw, f"{self._rest}[{index}]", faults)
            for index, raw in enumerate(rest)
        ]
        kwargs = {each.name: self._value(each, named, faults) for each in self._keyword}
        for name, raw in others.items():
            kwargs[name] = self._decode(self._others, raw, name, faults)
        faults.check()
        if self._context is not None:
            if self._context.index is None:
                kwargs[self._context.name] = context
            else:
                args.insert(self._context.index, context)
        return args, kwargs

    def refuse_large(self, params: bytes | Raw, error: Exception) -> None:
        """Raise `InvalidParamsError` for large params, if `error` names the faulty parameter.

        `error` is the exception that msgspec raised when it decoded all params at once. If this
        method returns, `bind` decodes the params again, parameter by parameter. For large params
        that is avoided where possible, because it costs much.
        """
        if not is_large(params):
            return
        message = str(error)
        found = _AT_VALUE.fullmatch(message) if len(message) <= MAX_DIAGNOSED_BYTES else None
        parameter = None if found is None else self._parameter_at(found, params)
        if found is None or parameter is None:
            return
        name, path = parameter
        kind = self._types[name]
        assert isinstance(kind, MsgspecType)
        inner = f"{found['what']} - at {found['key'] or ''}`${found['inner']}`"
        raise invalid_params([kind.problem(params, name, path, inner)]) from None

    def _parameter_at(self, found: re.Match[str], params: bytes | Raw) -> tuple[str, str] | None:
        """Return the faulty parameter, and the path to its value.

        `found` is the match in the message of an error of msgspec about `params`. Returns None if
        the parameter cannot be identified.
        """
        name, index = found["name"], found["index"]
        if name is not None:
            # Of a duplicate member the last counts, and that one may be valid.
            once = bytes(params).count(b'"%b"' % name.encode()) == 1
            return (name, name) if once and name in self._types else None
        place = int(index)
        if place < len(self._positional):
            name = self._positional[place].name
            return name, name
        return (self._rest, f"{self._rest}[{place}]") if self._rest else None

    def _assign(
        self, form: dict[str, Raw] | list[Raw], faults: _Faults
    ) -> tuple[dict[str, Raw], list[Raw], dict[str, Raw]]:
        """Split params into values for named parameters, for `*args` and for `**kwargs`."""
        if isinstance(form, dict):
            named = {name: raw for name, raw in form.items() if name in self._named}
            others = {name: raw for name, raw in form.items() if name not in named}
            refused = [name for name in others if not self._others or name in self._reserved]
            # Finding a similar name is slow, so it is done for one name and not for thousands.
            suggest = len(refused) == 1
            faults.extend(self._unexpected(name, suggest=suggest) for name in refused)
            return named, [], {} if refused else others
        places = len(self._positional)
        rest = form[places:]
        if rest and not self._rest:
            faults.extend([too_many(places, len(form))])
            rest = []
        named = {each.name: raw for each, raw in zip(self._positional, form, strict=False)}
        return named, rest, {}

    def _unexpected(self, name: str, *, suggest: bool) -> ParamsProblem:
        if any(each.name == name for each in self._positional):
            return by_position_only(name)
        return unexpected(name, self._names, suggest=suggest)

    def _value(self, parameter: Parameter, named: dict[str, Raw], faults: _Faults) -> Any:
        name = parameter.name
        raw = named.get(name)
        if raw is not None:
            return self._decode(name, raw, name, faults)
        if parameter.required:
            faults.extend([missing(name, expected(parameter.annotation))])
        return parameter.default

    def _decode(self, name: str, raw: Raw, path: str, faults: _Faults) -> Any:
        try:
            return self._types[name].decode(raw, name, path)
        except ValueRefusedError as refused:
            problems = refused.problems
        return faults.extend(problems)


class _Faults:
    """The problems found in the params of one call.

    `InvalidParamsError` is raised as soon as `MAX_PROBLEMS` are collected.
    """

    def __init__(self) -> None:
        self._problems: list[ParamsProblem] = []

    def extend(self, problems: Iterable[ParamsProblem]) -> None:
        for problem in problems:
            self._problems.append(problem)
            if len(self._problems) >= MAX_PROBLEMS:
                self.check()

    def check(self) -> None:
        if self._problems:
            raise invalid_params(self._problems)


def _choose(parameter: Parameter) -> ParameterType:
    try:
        return choose_type(parameter)
    except RegistrationError as error:
        raise RegistrationError(f"parameter '{parameter.name}': {error}") from error


def _only(signature: Signature, kind: Kind) -> str:
    """Return the name of the only parameter of `kind`, which is that of `*args` or `**kwargs`.

    It is empty if there is none.
    """
    return next((each.name for each in signature.parameters if each.kind == kind), "")
