"""Parameters of functions: descriptions, defaults, schemas, and arguments given as text.

Descriptions are read from docstrings in the styles of Google, NumPy and Sphinx:

    Args:                     Parameters                :param city: where to look
        city: where to look   ----------
                              city
                                  where to look

Defaults may be pydantic's `Field(…)`, as in FastMCP; pydantic itself is not imported here.
Arguments of prompts and URI templates arrive as text: a parameter that takes strings gets the text
itself, any other parameter the text decoded as JSON.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from functools import wraps
from typing import Annotated, Any, Final, get_origin

import msgspec
from msgspec import UNSET, Struct

from accord.jsonrpc.methods.method import is_async
from accord.jsonrpc.methods.signature import Parameter, is_pydantic_field
from accord.jsonrpc.protocol.codec import decode_json
from accord.jsonrpc.protocol.errors import RegistrationError
from accord.jsonrpc.protocol.messages import encode
from accord.mcp.protocol.headers import parameter_headers
from accord.mcp.protocol.versions import Era
from accord.schema.bundle import Bundle
from accord.schema.schema import DEFINITIONS, Schema
from accord.schema.types import accepts

_GOOGLE: Final = re.compile(r"(Args|Arguments|Parameters|Params):")
_GOOGLE_ENTRY: Final = re.compile(r"\*{0,2}(?P<name>\w+)\s*(\([^)]*\))?\s*:\s*(?P<text>.*)")
_NUMPY: Final = re.compile(r"(Other )?Parameters")
_RULE: Final = re.compile(r"-{3,}\s*")
_NUMPY_ENTRY: Final = re.compile(r"\*{0,2}(?P<names>\w+(, ?\*{0,2}\w+)*)\s*(:.*)?")
_SPHINX: Final = re.compile(r":param\s+([^:]*\s)?\*{0,2}(?P<name>\w+)\s*:\s*(?P<text>.*)")


class ParsedDocstring(Struct, frozen=True):
    """A docstring, divided into its text and the descriptions of parameters."""

    text: str
    """The text without the descriptions of parameters."""
    parameters: dict[str, str]


def read_docstring(doc: str, names: Collection[str]) -> ParsedDocstring:
    """Divide a docstring into its text and the descriptions of parameters.

    `doc` is the result of `inspect.getdoc`. Only descriptions of the parameters `names` are
    returned. If the docstring describes others too, the text includes all descriptions, so that
    none is lost.
    """
    lines = doc.split("\n")
    text_lines: list[str] = []
    found: dict[str, str] = {}
    place = 0
    while place < len(lines):
        for section in (_google, _numpy, _sphinx):
            end, entries = section(lines, place)
            if entries:
                found.update(entries)
                place = end
                break
        else:
            text_lines.append(lines[place])
            place += 1
    known = {name: text for name, text in found.items() if name in names and text}
    if set(found) - set(names):
        return ParsedDocstring("\n".join(lines).strip(), known)
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(text_lines))
    return ParsedDocstring(text.strip(), known)


def _google(lines: Sequence[str], place: int) -> tuple[int, dict[str, str]]:
    if _GOOGLE.fullmatch(lines[place].rstrip()) is None:
        return place, {}
    end = _end_of_block(lines, place + 1)
    block = lines[place + 1 : end]
    least = min((_indent(line) for line in block if line.strip()), default=0)
    entries: dict[str, str] = {}
    name = ""
    for line in block:
        entry = _GOOGLE_ENTRY.fullmatch(line.strip()) if _indent(line) == least else None
        if entry is not None:
            name = entry["name"]
            entries[name] = entry["text"].strip()
        elif line.strip() and _indent(line) == least:
            return place, {}  # a sentence: this is no list of parameters
        elif name and line.strip():
            entries[name] = f"{entries[name]} {line.strip()}".strip()
    return end, entries


def _numpy(lines: Sequence[str], place: int) -> tuple[int, dict[str, str]]:
    ruled = place + 1 < len(lines) and _RULE.fullmatch(lines[place + 1])
    if not ruled or _NUMPY.fullmatch(lines[place].strip()) is None:
        return place, {}
    entries: dict[str, str] = {}
    names: list[str] = []
    place += 2
    while place < len(lines):
        line = lines[place]
        if place + 1 < len(lines) and _RULE.fullmatch(lines[place + 1]):
            break  # the next section
        if line.strip() and not _indent(line):
            entry = _NUMPY_ENTRY.fullmatch(line.strip())
            if entry is None:
                break
            names = [name.strip(" *") for name in entry["names"].split(",")]
            entries.update(dict.fromkeys(names, ""))
        for name in names if _indent(line) else ():
            entries[name] = f"{entries[name]} {line.strip()}".strip()
        place += 1
    return place, entries


def _sphinx(lines: Sequence[str], place: int) -> tuple[int, dict[str, str]]:
    entry = _SPHINX.fullmatch(lines[place].strip())
    if entry is None:
        return place, {}
    text = [entry["text"].strip()]
    place += 1
    while place < len(lines) and lines[place].strip() and _indent(lines[place]):
        text.append(lines[place].strip())
        place += 1
    return place, {entry["name"]: " ".join(text).strip()}


def _end_of_block(lines: Sequence[str], place: int) -> int:
    """Return the index of the line after the indented block that starts at `place`."""
    while place < len(lines) and (not lines[place].strip() or _indent(lines[place])):
        place += 1
    return place


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip()) if line.strip() else 0


_FURTHER: Final = ("title", "examples", "json_schema_extra", "deprecated", "discriminator")
"""Attributes of a pydantic field that need it as a whole, as constraints do. A field with none of
them is replaced by its description."""
_BY_NAME: Final = (
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)


def with_field_defaults(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that its pydantic `Field(…)` defaults are plain defaults.

    A function without such defaults is returned unchanged.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return function  # the reader of the signature reports the error
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
        kind = inspect.Parameter.KEYWORD_ONLY  # allows required parameters after optional ones
    field = fields.get(parameter.name)
    if field is None:
        return parameter.replace(kind=kind)
    annotation = Any if parameter.annotation is parameter.empty else parameter.annotation
    default: Any = parameter.empty
    if not field.is_required():
        # A factory makes a new value each time, so the schema shows no default.
        default = UNSET if field.default_factory is not None else field.default
    constraints = _annotation_of_field(field)
    return parameter.replace(
        kind=kind,
        annotation=Annotated[annotation, constraints] if constraints else annotation,
        default=default,
    )


def _annotation_of_field(field: Any) -> Any:
    """Return the metadata of a pydantic field, without its default.

    A field with only a description is reduced to that text, so that types unknown to pydantic can
    be described too. Any other field is copied without its default.
    """
    if not field.metadata and all(getattr(field, name, None) is None for name in _FURTHER):
        return field.description
    constraints = copy(field)
    constraints.default, constraints.default_factory = type(field)().default, None
    return constraints


class TextArguments:
    """A converter of arguments given as text to a JSON object."""

    def __init__(self, parameters: tuple[Parameter, ...]) -> None:
        self._as_json = frozenset(
            each.name
            for each in parameters
            if each.kind != "var_keyword" and not _takes_text(accepts(each.annotation))
        )

    def encode(self, texts: Mapping[str, Any]) -> bytes:
        """Return the arguments as the JSON object that `Handler.bind` takes."""
        if self._as_json.isdisjoint(texts):
            return encode(texts)
        return encode({name: self._value(name, text) for name, text in texts.items()})

    def _value(self, name: str, text: Any) -> Any:
        if name not in self._as_json or not isinstance(text, str):
            return text
        try:
            return decode_json(text)
        except msgspec.DecodeError:
            return text  # and let it be refused as the string that it is


def _takes_text(schema: Schema) -> bool:
    return _allows(schema.value, schema.definitions, 0)


def _allows(value: Any, definitions: Mapping[str, Any], depth: int) -> bool:
    if not isinstance(value, dict) or depth > 16:
        return True
    if "$ref" in value:
        target = definitions.get(value["$ref"].removeprefix(DEFINITIONS), True)
        return _allows(target, definitions, depth + 1)
    for choice in ("anyOf", "oneOf"):
        if choice in value:
            return any(_allows(each, definitions, depth + 1) for each in value[choice])
    if "enum" in value:
        return any(isinstance(each, str) for each in value["enum"])
    kinds = value.get("type", "string")
    return "string" in ([kinds] if isinstance(kinds, str) else kinds)


def input_schema(
    parameters: tuple[Parameter, ...], described: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of an object with these parameters as members.

    `described` has descriptions from the function's docstring, by parameter. They are used for
    parameters whose annotations have no description.
    """
    bundle = Bundle(refs="#/$defs/", dialect="2020-12")
    properties: dict[str, Any] = {}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    required = []
    others: Any = False
    for parameter in parameters:
        value = bundle.add(accepts(parameter.annotation))
        if parameter.kind == "var_keyword":
            others = value
            continue
        description = (described or {}).get(parameter.name, "")
        properties[parameter.name] = _described(value, parameter, description)
        if parameter.required:
            required.append(parameter.name)
    if required:
        schema["required"] = required
    schema["additionalProperties"] = others
    if bundle.definitions:
        schema["$defs"] = bundle.definitions
    return checked_input(schema)


def checked_input(schema: dict[str, Any]) -> dict[str, Any]:
    """Return `schema` if it is valid as a tool's input schema.

    Raises RegistrationError if its type is not `object`, or if it declares headers for parameters
    (`Mcp-Param-…`) that are not allowed.
    """
    if schema.get("type") != "object":
        # 2026-07-28, tools: the root of an input schema is of type object.
        raise RegistrationError("an input schema must have type 'object'")
    try:
        parameter_headers(schema)
    except ValueError as error:
        raise RegistrationError(str(error)) from error
    return schema


def output_schema(schema: Schema | None, era: Era, *, is_object: bool) -> dict[str, Any] | None:
    """Return a tool's output schema in the form that clients of an era accept.

    Clients of the handshake era accept only objects: for them the schema of another value becomes
    that of an object with the member `result`. Return None if `schema` is None.
    """
    if schema is None:
        return None
    bundle = Bundle(refs="#/$defs/", dialect="2020-12")
    value = bundle.add(schema)
    described: dict[str, Any]
    if era is Era.STATELESS:
        described = dict(value) if isinstance(value, dict) else {}
    elif is_object:
        described = _as_object(value, bundle)
    else:
        described = {"type": "object", "properties": {"result": value}, "required": ["result"]}
    if bundle.definitions:
        described["$defs"] = bundle.definitions
    return described


def description_of(annotation: Any) -> str:
    """Return the text in `Annotated[…, "text"]`; empty without one."""
    if get_origin(annotation) is not Annotated:
        return ""
    return next((it for it in annotation.__metadata__ if isinstance(it, str)), "")


def _as_object(value: dict[str, Any], bundle: Bundle) -> dict[str, Any]:
    """Return the schema of an object without a reference at its root.

    The reference is replaced by its target, because clients of the handshake era require `type` at
    the root.
    """
    found = value
    while set(found) == {"$ref"}:
        found = bundle.definitions[found["$ref"].removeprefix("#/$defs/")]
    return dict(found)


def _described(value: Any, parameter: Parameter, otherwise: str) -> Any:
    """Return the schema of a parameter, with its description and its default."""
    if not isinstance(value, dict):
        return value
    description = description_of(parameter.annotation) or otherwise
    if description and "description" not in value:
        value = {**value, "description": description}
    if parameter.required or parameter.default is UNSET:
        return value
    try:
        return {**value, "default": msgspec.json.decode(encode(parameter.default))}
    except Exception:  # noqa: BLE001 - whatever a foreign object's encoder raises
        return value
