"""The arguments of an operation, from what a caller sent: typed, complete, nothing unknown.

One type per operation is made once, so that every face decodes, refuses and describes the same.
What no database could keep is refused here too, whatever the type of a field says.
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

from accord.jsonrpc.duplicates import DuplicateMemberError, check_members
from accord.jsonrpc.nesting import NestingError, check_nesting
from accord.jsonrpc.parameters import Parameter
from accord.operations.choices import MAX_REPEATED, Choices, choices_of, corrected
from accord.operations.errors import InvalidError, MalformedError
from accord.operations.logs.redaction import masked
from accord.operations.operation import Operation

MAX_NAME: Final = 100
"""Most characters of a name that is said back to who sent it."""
MAX_SAID: Final = 800
"""How much is read of either end of a message of msgspec's."""

_AT: Final = re.compile(r"(?P<what>.*?) - at `\$(?:\.\.\.)?\.?(?P<where>[^`]*)`", re.DOTALL)
_NAMED: Final = re.compile(
    r"Object (?:missing required|contains unknown) field `(?P<name>.*)`", re.DOTALL
)
_STEP: Final = re.compile(r"[.\[\]]+")
_CHOICE: Final = "Invalid enum value "
_INT64: Final = 2**63
_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode


class Part:
    """Some arguments that come together: all of them, or those in a body or in a query."""

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
        """The arguments in a JSON object. Raises MalformedError for what is no JSON, and
        InvalidError, which names the field."""
        try:
            if not body.isascii():
                body.decode()  # msgspec does not look at what it skips
            check_nesting(body)
            check_once(body)
            values = asdict(self._decode(body))
        except msgspec.ValidationError as error:
            values = self._decode_again(body, _said(error))
        except NestingError as error:
            raise MalformedError(f"what was sent is {error}") from None
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise MalformedError("what was sent is not JSON") from None
        return _checked(values)

    def convert(self, values: Mapping[str, Any], *, from_text: bool = False) -> dict[str, Any]:
        """The arguments from values that were decoded already, or with `from_text` from words, as
        in a query. Raises InvalidError, which names the field."""
        try:
            found = msgspec.convert(values, self.type, strict=not from_text)
        except msgspec.ValidationError as error:
            changed = self._corrected(values, _said(error), from_text=from_text)
            if not changed:
                raise self._refusal(_said(error)) from None
            try:
                found = msgspec.convert({**values, **changed}, self.type, strict=not from_text)
            except msgspec.ValidationError as other:
                raise self._refusal(_said(other)) from None
        return _checked(asdict(found))

    def _decode_again(self, body: bytes, said: str) -> dict[str, Any]:
        """The arguments in a JSON object that msgspec refused, with choices as they are declared.
        Only arguments that have choices are looked at. Raises InvalidError."""
        if not self._is_choice(said):
            raise self._refusal(said) from None
        members: dict[str, Any] = _members(body)
        given = {
            name: msgspec.json.decode(members[name])
            for name in self._all_choices().members
            if name in members
        }
        changed = self._corrected(given, said)
        if not changed:
            raise self._refusal(said) from None
        try:
            return asdict(self._decode(msgspec.json.encode({**members, **changed})))
        except msgspec.ValidationError as error:
            raise self._refusal(_said(error)) from None

    def _corrected(
        self, values: Mapping[str, Any], said: str, *, from_text: bool = False
    ) -> dict[str, Any]:
        """The arguments whose choices were written in another way. Raises InvalidError."""
        if not self._is_choice(said):
            return {}
        known = self._all_choices()
        given = {name: values[name] for name in known.members if name in values}
        found = corrected(given, known, "", from_text=from_text)
        return {name: value for name, value in found.items() if value is not given[name]}

    def _is_choice(self, said: str) -> bool:
        """Whether what msgspec said is about an argument that has choices."""
        place = _AT.fullmatch(said)
        steps = [step for step in _STEP.split(place["where"]) if step] if place else []
        return bool(steps) and steps[0] in self._all_choices().members

    def _all_choices(self) -> Choices:
        if self._choices is None:  # few operations are ever called with a wrong one
            self._choices = choices_of((each.name, each.annotation) for each in self._parameters)
        return self._choices

    def _refusal(self, said: str) -> InvalidError:
        return _refusal(said, self.type.__struct_fields__)


def check_once(text: bytes, where: str = "") -> None:
    """Raise InvalidError for a member that stands twice in one object of JSON: what was audited
    or approved must be what is done, whichever of the two a reader takes.

    `where` names the argument that the text is. Raises what msgspec refuses, too.
    """
    try:
        check_members(text)
    except DuplicateMemberError as error:
        steps = [where] * bool(where) + [_step(masked(str(step))) for step in error.path]
        raise InvalidError("/".join(steps), "is given twice" if steps else str(error)) from None


def decode(operation: Operation, body: bytes) -> dict[str, Any]:
    """All arguments in a JSON object; see `Part.decode`."""
    return all_of(operation).decode(body)


def convert(
    operation: Operation, values: Mapping[str, Any], *, from_text: bool = False
) -> dict[str, Any]:
    """All arguments from values or words; see `Part.convert`."""
    return all_of(operation).convert(values, from_text=from_text)


def arguments_type(operation: Operation) -> type[Struct]:
    """What the arguments of an operation are, as one type."""
    return all_of(operation).type


@lru_cache(maxsize=1024)
def all_of(operation: Operation) -> Part:
    """All arguments of an operation."""
    return Part(f"{operation.name.title().replace('_', '')}Arguments", operation.parameters)


# What types let through and no database keeps


def _checked(values: dict[str, Any]) -> dict[str, Any]:
    for name, value in values.items():
        if value.__class__ is str:
            if "\0" in value or not (value.isascii() or _is_text(value)):
                raise _unkeepable(name)
        elif value is not None and value.__class__ is not bool:
            _check_inside(name, value)
    return values


def _check_inside(where: str, value: Any) -> None:
    """Raises InvalidError for a value that somewhere has what cannot be kept."""
    if isinstance(value, str):
        if "\0" in value or not (value.isascii() or _is_text(value)):
            raise _unkeepable(where)
    elif isinstance(value, int):
        if not -_INT64 <= value < _INT64:
            raise InvalidError(where, "is a number of more than 64 bits")
    elif isinstance(value, float):
        if not isfinite(value):
            raise InvalidError(where, "is not a finite number")
    elif isinstance(value, list | tuple | set | frozenset):
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
    except UnicodeEncodeError:  # half of a surrogate pair, as the command line may give
        return False
    return True


def _unkeepable(where: str) -> InvalidError:
    return InvalidError(where, "has a character that no text can have")


# What msgspec says, for people


def _said(error: msgspec.ValidationError) -> str:
    """The message of msgspec: its beginning and its end, as a caller's name may be in it."""
    said = str(error)
    return said if len(said) <= 2 * MAX_SAID else f"{said[:MAX_SAID]}…{said[-MAX_SAID:]}"


def _refusal(said: str, fields: Iterable[str]) -> InvalidError:
    """What msgspec said, with the field that it is about, and `fields` for one that is unknown."""
    place = _AT.fullmatch(said)
    what, where = (place["what"], place["where"]) if place else (said, "")
    steps = [step for step in _STEP.split(where) if step]
    named = _NAMED.fullmatch(what)
    if named is not None:
        there = "" if steps else f"; there are {', '.join(fields)}"
        steps.append(_step(masked(named["name"])))
        what = "is required" if "missing" in what else f"there is no such field{there}"
    elif what.startswith(_CHOICE):  # among more than are looked at again
        what = masked(what[: 4 * MAX_REPEATED])[: len(_CHOICE) + MAX_REPEATED]
    elif len(what) > 4 * MAX_NAME:  # a name of the caller's that reads like a place
        what = masked(what)[:MAX_NAME]
    return InvalidError("/".join(steps), what[:1].lower() + what[1:])


def _step(name: str) -> str:
    """One step of a JSON pointer (RFC 6901, section 3)."""
    return name[:MAX_NAME].replace("~", "~0").replace("/", "~1")
