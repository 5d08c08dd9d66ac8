"""On which line of a text a place of its definition is, such as `steps[1].timeout`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

_LINE: Final = re.compile(r"line (\d{1,7}), column")
_STEP: Final = re.compile(r"[^.\[\]]+")
MAX_DEPTH: Final = 100
_LEVELS: Final = {
    "SequenceStartEvent": 1,
    "MappingStartEvent": 1,
    "SequenceEndEvent": -1,
    "MappingEndEvent": -1,
}


def line_of(text: str, paths: Sequence[str]) -> list[int | None]:
    """The lines of some places, counted from 1: of the nearest thing around a place that is not
    there. None where the text cannot be read."""
    root = _composed(text)
    return [_said(path) or (None if root is None else _line(root, path)) for path in paths]


def _said(path: str) -> int | None:
    """A place that is a line already, as that of a fault of YAML."""
    found = _LINE.match(path)
    return int(found[1]) if found else None


def _composed(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        return None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        if _is_deep(yaml.parse(text, Loader=loader)):
            return None
        return yaml.compose(text, Loader=loader)
    except yaml.YAMLError:
        return None


def _is_deep(events: Iterable[Any]) -> bool:
    """Whether lists and objects nest deeper than `MAX_DEPTH`. libyaml builds nodes recursively
    and knows no limit: a text of 50,000 brackets would overflow the stack of the process."""
    depth = 0
    for event in events:
        depth += _LEVELS.get(type(event).__name__, 0)
        if depth > MAX_DEPTH:
            return True
    return False


def _line(node: Any, path: str) -> int:
    line: int = node.start_mark.line
    for step in _STEP.findall(path)[:MAX_DEPTH]:
        members = node.value
        if node.id == "mapping":
            found = next((pair for pair in members if pair[0].value == step), None)
            if found is None:
                break
            line, node = found[0].start_mark.line, found[1]
        elif node.id == "sequence" and step.isdigit() and int(step) < len(members):
            node = members[int(step)]
            line = node.start_mark.line
        else:
            break
    return line + 1
