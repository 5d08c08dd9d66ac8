"""Parameter types that pydantic decodes.

The only module of `accord.jsonrpc` that imports pydantic: imported when a parameter needs it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError

from accord.jsonrpc.methods.param_values import (
    MAX_PROBLEMS,
    REFUSALS,
    Json,
    ParamsProblem,
    ValueRefusedError,
    expected,
    json_kind,
    undecodable,
)
from accord.jsonrpc.protocol.errors import RegistrationError

_SHOULD_BE = "Input should be "
_MAX_LISTED = 1_000
"""Maximum number of faults to list: pydantic takes a second and 300 MB to list half a million."""


class PydanticType:
    """A decoder of the values of one parameter by pydantic, in strict mode: `"1"` is no int."""

    def __init__(self, annotation: Any, obstacle: str) -> None:
        self.annotation = annotation
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(annotation)
            self._adapter.rebuild(raise_errors=True)
        except (PydanticUserError, PydanticUndefinedAnnotation, TypeError) as error:
            why = re.split(r"\.\s|\n", str(error))[0]
            raise RegistrationError(f"{obstacle}, and pydantic fails: {why}") from error

    def decode(self, data: Json, name: str, path: str) -> Any:
        try:
            # Parse with msgspec: pydantic's own parser accepts what is refused in every other
            # parameter, such as 1e999.
            msgspec.json.decode(data)
        except REFUSALS as error:
            noun = expected(self.annotation)
            raise ValueRefusedError([undecodable(name, path, noun, error)]) from None
        try:
            return self._adapter.validate_json(bytes(data), strict=True)
        except ValidationError as error:
            problems = self._problems(error, name, path)
        raise ValueRefusedError(problems)

    def _problems(self, error: ValidationError, name: str, path: str) -> list[ParamsProblem]:
        count = error.error_count()
        if count > _MAX_LISTED:
            text = f"{count:,} faults, too many to list"
            return [ParamsProblem(name, path, expected(self.annotation), f"{count:,} faults", text)]
        faults = error.errors(include_url=False, include_context=False)[:MAX_PROBLEMS]
        return [_problem(fault, name, path) for fault in faults]


def _problem(fault: Mapping[str, Any], name: str, path: str) -> ParamsProblem:
    path += "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in fault["loc"])
    message: str = fault["msg"]
    if fault["type"] == "missing":
        return ParamsProblem(name, path, "a value", "nothing")
    if message.startswith(_SHOULD_BE):
        return ParamsProblem(
            name, path, message.removeprefix(_SHOULD_BE), json_kind(fault["input"])
        )
    return ParamsProblem(name, path, message, json_kind(fault["input"]), message)
