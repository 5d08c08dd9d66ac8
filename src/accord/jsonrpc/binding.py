"""From the params of a call to the arguments of a function, for every kind of signature.

`Binder` is complete and exact rather than fast: it decodes each parameter by itself, and
it is what names every fault. `call_plan` has the shortcuts for the common signatures and
comes here whenever one of them does not fit. Binding follows Python's own rules: an object
binds as `function(**params)` does, an array as `function(*params)`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.jsonrpc.context import Context
from accord.jsonrpc.errors import RegistrationError
from accord.jsonrpc.msgspec_types import REFUSALS, MsgspecType
from accord.jsonrpc.parameter_types import ParameterType, choose_type
from accord.jsonrpc.parameters import Kind, Parameter, Signature
from accord.jsonrpc.params_errors import (
    MAX_PROBLEMS,
    Problem,
    ValueRefusedError,
    by_position_only,
    invalid_params,
    missing,
    too_many,
    undecodable,
    unexpected,
)
from accord.jsonrpc.type_names import expected

Params: TypeAlias = bytes | Raw | UnsetType
"""The `params` of a request: JSON not yet decoded, UNSET when absent. `null` is absent too."""

_decode_form = msgspec.json.Decoder(dict[str, Raw] | list[Raw] | None).decode


class Binder:
    """Binds params to one signature. Raises `RegistrationError` for types it cannot decode."""

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

    @property
    def by_msgspec(self) -> bool:
        """Whether msgspec decodes every parameter."""
        return all(isinstance(each, MsgspecType) for each in self._types.values())

    def bind(self, params: Params, context: Context | None) -> tuple[list[Any], dict[str, Any]]:
        """The arguments for one call, the context among them. Raises `InvalidParamsError`."""
        faults = _Faults()
        given, rest, others = self._assign(_form(params), faults)
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

    def _assign(
        self, form: dict[str, Raw] | list[Raw], faults: _Faults
    ) -> tuple[dict[str, Raw], list[Raw], dict[str, Raw]]:
        """What came for the parameters by name, for `*args` and for `**kwargs`."""
        if isinstance(form, dict):
            given = {name: raw for name, raw in form.items() if name in self._named}
            others = {name: raw for name, raw in form.items() if name not in given}
            refused = [name for name in others if not self._others or name in self._reserved]
            # Comparing names takes long, so it is done for one name and not for thousands.
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
    """The problems of one call. Stops at the most that are told, however many there are."""

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


def _form(params: Params) -> dict[str, Raw] | list[Raw]:
    if params is UNSET:
        return []
    try:
        return _decode_form(params) or []
    except REFUSALS as error:
        problem = undecodable("params", "params", "array or object", error)
    raise invalid_params([problem])


def _choose(parameter: Parameter) -> ParameterType:
    try:
        return choose_type(parameter)
    except RegistrationError as error:
        raise RegistrationError(f"parameter '{parameter.name}': {error}") from error


def _only(signature: Signature, kind: Kind) -> str:
    """The name of the one parameter of `kind`; empty when there is none."""
    return next((each.name for each in signature.parameters if each.kind == kind), "")
