"""From the params of a call to the arguments of a function, for every kind of signature.

`Binder` is complete and exact rather than fast: it decodes each parameter by itself, and
it is what names every fault. `call_plan` has the shortcuts for the common signatures and
comes here whenever one of them does not fit. Binding follows Python's own rules: an object
binds as `function(**params)` does, an array as `function(*params)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import GenericAlias
from typing import Any

from msgspec import UNSET, Raw

from accord.jsonrpc.context import Context
from accord.jsonrpc.errors import RegistrationError
from accord.jsonrpc.msgspec_types import MsgspecType
from accord.jsonrpc.parameter_types import ParameterType, choose_type
from accord.jsonrpc.parameters import Kind, Parameter, Signature
from accord.jsonrpc.params_errors import (
    MAX_DIAGNOSED_BYTES,
    MAX_PROBLEMS,
    Problem,
    ValueRefusedError,
    by_position_only,
    invalid_params,
    missing,
    too_many,
    unexpected,
)
from accord.jsonrpc.params_form import Params, ParamsForm, is_array, is_large, is_long
from accord.jsonrpc.type_names import expected

_AT_VALUE = re.compile(
    r"(?P<what>.*) - at (?P<key>`key` in )?"
    r"`\$(?:\.(?P<name>\w+)|\[(?P<index>\d+)\])(?P<inner>[^`]*)`",
    re.DOTALL,
)


class Binder:
    """A binder of params to one signature.

    Raises `RegistrationError` for types it cannot decode.
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
        """The decoder of all params at once, if they are the values of `*args`."""
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

        Raises `InvalidParamsError`.
        """
        faults = _Faults()
        if params is not UNSET and self._whole and is_long(params) and is_array(params):
            try:
                return self._whole.decode(params, self._rest, self._rest), {}
            except ValueRefusedError as refused:
                raise invalid_params(refused.problems) from None
        given, rest, others = self._assign(self._form.read(params), faults)
        args = [self._value(each, given, faults) for each in self._positional]
        args += [
            self._decode(self._rest, raw, f"{self._rest}[{index}]", faults)
            for index, raw in enumerate(rest)
        ]
        kwargs = {each.name: self._value(each, given, faults) for each in self._keyword}
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
        """Raise `InvalidParamsError` for large params if `error` locates the invalid value.

        `error` is what msgspec raised over all params at once. Decoding large params again,
        parameter by parameter, would cost too much.
        """
        if not is_large(params):
            return
        said = str(error)
        found = _AT_VALUE.fullmatch(said) if len(said) <= MAX_DIAGNOSED_BYTES else None
        parameter = None if found is None else self._parameter_at(found, params)
        if found is None or parameter is None:
            return
        name, path = parameter
        kind = self._types[name]
        assert isinstance(kind, MsgspecType)
        inner = f"{found['what']} - at {found['key'] or ''}`${found['inner']}`"
        raise invalid_params([kind.problem(params, name, path, inner)]) from None

    def _parameter_at(self, found: re.Match[str], params: bytes | Raw) -> tuple[str, str] | None:
        """Return the name of the parameter that msgspec means, and the path to its value."""
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
        """Split params into those for named parameters, `*args` and `**kwargs`."""
        if isinstance(form, dict):
            given = {name: raw for name, raw in form.items() if name in self._named}
            others = {name: raw for name, raw in form.items() if name not in given}
            refused = [name for name in others if not self._others or name in self._reserved]
            # Finding a similar name is slow, so it is done for one name and not for thousands.
            suggest = len(refused) == 1
            faults.extend(self._unexpected(name, suggest=suggest) for name in refused)
            return given, [], {} if refused else others
        places = len(self._positional)
        rest = form[places:]
        if rest and not self._rest:
            faults.extend([too_many(places, len(form))])
            rest = []
        given = {each.name: raw for each, raw in zip(self._positional, form, strict=False)}
        return given, rest, {}

    def _unexpected(self, name: str, *, suggest: bool) -> Problem:
        if any(each.name == name for each in self._positional):
            return by_position_only(name)
        return unexpected(name, self._names, suggest=suggest)

    def _value(self, parameter: Parameter, given: dict[str, Raw], faults: _Faults) -> Any:
        name = parameter.name
        raw = given.get(name)
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
    """The problems of one call. Raises as soon as `MAX_PROBLEMS` are collected."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []

    def extend(self, problems: Iterable[Problem]) -> None:
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
    """Return the name of the one parameter of `kind`; empty if there is none."""
    return next((each.name for each in signature.parameters if each.kind == kind), "")
