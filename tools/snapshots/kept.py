"""The snapshot files: how they are written, and compared with what the code says now."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path
from typing import Any, Final

import msgspec

import accord

FOLDER: Final = Path(__file__).parents[2] / "tests" / "snapshots"
COMMAND: Final = "make snapshots"
WIDTH: Final = 100
"""Columns up to which a JSON value stays on one line."""
VERSION: Final = "VERSION"
"""Stands for the version of Accord, which every release changes."""


def difference(file: str, now: str) -> str:
    """Return how a snapshot differs from `now`, as a diff; nothing if it does not."""
    path = FOLDER / file
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if before == now:
        return ""
    lines = unified_diff(
        before.splitlines(),
        now.splitlines(),
        f"tests/snapshots/{file} (committed)",
        f"{file} (what the code says now)",
        lineterm="",
        n=2,
    )
    return "\n".join(lines)


def write(file: str, text: str) -> bool:
    """Write a snapshot, and return whether that changed it."""
    path = FOLDER / file
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True


def as_json(value: Any) -> str:
    """Return JSON with a line for each value that fits on one, members in the order they have."""
    data = msgspec.to_builtins(value)
    return without_version("\n".join(_lines(data, "", ""))) + "\n"


def as_sorted_json(value: Any) -> str:
    """Return JSON like `as_json`, with members sorted by name."""
    return as_json(msgspec.json.decode(msgspec.json.encode(value, order="sorted")))


def without_version(text: str) -> str:
    """Return JSON without the version of Accord."""
    return text.replace(f'"{accord.__version__}"', f'"{VERSION}"')


def on_one_line(value: Any) -> str:
    """Return JSON on one line, with a space after colons and commas."""
    if isinstance(value, dict):
        members = ", ".join(f"{on_one_line(name)}: {on_one_line(it)}" for name, it in value.items())
        return f"{{{members}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(on_one_line, value))}]"
    return msgspec.json.encode(value).decode()


def _lines(value: Any, indent: str, name: str) -> list[str]:
    """A value after its `name`, which is a member's or empty, without a comma after it."""
    short = f"{indent}{name}{on_one_line(value)}"
    if len(short) <= WIDTH or not isinstance(value, dict | list) or not value:
        return [short]
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    inner = f"{indent}  "
    if isinstance(value, dict):
        members = [_lines(each, inner, f"{on_one_line(key)}: ") for key, each in value.items()]
    else:
        members = [_lines(each, inner, "") for each in value]
    for member in members[:-1]:
        member[-1] += ","
    return [
        f"{indent}{name}{opening}",
        *(line for each in members for line in each),
        indent + closing,
    ]
