"""Plans: the steps from raw params to the call of a function, chosen once per method.

Common signatures get a fast plan, which decodes all params in one pass of msgspec. Params that it
cannot decode, in most cases invalid ones, go to the slow plan. The slow plan serves any signature:
it uses the `Binder`, which knows every rule and names every fault. Both plans make the same call.
The function itself is called outside of every `try`, so that its errors are never mistaken for
errors in the params.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from functools import partial
from types import GenericAlias
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, defstruct, field
from msgspec.structs import asdict, astuple

from accord.jsonrpc.methods.binding import Binder, Params
from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.methods.param_values import REFUSALS
from accord.jsonrpc.methods.signature import ContextPlace, Parameter, Signature

Plan: TypeAlias = Callable[[Params, Context | None], Any]
"""Decodes the params of a call and calls the function. Raises `InvalidParamsError` for params that
do not fit, or the exception of the function."""

Decode: TypeAlias = Callable[[Any], Any]

_PLAIN = frozenset({"positional_or_keyword", "keyword_only"})
_CONSTANTS = (type(None), bool, int, float, str, bytes)


class Planner:
    """A maker of plans for the functions of one signature.

    Raises `RegistrationError` for a parameter type without a decoder.
    """

    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        self._binder = Binder(signature)
        self._kinds = {parameter.kind for parameter in signature.parameters}
        self._by_name_only = self._kinds == {"keyword_only"}
        self._forms = None
        if self._fits_one_pass():
            self._forms = _Forms(
                signature.parameters, self._binder.refuse_large, own_names=self._by_name_only
            )

    def plan(self, function: Callable[..., Any]) -> Plan:
        """Return the fastest plan that calls `function` according to the signature."""
        slow = _any_signature(self._binder, function)
        context, forms = self._signature.context, self._forms
        if not self._kinds and context is None:
            return _no_parameters(slow, function)
        if forms is None:
            return slow
        if "keyword_only" not in self._kinds:
            if context is None and len(forms.names) == 2 and forms.absent is None:
                return _two_values(forms, slow, function)
            if context is None:
                return _values_only(forms, slow, function)
            if context.index == 0:
                return _context_first(forms, slow, function)
        if self._by_name_only:
            return _names_only(forms, context, slow, function)
        return _arranged(forms, context, slow, function)

    def _fits_one_pass(self) -> bool:
        if not self._binder.by_msgspec or not _named_plainly(self._signature):
            return False
        return self._kinds <= _PLAIN or (
            self._kinds == {"var_positional"} and self._signature.context is None
        )


def _named_plainly(signature: Signature) -> bool:
    """Return whether the parameter names permit decoding in one pass.

    Each must be usable as the name of a msgspec struct field and of a keyword argument, including
    the parameter for the context.
    """
    context = signature.context
    if context is not None and context.name not in signature.reserved:
        return False  # it is positional-only
    return not any(parameter.name.startswith("__") for parameter in signature.parameters)


def _any_signature(binder: Binder, function: Callable[..., Any]) -> Plan:
    bind = binder.bind

    def call(params: Params, context: Context | None) -> Any:
        args, kwargs = bind(params, context)
        return function(*args, **kwargs)

    return call


def _no_parameters(slow: Plan, function: Callable[..., Any]) -> Plan:
    def call(params: Params, context: Context | None) -> Any:
        return function() if params is UNSET else slow(params, context)

    return call


def _values_only(forms: _Forms, slow: Plan, function: Callable[..., Any]) -> Plan:
    # The body of `_ParamsForms.read` is repeated here and in some others: that saves a call per
    # request on the hottest path.
    decode, by_name, absent = forms.decode, forms.by_name, forms.absent

    def call(params: Params, context: Context | None) -> Any:
        try:
            values = absent if params is UNSET else decode(params)
        except REFUSALS as error:
            values = forms.refuse_large(params, error)
        if values is None:
            return slow(params, context)
        if values.__class__ is by_name:
            values = astuple(values)
        return function(*values)

    return call


def _two_values(forms: _Forms, slow: Plan, function: Callable[..., Any]) -> Plan:
    """Return a plan for two parameters without a context; the first parameter is required.

    It does the same as `_values_only`, but reads the two fields of the struct, which is faster than
    `astuple`.
    """
    decode, by_name = forms.decode, forms.by_name

    def call(params: Params, context: Context | None) -> Any:
        if params is UNSET:
            return slow(params, context)
        try:
            values = decode(params)
        except REFUSALS as error:
            values = forms.refuse_large(params, error)
        if values.__class__ is by_name:
            return function(values.f0, values.f1)
        return slow(params, context) if values is None else function(*values)

    return call


def _context_first(forms: _Forms, slow: Plan, function: Callable[..., Any]) -> Plan:
    read, by_name = forms.read, forms.by_name

    def call(params: Params, context: Context | None) -> Any:
        values = read(params)
        if values is None:
            return slow(params, context)
        if values.__class__ is by_name:
            values = astuple(values)
        return function(context, *values)

    return call


def _names_only(
    forms: _Forms, place: ContextPlace | None, slow: Plan, function: Callable[..., Any]
) -> Plan:
    """Return a plan for functions whose parameters are all keyword-only.

    The fields of the decoded struct have the names of the parameters.
    """
    decode, by_name, absent = forms.decode, forms.by_name, forms.absent
    name = place.name if place is not None else ""

    def call(params: Params, context: Context | None) -> Any:
        try:
            values = absent if params is UNSET else decode(params)
        except REFUSALS as error:
            values = forms.refuse_large(params, error)
        if values is None:
            return slow(params, context)
        kwargs = asdict(values) if values.__class__ is by_name else {}
        if name:
            kwargs[name] = context
        return function(**kwargs)

    return call


def _arranged(
    forms: _Forms, place: ContextPlace | None, slow: Plan, function: Callable[..., Any]
) -> Plan:
    """Return a plan for functions that no faster plan fits.

    Some of their parameters are keyword-only, or the context is not the first parameter.
    """
    read, by_name = forms.read, forms.by_name
    names = forms.names
    name = place.name if place is not None else ""
    index = place.index if place is not None else None

    def call(params: Params, context: Context | None) -> Any:
        values = read(params)
        if values is None:
            return slow(params, context)
        if values.__class__ is by_name:
            kwargs = dict(zip(names, astuple(values), strict=True))
            if name:
                kwargs[name] = context
            return function(**kwargs)
        if index is not None:
            return function(*values[:index], context, *values[index:])
        return function(*values, **{name: context}) if name else function(*values)

    return call


class _Forms:
    """The types to which msgspec decodes params in one pass, by name and by position."""

    def __init__(
        self,
        parameters: tuple[Parameter, ...],
        refuse_large: Callable[[Any, Exception], None],
        *,
        own_names: bool,
    ) -> None:
        self.refuse_large: Callable[[Any, Exception], Any] = refuse_large
        """`Binder.refuse_large`: raises `InvalidParamsError` for large params if it can name the
        fault; else returns None, and the slow plan must decode the params."""
        named = [each for each in parameters if each.by_name]
        self.names = [each.name for each in named]
        self.by_name = _struct(named, self.names if own_names else _places(named))
        """The struct type of params by name. Its Python attributes are called `f0`, `f1` …, or with
        `own_names` like the parameters."""
        self.absent: Any = None
        """The default values by position, for a call without params; None if a parameter is
        required."""
        form: Any = self.by_name
        if all(each.by_position or not each.required for each in parameters):
            by_position = _array([each for each in parameters if each.kind != "keyword_only"])
            form |= by_position
            if not any(each.required for each in parameters):
                self.absent = by_position()
        self.decode: Decode = msgspec.json.Decoder(form).decode

    def read(self, params: Params) -> Any:
        """Decode params to a `by_name` struct, or to the values by position.

        Returns None if the slow plan must decode them, which uses the `Binder`.
        """
        try:
            return self.absent if params is UNSET else self.decode(params)
        except REFUSALS as error:
            return self.refuse_large(params, error)


def _places(parameters: list[Parameter]) -> list[str]:
    return [f"f{index}" for index in range(len(parameters))]


def _struct(parameters: list[Parameter], names: list[str]) -> Any:
    """Return the struct type for params by name."""
    fields = [
        (name, each.annotation, _field(each)) for name, each in zip(names, parameters, strict=True)
    ]
    return defstruct("ByName", fields, forbid_unknown_fields=True, kw_only=True, gc=False)


def _field(parameter: Parameter) -> Any:
    if parameter.required:
        return field(name=parameter.name)
    if isinstance(parameter.default, _CONSTANTS):
        return field(name=parameter.name, default=parameter.default)
    # msgspec would copy a mutable default; Python passes the very object.
    return field(name=parameter.name, default_factory=partial(_itself, parameter.default))


def _itself(value: Any) -> Any:
    return value


def _array(parameters: list[Parameter]) -> Any:
    """Return the type for params by position.

    A tuple is the fastest; a named tuple can have defaults.
    """
    if parameters and parameters[0].kind == "var_positional":
        return GenericAlias(list, (parameters[0].annotation,))
    if all(each.required for each in parameters):
        return GenericAlias(tuple, tuple(each.annotation for each in parameters))
    names = _places(parameters)
    defaults = [each.default for each in parameters if not each.required]
    form = namedtuple("ByPosition", names, defaults=defaults)  # type: ignore[misc]
    form.__annotations__ = dict(zip(names, (each.annotation for each in parameters), strict=True))
    return form
