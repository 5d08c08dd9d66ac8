"""The schemas of annotations: what a parameter takes, and what a result looks like.

Each annotation is described by the library that reads its values, which is chosen exactly
as the router chooses it.
"""

from __future__ import annotations

from types import NoneType
from typing import Any

from accord.jsonrpc.msgspec_types import MsgspecType
from accord.jsonrpc.parameter_types import choose_type
from accord.jsonrpc.parameters import Parameter
from accord.schema.msgspec_schema import describe
from accord.schema.schema import ANYTHING, Schema


def accepts(annotation: Any) -> Schema:
    """What a parameter of that annotation takes.

    Raises `RegistrationError` for an annotation that no parameter can have.
    """
    parameter = Parameter("value", annotation, "positional_or_keyword", True)
    if isinstance(choose_type(parameter), MsgspecType):
        return describe(annotation, "Input", _unknown)
    from accord.schema.pydantic_schema import describe_by_pydantic

    return describe_by_pydantic(annotation, "Input")


def returns(annotation: Any) -> Schema:
    """What a result of that annotation looks like as JSON; anything where none can tell.

    The router does not check results, so there is no annotation that is refused.
    """
    if annotation is None or annotation is NoneType:
        return Schema({"type": "null"}, role="Output")
    try:
        return describe(annotation, "Output", _foreign)
    except (TypeError, NameError, RecursionError):
        return _foreign(annotation)


def _foreign(annotation: Any) -> Schema:
    """The schema of what only pydantic knows."""
    try:
        from accord.schema.pydantic_schema import describe_by_pydantic

        return describe_by_pydantic(annotation, "Output")
    except Exception:  # pydantic is not there, or does not know it either
        return ANYTHING


def _unknown(cls: type) -> Schema:
    return ANYTHING
