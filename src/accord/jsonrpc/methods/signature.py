"""The signature of a function: its parameters and the types of their values.

A signature is read once, at registration. Annotations that no decoder enforces are refused here, as
are unions over which msgspec corrupts its memory. Pure.
"""

from __future__ import annotations

import collections.abc
import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import partial
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from msgspec import UNSET, Meta, Raw, Struct

from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.protocol.errors import RegistrationError

_COLLECTIONS = frozenset(
    {
        dict,
        frozenset,
        list,
        set,
        tuple,
        collections.abc.Collection,
        collections.abc.Mapping,
        collections.abc.MutableMapping,
        collections.abc.MutableSequence,
        collections.abc.MutableSet,
        collections.abc.Sequence,
        collections.abc.Set,
    }
)


def check_union(members: tuple[Any, ...]) -> None:
    """Raise `RegistrationError` for a union that msgspec cannot decode safely."""
    metas: list[Meta] = []
    types = [_peel(member, metas) for member in members]
    limited = [meta for meta in metas if constrains(meta)]
    if any(map(_is_fixed_tuple, types)) and limited:
        raise RegistrationError(
            f"a union cannot hold a tuple of fixed length beside the constraint {limited[0]!r}: "
            "msgspec breaks over it; take a list, a NamedTuple or a struct instead of the tuple"
        )
    patterns = [meta for meta in limited if meta.pattern is not None]
    if patterns and any(_kind(each) in _COLLECTIONS for each in types):
        raise RegistrationError(
            f"a union cannot hold a collection beside the constraint {patterns[0]!r}: "
            "msgspec breaks over it; check the pattern in the function, or use a struct"
        )


def constrains(meta: Meta) -> bool:
    """Return whether `meta` has a constraint; if not, it only describes the value."""
    limits = (meta.gt, meta.ge, meta.lt, meta.le, meta.multiple_of, meta.pattern)
    sizes = (meta.min_length, meta.max_length, meta.tz)
    return any(limit is not None for limit in limits + sizes)


def _peel(member: Any, metas: list[Meta]) -> Any:
    """Return the type `member` without aliases and metadata; add the metadata to `metas`."""
    while True:
        if get_origin(member) is Annotated:
            metas.extend(each for each in member.__metadata__ if isinstance(each, Meta))
            member = member.__origin__
        elif isinstance(member, NewType):
            member = member.__supertype__
        elif hasattr(member, "__value__"):  # Python 3.12's `type X = …`
            member = member.__value__
        else:
            return member


def _kind(member: Any) -> Any:
    return get_origin(member) or member


def _is_fixed_tuple(member: Any) -> bool:
    return get_origin(member) is tuple and ... not in get_args(member)


_FOREIGN_MODULES = frozenset({"annotated_types", "pydantic", "pydantic_core"})
_NEVER_JSON = (type, collections.abc.Callable)
_LAZY = (collections.abc.Iterable, collections.abc.Iterator, collections.abc.Generator)


class Survey(Struct):
    """The constraints that `survey` found in an annotation, as texts for error messages."""

    foreign: list[str] = []
    """Constraints that only pydantic enforces."""
    native: list[str] = []
    """Constraints that only msgspec enforces."""
    lazy: bool = False
    """True if the annotation contains an iterable, whose items pydantic would check only when they
    are read."""


def survey(annotation: Any) -> Survey:
    """Find the constraints in `annotation`, including those of fields in its classes.

    Raises `RegistrationError` for types that no JSON value can have, for unions that msgspec cannot
    decode safely, and for fields whose annotations cannot be resolved.
    """
    found = Survey()
    seen: dict[int, Any] = {}
    waiting = [annotation]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part  # keeps it alive: an id must not be reused meanwhile
        waiting.extend(_look_at(part, found))
    return found


def is_pydantic_field(default: Any) -> bool:
    """Return whether a default is pydantic's `Field(…)`, which holds constraints."""
    return type(default).__module__ == "pydantic.fields"


def _look_at(part: Any, found: Survey) -> Iterator[Any]:
    """Add the constraints of `part`, a type in an annotation, to `found`.

    Yields the types inside `part`.
    """
    origin = get_origin(part)
    if origin is Annotated:
        _note_metadata(part.__metadata__, found)
        yield part.__origin__
    elif origin is not None and origin is not Literal:
        if origin in (Union, UnionType):
            check_union(get_args(part))
        yield origin
        yield from get_args(part)
    elif isinstance(part, NewType):
        yield part.__supertype__
    elif isinstance(part, TypeVar):
        yield part.__bound__
    elif isinstance(part, type):
        yield from _look_at_class(part, found)
    elif hasattr(part, "__value__"):  # Python 3.12's `type X = …`
        yield part.__value__


def _look_at_class(cls: type, found: Survey) -> Iterator[Any]:
    if cls in _NEVER_JSON:
        raise RegistrationError(f"no JSON value can be a {cls.__name__}")
    found.lazy = found.lazy or cls in _LAZY
    if hasattr(cls, "__pydantic_validator__"):
        found.foreign.append(f"the pydantic model {cls.__qualname__}")
        for field in _pydantic_fields(cls).values():
            _note_metadata(field.metadata, found)
            yield field.annotation
    elif hasattr(cls, "__get_pydantic_core_schema__"):
        found.foreign.append(f"the pydantic type {cls.__qualname__}")
    elif issubclass(cls, Struct):
        found.native.append(f"the msgspec struct {cls.__qualname__}")
        yield from _fields(cls)
    elif cls is Raw:
        found.native.append("msgspec.Raw")
    elif is_dataclass(cls):
        defaults = [field.default for field in fields(cls)]
        found.foreign.extend(f"the constraint {it!r}" for it in defaults if is_pydantic_field(it))
        yield from _fields(cls)
    elif is_typeddict(cls) or hasattr(cls, "_field_defaults"):
        yield from _fields(cls)


def _pydantic_fields(cls: Any) -> dict[str, Any]:
    found: dict[str, Any] = cls.__pydantic_fields__
    return found


def _fields(cls: type) -> Iterator[Any]:
    try:
        yield from get_type_hints(cls, include_extras=True).values()
    except NameError as error:
        raise RegistrationError(
            f"an annotation of {cls.__qualname__} cannot be resolved: {error}"
        ) from error


def _note_metadata(metadata: Any, found: Survey) -> None:
    for thing in metadata:
        if isinstance(thing, Meta):
            if constrains(thing):
                found.native.append(f"the constraint {thing!r}")
        elif _is_foreign(thing):
            found.foreign.append(f"the constraint {thing!r}")


def _is_foreign(metadata: Any) -> bool:
    module = type(metadata).__module__.partition(".")[0]
    return module in _FOREIGN_MODULES or hasattr(metadata, "__get_pydantic_core_schema__")


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
    """A parameter of a function that callers can pass."""

    name: str
    annotation: Any
    """The resolved type; `Any` if none is declared. For `*args` the type of each value."""
    kind: Kind
    required: bool
    default: Any = UNSET
    """The very object that the function declares, not a copy; UNSET if there is no default."""

    @property
    def by_position(self) -> bool:
        """True if the parameter has its own position in an array of params."""
        return self.kind in _BY_POSITION

    @property
    def by_name(self) -> bool:
        """True if the parameter has its own name in an object of params."""
        return self.kind in _BY_NAME


class ContextPlace(Struct, frozen=True):
    """The parameter for the context: its name, and its index if it is positional."""

    name: str
    index: int | None


class Signature(Struct, frozen=True):
    """The parameters of a function, the place of its context, and its return type."""

    parameters: tuple[Parameter, ...]
    context: ContextPlace | None
    returns: Any
    reserved: frozenset[str]
    """Names that callers cannot pass: the parameter for the context, `self`, and arguments set by a
    partial."""


def read_signature(function: Callable[..., Any]) -> Signature:
    """Return the signature of `function` with its annotations resolved.

    Raises `RegistrationError` if the signature cannot be read, an annotation cannot be resolved, or
    the context is declared twice, or as `*args` or `**kwargs`.
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
    """A resolver of a function's annotations.

    Each is resolved separately, so that an error can name the parameter.
    """

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
    """Return the names of all parameters that a function takes by keyword.

    If `function` is wrapped in partials or decorators, this is the function inside them.
    """
    inner = innermost(function)
    declared = inspect.signature(getattr(inner, "__func__", inner)).parameters.values()
    return frozenset(each.name for each in declared if _KINDS[each.kind] in _BY_NAME)


def innermost(function: Callable[..., Any]) -> Any:
    """Return the function inside of partials and decorators.

    `inspect.signature` reads the annotations of this function. For a callable object it is the
    `__call__` of its class.
    """
    while isinstance(function, partial):
        function = function.func
    function = inspect.unwrap(function)
    return function if hasattr(function, "__globals__") else type(function).__call__
