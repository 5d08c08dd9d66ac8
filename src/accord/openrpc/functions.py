"""What can be said about a function: from its signature, its docstring and its `About`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from accord.jsonrpc.about import ErrorAbout
from accord.jsonrpc.catalogue import CATALOGUE
from accord.jsonrpc.codec import encode
from accord.jsonrpc.errors import RegistrationError
from accord.jsonrpc.method import Method
from accord.jsonrpc.parameters import Kind, Parameter
from accord.openrpc.description import Description, Param, ParamStructure
from accord.schema.schema import Schema
from accord.schema.types import accepts, returns

MOST_REMEMBERED: Final = 1024
"""How many annotations are remembered with their schemas."""

_VARIADIC: Final[dict[Kind, str]] = {
    "var_positional": "Any number of further values, by position.",
    "var_keyword": "Any number of further values, by other names.",
}


def describe_function(method: Method) -> Description:
    """Raises `RegistrationError` when what its `About` says does not fit the function."""
    about = method.about
    summary, description = split_doc(method.doc)
    structure, parameters = choose_structure(method.parameters)
    check_names(method, [each.name for each in method.parameters])
    return Description(
        name=method.name,
        summary=about.summary or summary,
        description=about.description or description,
        tags=about.tags,
        params=tuple(_param(method, each) for each in parameters),
        structure=structure,
        result=_memoized(returns, method.returns),
        result_description=about.result,
        errors=read_errors(method),
        links=about.links,
        examples=about.examples,
        deprecated=about.deprecated,
        external_docs=about.external_docs,
    )


def split_doc(doc: str) -> tuple[str, str]:
    """The first line of a docstring, and the rest."""
    first, _, rest = doc.strip().partition("\n")
    return first.strip(), rest.strip()


def choose_structure(
    parameters: tuple[Parameter, ...],
) -> tuple[ParamStructure, list[Parameter]]:
    """How the params are to be given, and those that can be given so, required ones first.

    OpenRPC knows one way per method. Where a signature has parameters that can only be given
    by position and others that can only be given by name, the way that reaches more of them
    is taken, and the others are left out: all of those are optional.
    """
    by_position = [it for it in parameters if it.by_position or it.kind == "var_positional"]
    by_name = [it for it in parameters if it.by_name or it.kind == "var_keyword"]
    if len(by_position) == len(by_name) == len(parameters):
        return "either", list(parameters)
    if (_required(by_position), len(by_position)) >= (_required(by_name), len(by_name)):
        return "by-position", by_position
    return "by-name", sorted(by_name, key=lambda it: not it.required)


def check_names(method: Method, names: Iterable[str]) -> None:
    """Raises `RegistrationError` when the method's `About` speaks of a parameter it has not."""
    known = set(names)
    for name in (*method.about.params, *method.about.deprecated_params):
        if name not in known:
            raise RegistrationError(
                f"method '{method.name}': its description speaks of the parameter '{name}', "
                "which it has not"
            )


def read_errors(method: Method) -> tuple[ErrorAbout, ...]:
    """The errors that the method's `About` lists. Raises `RegistrationError` for unknown ones."""
    return tuple(_error(method, each) for each in method.about.errors)


def with_default(schema: Schema, default: Any) -> Schema:
    """`schema` with the value that is taken where none is given, if JSON can say it."""
    if default is UNSET:
        return schema
    try:
        value = msgspec.json.decode(encode(default))
    except Exception:  # whatever a foreign object's encoder raises
        return schema
    members = schema.value if isinstance(schema.value, dict) else {}
    if value is None and isinstance(members.get("type"), str) and members["type"] != "null":
        return schema  # `size: int = None`: no caller can send that None
    return replace(schema, value={**members, "default": value})


def _memoized(describe: Callable[[Any], Schema], annotation: Any) -> Schema:
    """What `describe` says about an annotation; most methods take and give the same few types."""
    try:
        hash(annotation)
    except TypeError:
        return describe(annotation)
    return _remember(describe, annotation)


@lru_cache(maxsize=MOST_REMEMBERED)
def _remember(describe: Callable[[Any], Schema], annotation: Any) -> Schema:
    return describe(annotation)


def _required(parameters: list[Parameter]) -> int:
    return sum(it.required for it in parameters)


def _param(method: Method, parameter: Parameter) -> Param:
    said = take_apart(_memoized(accepts, parameter.annotation))
    variadic = _VARIADIC.get(parameter.kind, "")
    return Param(
        name=parameter.name,
        schema=with_default(said.schema, parameter.default),
        required=parameter.required,
        description=method.about.params.get(parameter.name, said.description or variadic),
        deprecated=said.deprecated or parameter.name in method.about.deprecated_params,
        variadic=bool(variadic),
    )


class Said(Struct, frozen=True):
    """What an annotation says of its parameter, apart from what it takes."""

    description: str
    deprecated: bool
    schema: Schema
    """The rest."""


def take_apart(schema: Schema) -> Said:
    """A parameter's schema, without what OpenRPC says beside it."""
    if not isinstance(schema.value, dict):
        return Said("", False, schema)
    rest = {key: it for key, it in schema.value.items() if key not in ("description", "deprecated")}
    return Said(
        str(schema.value.get("description", "")),
        schema.value.get("deprecated") is True,
        replace(schema, value=rest),
    )


def _error(method: Method, error: int | str | ErrorAbout) -> ErrorAbout:
    if isinstance(error, ErrorAbout):
        return error
    try:
        entry = CATALOGUE.named(error) if isinstance(error, str) else CATALOGUE.get(error)
    except KeyError as unknown:
        raise RegistrationError(f"method '{method.name}': {unknown.args[0]}") from None
    if entry is None:
        raise RegistrationError(
            f"method '{method.name}': the catalogue has no error {error}; "
            "describe it with ErrorAbout"
        )
    return ErrorAbout(entry.code, entry.message)
