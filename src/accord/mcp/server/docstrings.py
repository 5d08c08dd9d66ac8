"""What a docstring says about parameters, in the styles of Google, NumPy and Sphinx.

Args:                     Parameters                :param city: where to look
    city: where to look   ----------
                          city : str
                              where to look
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from msgspec import Struct

_GOOGLE: Final = re.compile(r"(Args|Arguments|Parameters|Params):")
_GOOGLE_ENTRY: Final = re.compile(r"\*{0,2}(?P<name>\w+)\s*(\([^)]*\))?\s*:\s*(?P<text>.*)")
_NUMPY: Final = re.compile(r"(Other )?Parameters")
_RULE: Final = re.compile(r"-{3,}\s*")
_NUMPY_ENTRY: Final = re.compile(r"\*{0,2}(?P<names>\w+(, ?\*{0,2}\w+)*)\s*(:.*)?")
_SPHINX: Final = re.compile(r":param\s+([^:]*\s)?\*{0,2}(?P<name>\w+)\s*:\s*(?P<text>.*)")


class Docstring(Struct, frozen=True):
    """A parsed docstring."""

    text: str
    """The text without the descriptions of parameters."""
    parameters: dict[str, str]


def read_docstring(doc: str, names: Collection[str]) -> Docstring:
    """Return the descriptions of the parameters `names` in `doc`.

    `doc` is the result of `inspect.getdoc`. If it describes other parameters too, its text is left
    unchanged, so nothing is lost.
    """
    lines = doc.split("\n")
    kept: list[str] = []
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
            kept.append(lines[place])
            place += 1
    known = {name: text for name, text in found.items() if name in names and text}
    if set(found) - set(names):
        return Docstring("\n".join(lines).strip(), known)
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(kept))
    return Docstring(text.strip(), known)


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
    """Return the line after the indented block that starts at `place`."""
    while place < len(lines) and (not lines[place].strip() or _indent(lines[place])):
        place += 1
    return place


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip()) if line.strip() else 0
