"""The schemas of annotations: the input of a parameter, and the output of a result.

Each annotation is described by the library that reads its values, chosen as the router chooses it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from accord.jsonrpc.methods.binding import choose_type
from accord.jsonrpc.methods.param_values import MsgspecType
from accord.jsonrpc.methods.signature import Parameter
from accord.schema.bundle import Bundle
from accord.schema.from_msgspec import describe
from accord.schema.schema import ANYTHING, DEFINITIONS, Schema

_MAX_CACHED = 4_096
"""Maximum number of cached schemas: large services use the same few types in every method."""


def accepts(annotation: Any) -> Schema:
    """Return the input schema: that of a parameter with this annotation.

    Raises `RegistrationError` for an annotation that no parameter can have.
    """
    return _cached(_accepts, annotation)


def returns(annotation: Any) -> Schema:
    """Return the output schema: that of a result with this annotation.

    It is `ANYTHING`, the schema without restrictions, for a type that is not supported: the router
    does not check results, so no annotation is refused.
    """
    return _cached(_returns, annotation)


@lru_cache(_MAX_CACHED)
def _accepts(annotation: Any) -> Schema:
    parameter = Parameter("value", annotation, "positional_or_keyword", True)
    if isinstance(choose_type(parameter), MsgspecType):
        return describe(annotation, "Input", _foreign)
    from accord.schema.from_pydantic import describe_by_pydantic

    return describe_by_pydantic(annotation, "Input")


@lru_cache(_MAX_CACHED)
def _returns(annotation: Any) -> Schema:
    if annotation is None or annotation is NoneType:
        return Schema({"type": "null"}, role="Output")
    try:
        return describe(annotation, "Output", _foreign)
    except (TypeError, NameError, RecursionError):
        if get_origin(annotation) in (Union, UnionType):
            return _any_of(get_args(annotation))
        return _foreign(annotation)


def _any_of(annotations: tuple[Any, ...]) -> Schema:
    """Return the schema of a union that msgspec does not support."""
    bundle = Bundle(DEFINITIONS, "2020-12")
    choices = [bundle.add(returns(each)) for each in annotations]
    return Schema({"anyOf": choices}, bundle.definitions, "Output")


def _foreign(annotation: Any) -> Schema:
    """Return the schema that pydantic generates; `ANYTHING` if pydantic generates none."""
    try:
        from accord.schema.from_pydantic import describe_by_pydantic

        return describe_by_pydantic(annotation, "Output")
    except Exception:  # noqa: BLE001 - pydantic is not there, or does not know it either
        return ANYTHING


def _cached(make: Callable[[Hashable], Schema], annotation: Any) -> Schema:
    try:
        hash(annotation)
    except TypeError:  # it has something like a dictionary among its metadata
        make = make.__wrapped__  # type: ignore[attr-defined]
    return make(annotation)
