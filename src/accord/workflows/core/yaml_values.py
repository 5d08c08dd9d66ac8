"""A YAML reader that returns JSON values, by the core schema of YAML 1.2.

Words such as `on` and `no`, times, and all keys are read as texts. Aliases, tags and multiple
documents are rejected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from accord.workflows.core.errors import MAX_VALUE_DEPTH, DefinitionError, Problem

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# YAML 1.2.2, section 10.3.2: tag resolution of the core schema.
_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE: Final = frozenset({"true", "True", "TRUE"})
_FALSE: Final = frozenset({"false", "False", "FALSE"})
_INT: Final = re.compile(r"[-+]?[0-9]{1,30}")
_BASED: Final = re.compile(r"0o[0-7]{1,30}|0x[0-9a-fA-F]{1,30}")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,4})?")


def read_yaml(text: str) -> Any:
    """Read a YAML text as a JSON value. Raise DefinitionError if it is invalid."""
    try:
        events = yaml.parse(text, Loader=_LOADER)
        return _YamlReader(events).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise _refused(error.problem or "it cannot be read", mark) from error
    except yaml.YAMLError as error:
        raise _refused("it has characters that YAML does not allow", None) from error


def _refused(message: str, mark: Any, hint: str = "") -> DefinitionError:
    where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "the text"
    return DefinitionError([Problem(where, f"this is no YAML that is read here: {message}", hint)])


class _YamlReader:
    """A converter of YAML parser events to a JSON value."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events

    def document(self) -> Any:
        value, seen = None, False
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                if seen:
                    raise _refused("it has several documents", event.start_mark)
                seen = True
                value = self._node(next(self._events), 0)
        return value

    def _node(self, event: Any, depth: int) -> Any:
        if isinstance(event, yaml.AliasEvent):
            raise _refused("aliases are not read", event.start_mark, "write the value itself")
        if event.tag is not None and event.tag != "!":
            raise _refused(f"tags like {event.tag[:40]!r} are not read", event.start_mark)
        if depth > MAX_VALUE_DEPTH:
            raise _refused(f"it is nested deeper than {MAX_VALUE_DEPTH}", event.start_mark)
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event.value) if event.implicit[0] else event.value
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(depth)
        return self._mapping(depth)

    def _sequence(self, depth: int) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._node(event, depth + 1))
        return items

    def _mapping(self, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise _refused("a key is no text", event.start_mark)
            if event.value in members:
                raise _refused(f"the key {event.value[:40]!r} is there twice", event.start_mark)
            members[event.value] = self._node(next(self._events), depth + 1)
        return members


def _scalar(text: str) -> Any:
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INT.fullmatch(text):
        return int(text)
    if _BASED.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text
