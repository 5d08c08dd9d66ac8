"""Parameters whose default is pydantic's `Field(…)`, as FastMCP takes them.

    def find(text: str = Field(description="What to look for"), most: int = Field(5, ge=1)): ...

Python would pass the field itself as the value. So the function is wrapped: what the field says
becomes part of the annotation, and what stands in it is the default. Does not import pydantic.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Annotated, Any, Final

from msgspec import UNSET

from accord.jsonrpc.annotations import is_pydantic_field
from accord.jsonrpc.interceptors import is_async

_FURTHER: Final = ("title", "examples", "json_schema_extra", "deprecated", "discriminator")
"""Attributes of a field besides its default, constraints and description."""
_BY_NAME: Final = (
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)


def with_field_defaults(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function`, or a wrapper with plain defaults for keyword arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return function  # whoever reads the signature says what is wrong with it
    fields = {
        name: each.default
        for name, each in signature.parameters.items()
        if is_pydantic_field(each.default) and each.kind in _BY_NAME
    }
    if not fields:
        return function

    def filled(given: dict[str, Any]) -> dict[str, Any]:
        for name, field in fields.items():
            if given.get(name, UNSET) is UNSET:
                given[name] = field.get_default(call_default_factory=True)
        return given

    if is_async(function):

        @wraps(function)
        async def call(*args: Any, **given: Any) -> Any:
            return await function(*args, **filled(given))

    else:

        @wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            return function(*args, **filled(given))

    parameters = [_plain(each, fields) for each in signature.parameters.values()]
    parameters.sort(key=lambda each: each.kind)
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return call


def _plain(parameter: inspect.Parameter, fields: dict[str, Any]) -> inspect.Parameter:
    kind = parameter.kind
    if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
        kind = inspect.Parameter.KEYWORD_ONLY  # then what is required may follow what is not
    field = fields.get(parameter.name)
    if field is None:
        return parameter.replace(kind=kind)
    annotation = Any if parameter.annotation is parameter.empty else parameter.annotation
    default: Any = parameter.empty
    if not field.is_required():
        # What a factory makes is another thing each time, and no default to tell clients of.
        default = UNSET if field.default_factory is not None else field.default
    said = _said_by(field)
    return parameter.replace(
        kind=kind, annotation=Annotated[annotation, said] if said else annotation, default=default
    )


def _said_by(field: Any) -> Any:
    """Return the metadata of a field without its default.

    That is its description if the field has nothing else, so that types unknown to pydantic can be
    described, else the field.
    """
    if not field.metadata and all(getattr(field, name, None) is None for name in _FURTHER):
        return field.description
    said = copy(field)
    said.default, said.default_factory = type(field)().default, None
    return said
