"""How the value of one parameter is decoded: by msgspec where it can, else by pydantic.

The choice is made once, when a method is registered. What neither of the two can decode,
and constraints that the chosen one would ignore, are refused then.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec
import msgspec.inspect

from accord.jsonrpc.annotations import is_pydantic_field, survey
from accord.jsonrpc.errors import RegistrationError
from accord.jsonrpc.msgspec_types import Json, MsgspecType
from accord.jsonrpc.parameters import Parameter


class ParameterType(Protocol):
    """Decodes what callers give for one parameter."""

    annotation: Any

    def decode(self, data: Json, name: str, path: str) -> Any:
        """The value. Raises `ValueRefusedError` with problems under `path` of `name`."""


def choose_type(parameter: Parameter) -> ParameterType:
    """The type that decodes `parameter`. Raises `RegistrationError` when there is none."""
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
    """Why msgspec cannot decode `annotation`; empty when it can."""
    try:
        msgspec.json.Decoder(annotation)
        custom = _custom_class(msgspec.inspect.type_info(annotation))
    except TypeError as error:
        return str(error)
    # msgspec takes any class as a type and then accepts its instances only, which JSON has none of.
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
        from accord.jsonrpc.pydantic_types import PydanticType
    except ImportError as error:
        raise RegistrationError(
            f"{obstacle}, and pydantic is not installed: install accord[pydantic], or "
            "declare the parameter with msgspec's types and constraints"
        ) from error
    return PydanticType(annotation, obstacle)
