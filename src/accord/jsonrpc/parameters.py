"""What a function takes: its parameters, read once from its signature.

Knows Python's signatures and annotations. Does not know how values are decoded or how a
function is called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from msgspec import UNSET, Struct

from accord.jsonrpc.context import Context
from accord.jsonrpc.errors import RegistrationError

Kind: TypeAlias = Literal[
    "positional_only", "positional_or_keyword", "var_positional", "keyword_only", "var_keyword"
]

_KINDS: dict[Any, Kind] = {
    inspect.Parameter.POSITIONAL_ONLY: "positional_only",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional_or_keyword",
    inspect.Parameter.VAR_POSITIONAL: "var_positional",
    inspect.Parameter.KEYWORD_ONLY: "keyword_only",
    inspect.Parameter.VAR_KEYWORD: "var_keyword",
}
_BY_POSITION: frozenset[Kind] = frozenset({"positional_only", "positional_or_keyword"})
_BY_NAME: frozenset[Kind] = frozenset({"positional_or_keyword", "keyword_only"})


class Parameter(Struct, frozen=True):
    """One parameter that callers can give."""

    name: str
    annotation: Any
    """The type, resolved; `Any` where none is declared. For `*args` that of each value."""
    kind: Kind
    required: bool
    default: Any = UNSET
    """The very object that the function declares; UNSET when there is none."""

    @property
    def by_position(self) -> bool:
        """Whether it has a place of its own in an array of params."""
        return self.kind in _BY_POSITION

    @property
    def by_name(self) -> bool:
        """Whether it has a name of its own in an object of params."""
        return self.kind in _BY_NAME


class ContextPlace(Struct, frozen=True):
    """Where a function wants its context: the name, and the index if given by position."""

    name: str
    index: int | None


class Signature(Struct, frozen=True):
    """What a function takes from callers, where it wants its context, what it returns."""

    parameters: tuple[Parameter, ...]
    context: ContextPlace | None
    returns: Any
    reserved: frozenset[str]
    """Names that are given without the caller: the context's, `self`, what a partial has."""


def read_signature(function: Callable[..., Any]) -> Signature:
    """The signature of `function` with its annotations resolved.

    Raises `RegistrationError` when it cannot be read, or asks for the context in a way
    that cannot be served.
    """
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise RegistrationError(f"its signature cannot be read: {error}") from error
    annotations = _Annotations(function)
    parameters: list[Parameter] = []
    context: ContextPlace | None = None
    for parameter in found.parameters.values():
        annotation = annotations.resolve(f"parameter '{parameter.name}'", parameter.annotation)
        kind = _KINDS[parameter.kind]
        if not _is_context(annotation):
            parameters.append(_describe(parameter, kind, annotation))
        elif context is not None:
            raise RegistrationError(
                f"parameters '{context.name}' and '{parameter.name}' both ask for the context"
            )
        else:
            context = _context_place(parameter.name, kind, parameters)
    returns = annotations.resolve("the result", found.return_annotation)
    reserved = _declared_names(function) - {parameter.name for parameter in parameters}
    return Signature(tuple(parameters), context, returns, reserved)


def _describe(parameter: inspect.Parameter, kind: Kind, annotation: Any) -> Parameter:
    if parameter.default is not inspect.Parameter.empty:
        return Parameter(parameter.name, annotation, kind, False, parameter.default)
    required = kind not in ("var_positional", "var_keyword")
    return Parameter(parameter.name, annotation, kind, required)


def _context_place(name: str, kind: Kind, before: list[Parameter]) -> ContextPlace:
    if kind in ("var_positional", "var_keyword"):
        raise RegistrationError(f"parameter '{name}' asks for many contexts; there is one")
    if kind == "keyword_only":
        return ContextPlace(name, None)
    return ContextPlace(name, sum(parameter.by_position for parameter in before))


def _is_context(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _is_context(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return set(get_args(annotation)) == {Context, NoneType}
    return annotation is Context


class _Annotations:
    """Resolves the annotations of one function, each by itself so that errors can name it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        owner = innermost(function)
        self._globals: dict[str, Any] = getattr(owner, "__globals__", {})
        self._type_params: tuple[Any, ...] = getattr(owner, "__type_params__", ())

    def resolve(self, subject: str, annotation: Any) -> Any:
        if annotation is inspect.Signature.empty:
            return Any
        holder = SimpleNamespace(
            __annotations__={"it": annotation}, __type_params__=self._type_params
        )
        try:
            return get_type_hints(holder, self._globals, include_extras=True)["it"]
        except Exception as error:  # evaluating an annotation may run any code
            raise RegistrationError(
                f"the annotation {annotation!r} of {subject} cannot be resolved: {error}; "
                "what it names must exist at run time at the top level of its module, "
                "not under TYPE_CHECKING and not inside a function"
            ) from error


def _declared_names(function: Callable[..., Any]) -> frozenset[str]:
    """Every name that an argument of the plain function can be given by."""
    inner = innermost(function)
    declared = inspect.signature(getattr(inner, "__func__", inner)).parameters.values()
    return frozenset(each.name for each in declared if _KINDS[each.kind] in _BY_NAME)


def innermost(function: Callable[..., Any]) -> Any:
    """The plain function whose annotations `inspect.signature` shows."""
    while isinstance(function, partial):
        function = function.func
    function = inspect.unwrap(function)
    return function if hasattr(function, "__globals__") else type(function).__call__
