"""The arguments of an operation as a caller sent them: decoded, typed and complete.

Each operation has one argument type, made once, so that every adapter decodes, refuses and
describes its arguments alike. Values that no database can store are refused too, whatever the type
of a field allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import isfinite
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct, defstruct, field
from msgspec.structs import asdict

from accord.jsonrpc.methods.param_values import DuplicateMemberError, check_members
from accord.jsonrpc.methods.signature import Parameter
from accord.jsonrpc.protocol.codec import NestingError, check_nesting
from accord.operations.choices import MAX_REPEATED, Choices, choices_of, corrected
from accord.operations.errors import InvalidError, MalformedRequestError
from accord.operations.logs import masked
from accord.operations.operation import Operation

MAX_NAME: Final = 100
"""Errors that repeat the name of a parameter or field cut it to this length."""
MAX_MESSAGE: Final = 800
"""The number of characters kept at each end of a long error message of msgspec."""

_AT: Final = re.compile(r"(?P<what>.*?) - at `\$(?:\.\.\.)?\.?(?P<where>[^`]*)`", re.DOTALL)
_NAMED: Final = re.compile(
    r"Object (?:missing required|contains unknown) field `(?P<name>.*)`", re.DOTALL
)
_STEP: Final = re.compile(r"[.\[\]]+")
_CHOICE: Final = "Invalid enum value "
_INT64: Final = 2**63
_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode


class ArgumentSet:
    """The parameters of an operation, with a decoder and checks for their values.

    A set contains all parameters of an operation, or those in the body or the query of a route.
    """

    __slots__ = ("_choices", "_decode", "_parameters", "names", "type")

    def __init__(self, name: str, parameters: Iterable[Parameter]) -> None:
        self._parameters = tuple(parameters)
        self._choices: Choices | None = None
        fields: list[Any] = [
            (each.name, each.annotation)
            if each.required
            else (each.name, each.annotation, field(default=each.default))
            for each in self._parameters
        ]
        self.type = defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)
        self.names = frozenset(self.type.__struct_fields__)
        self._decode = msgspec.json.Decoder(self.type).decode

    def decode(self, body: bytes) -> dict[str, Any]:
        """Decode the arguments in a JSON object.

        Raises MalformedRequestError for invalid JSON, and InvalidError, which names the field, for
        invalid arguments.
        """
        try:
            if not body.isascii():
                body.decode()  # msgspec does not validate the UTF-8 of values that it skips
            check_nesting(body)
            check_once(body)
            values = asdict(self._decode(body))
        except msgspec.ValidationError as error:
            values = self._decode_again(body, _message_of(error))
        except NestingError as error:
            raise MalformedRequestError(f"what was sent is {error}") from None
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise MalformedRequestError("what was sent is not JSON") from None
        return _checked(values)

    def convert(self, values: Mapping[str, Any], *, from_text: bool = False) -> dict[str, Any]:
        """Convert values to arguments.

        With `from_text` the values are texts, which are parsed to the types of the parameters.
        Raises InvalidError, which names the field, for invalid arguments.
        """
        try:
            found = msgspec.convert(values, self.type, strict=not from_text)
        except msgspec.ValidationError as error:
            changed = self._corrected(values, _message_of(error), from_text=from_text)
            if not changed:
                raise self._refusal(_message_of(error)) from None
            try:
                found = msgspec.convert({**values, **changed}, self.type, strict=not from_text)
            except msgspec.ValidationError as other:
                raise self._refusal(_message_of(other)) from None
        return _checked(asdict(found))

    def _decode_again(self, body: bytes, message: str) -> dict[str, Any]:
        """Decode arguments that msgspec refused, after correcting choices.

        Only arguments with choices are examined. Raises InvalidError for arguments that are still
        invalid.
        """
        if not self._is_choice(message):
            raise self._refusal(message) from None
        members: dict[str, Any] = _members(body)
        candidates = {
            name: msgspec.json.decode(members[name])
            for name in self._all_choices().members
            if name in members
        }
        changed = self._corrected(candidates, message)
        if not changed:
            raise self._refusal(message) from None
        try:
            return asdict(self._decode(msgspec.json.encode({**members, **changed})))
        except msgspec.ValidationError as error:
            raise self._refusal(_message_of(error)) from None

    def _corrected(
        self, values: Mapping[str, Any], message: str, *, from_text: bool = False
    ) -> dict[str, Any]:
        """Return corrected values for arguments that spell a choice differently.

        Raises InvalidError for a value that is no choice.
        """
        if not self._is_choice(message):
            return {}
        known = self._all_choices()
        candidates = {name: values[name] for name in known.members if name in values}
        found = corrected(candidates, known, "", from_text=from_text)
        return {name: value for name, value in found.items() if value is not candidates[name]}

    def _is_choice(self, message: str) -> bool:
        """Return True if the message of msgspec is about an argument with choices."""
        place = _AT.fullmatch(message)
        steps = [step for step in _STEP.split(place["where"]) if step] if place else []
        return bool(steps) and steps[0] in self._all_choices().members

    def _all_choices(self) -> Choices:
        if self._choices is None:  # lazily: few operations are ever called with a wrong choice
            self._choices = choices_of((each.name, each.annotation) for each in self._parameters)
        return self._choices

    def _refusal(self, message: str) -> InvalidError:
        return _refusal(message, self.type.__struct_fields__)


def check_once(text: bytes, where: str = "") -> None:
    """Raise InvalidError for a duplicate member in an object of JSON.

    Parsers differ in which duplicate they use, so the audited or approved value might not be the
    one that takes effect. `where` names the argument that contains the JSON text. Errors of msgspec
    for invalid JSON are passed on.
    """
    try:
        check_members(text)
    except DuplicateMemberError as error:
        steps = [where] * bool(where) + [_step(masked(str(step))) for step in error.path]
        raise InvalidError("/".join(steps), "is given twice" if steps else str(error)) from None


def decode(operation: Operation, body: bytes) -> dict[str, Any]:
    """Decode all arguments in a JSON object; see `ArgumentSet.decode`."""
    return argument_set(operation).decode(body)


def convert(
    operation: Operation, values: Mapping[str, Any], *, from_text: bool = False
) -> dict[str, Any]:
    """Convert all arguments from values or words; see `ArgumentSet.convert`."""
    return argument_set(operation).convert(values, from_text=from_text)


@lru_cache(maxsize=1024)
def argument_set(operation: Operation) -> ArgumentSet:
    """Return the set of all arguments of an operation."""
    return ArgumentSet(f"{operation.name.title().replace('_', '')}Arguments", operation.parameters)


# Values that types allow and no database stores


def _checked(values: dict[str, Any]) -> dict[str, Any]:
    for name, value in values.items():
        if value.__class__ is str:
            if "\0" in value or not (value.isascii() or _is_text(value)):
                raise _unstorable(name)
        elif value is not None and value.__class__ is not bool:
            _check_inside(name, value)
    return values


def _check_inside(where: str, value: Any) -> None:
    """Raise InvalidError for a value that no database can store, also if it is nested."""
    if isinstance(value, str):
        if "\0" in value or not (value.isascii() or _is_text(value)):
            raise _unstorable(where)
    elif isinstance(value, int):
        if not -_INT64 <= value < _INT64:
            raise InvalidError(where, "is a number of more than 64 bits")
    elif isinstance(value, float):
        if not isfinite(value):
            raise InvalidError(where, "is not a finite number")
    else:
        _check_contents(where, value)


def _check_contents(where: str, value: Any) -> None:
    """Check the items of a container with `_check_inside`.

    Raises InvalidError for an item that no database can store.
    """
    if isinstance(value, list | tuple | set | frozenset):
        for index, each in enumerate(value):
            _check_inside(f"{where}/{index}", each)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            _check_inside(where, key)
            _check_inside(f"{where}/{_step(str(key))}", each)
    elif isinstance(value, Struct):
        for key in value.__struct_fields__:
            _check_inside(f"{where}/{key}", getattr(value, key))


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:  # a lone surrogate, as in arguments of the command line
        return False
    return True


def _unstorable(where: str) -> InvalidError:
    return InvalidError(where, "has a character that no text can have")


# Messages of msgspec, for people


def _message_of(error: msgspec.ValidationError) -> str:
    """Return an error message of msgspec, cut in the middle if it is long.

    The message may quote a name sent by the caller, of any length.
    """
    message = str(error)
    return (
        message
        if len(message) <= 2 * MAX_MESSAGE
        else f"{message[:MAX_MESSAGE]}…{message[-MAX_MESSAGE:]}"
    )


def _refusal(message: str, fields: Iterable[str]) -> InvalidError:
    """Return the InvalidError for an error message of msgspec.

    It names the field; for an unknown field it lists the valid `fields`.
    """
    place = _AT.fullmatch(message)
    what, where = (place["what"], place["where"]) if place else (message, "")
    steps = [step for step in _STEP.split(where) if step]
    named = _NAMED.fullmatch(what)
    if named is not None:
        there = "" if steps else f"; there are {', '.join(fields)}"
        steps.append(_step(masked(named["name"])))
        what = "is required" if "missing" in what else f"there is no such field{there}"
    elif what.startswith(_CHOICE):  # beyond the number of values that are corrected
        what = masked(what[: 4 * MAX_REPEATED])[: len(_CHOICE) + MAX_REPEATED]
    elif len(what) > 4 * MAX_NAME:  # a name chosen by the caller that looks like a path
        what = masked(what)[:MAX_NAME]
    return InvalidError("/".join(steps), what[:1].lower() + what[1:])


def _step(name: str) -> str:
    """Escape one step of a JSON pointer (RFC 6901, section 3)."""
    return name[:MAX_NAME].replace("~", "~0").replace("/", "~1")
