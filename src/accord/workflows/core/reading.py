"""Reads definitions, reporting all their problems, and encodes them.

In JSON, a plugin step has the plugin's name as its `type`. In memory, all plugin steps share the
struct PluginStep, which has a fixed tag.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal, TypeAlias

from msgspec import DecodeError, ValidationError, convert, json

from accord.jsonrpc.protocol.codec import NestingError, decode_json
from accord.workflows.core.definition import Definition, PluginStep
from accord.workflows.core.definition_fields import TYPES, Shape
from accord.workflows.core.errors import (
    MAX_DEFINITION_BYTES,
    MAX_PROBLEMS,
    MAX_VALUE_DEPTH,
    DefinitionError,
    Problem,
)
from accord.workflows.core.rules import Known, find_problems

_TAG: Final = PluginStep.__struct_config__.tag
_TAGGED: Final = f'"type":"{_TAG}"'.encode()
_LISTS: Final = ("steps", "then", "else", "default", "body", "on_error")
_NAMED_LISTS: Final = ("branches", "cases")

_DECODER: json.Decoder[Definition] = json.Decoder(Definition)


def encode_definition(definition: Definition) -> str:
    """Encode a definition as JSON."""
    text = json.encode(definition)
    if _TAGGED not in text:
        return text.decode()
    value = json.decode(text)
    for step in _steps(value):
        if step["type"] == _TAG:
            step["type"] = step.pop("plugin")
    return json.encode(value).decode()


def decode_definition(text: str) -> Definition:
    """Decode a stored definition, which was validated when it was saved."""
    try:
        return _DECODER.decode(text)
    except ValidationError:  # probably the step type of a plugin
        value = json.decode(text)
    for step in _steps(value):
        if step["type"] not in TYPES:
            step["plugin"], step["type"] = step["type"], _TAG
    return convert(value, Definition)


def definition_of(value: dict[str, Any]) -> Definition:
    """Convert a stored definition, given as a JSON value, like `decode_definition`."""
    return decode_definition(json.encode(value).decode())


def _steps(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield all steps inside a definition or a step, at any depth."""
    lists = [value.get(name) for name in _LISTS]
    for name in _NAMED_LISTS:
        lists += (value.get(name) or {}).values()
    for steps in lists:
        for step in steps if isinstance(steps, list) else ():
            yield step
            yield from _steps(step)


Format: TypeAlias = Literal["json", "yaml"]

TOO_DEEP: Final = f"it is nested deeper than {MAX_VALUE_DEPTH}"

_NOTHING_KNOWN: Final = Known()


def read_text(text: str | bytes, format: Format, known: Known = _NOTHING_KNOWN) -> Definition:
    """Read a definition from text. Raise DefinitionError, which lists all problems.

    YAML needs PyYAML, which `accord[workflows]` installs. Without PyYAML, the format "yaml" accepts
    only JSON, and other text raises ModuleNotFoundError.
    """
    data = text.encode() if isinstance(text, str) else text
    if len(data) > MAX_DEFINITION_BYTES:
        raise _refused(
            f"a definition of {len(data):,} bytes is over the limit of {MAX_DEFINITION_BYTES:,}"
        )
    return read_definition(_json(data) if format == "json" else _yaml(data), known)


def read_definition(value: Any, known: Known = _NOTHING_KNOWN) -> Definition:
    """Read a definition from a JSON value. Raise DefinitionError, which lists all problems."""
    definition, problems = examine(value, known)
    if problems or definition is None:
        raise DefinitionError(problems)
    return definition


def examine(
    value: Any, known: Known = _NOTHING_KNOWN
) -> tuple[Definition | None, tuple[Problem, ...]]:
    """Return a definition, as far as it can be read, and its problems.

    The definition is None if `value` is not an object or is nested too deeply. A definition with
    problems must not be used.
    """
    if _is_too_deep(value):
        return None, (Problem("definition", TOO_DEEP),)
    shape = Shape(known.steps)
    definition = shape.definition(value)
    problems = list(shape.problems)
    if definition is not None:
        mentioned = frozenset(_mentioned(value)) if problems else frozenset()
        problems.extend(find_problems(definition, known, mentioned))
    if len(problems) > MAX_PROBLEMS:
        left = len(problems) - MAX_PROBLEMS
        problems = [*problems[:MAX_PROBLEMS], Problem("definition", f"and {left:,} problems more")]
    return definition, tuple(problems)


def _json(data: bytes) -> Any:
    try:
        # One level more: `examine` counts the depth of values, which the codec does not.
        return decode_json(data, max_depth=MAX_VALUE_DEPTH + 1)
    except NestingError as error:
        raise _refused(TOO_DEEP) from error
    except DecodeError as error:
        raise _refused(f"this is no JSON: {str(error)[:200]}") from error


def _yaml(data: bytes) -> Any:
    try:
        from accord.workflows.core.yaml_values import read_yaml
    except ModuleNotFoundError as missing:  # PyYAML comes with an extra; JSON is YAML, too
        try:
            return _json(data)
        except DefinitionError:
            raise missing from None
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise _refused("the text is not UTF-8") from error
    return read_yaml(text)


def _refused(message: str) -> DefinitionError:
    return DefinitionError([Problem("definition", message)])


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_VALUE_DEPTH + 1):
        level = [child for each in level for child in _inside(each)]
    return bool(level)


def _inside(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _mentioned(value: Any) -> Iterator[str]:
    """Yield the names of all steps in a definition, even in parts that cannot be read."""
    if isinstance(value, dict) and isinstance(name := value.get("name"), str):
        yield name
    for each in _inside(value):
        yield from _mentioned(each)
