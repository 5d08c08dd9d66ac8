"""Transcripts of calls of agents, as readable text files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msgspec import Struct

from accord.a2a.protocol.fields import Wire

HERE = Path(__file__).parent
_MARKS = {"input": "input", "-->": "sent", "<--": "answer", "=": "meant"}


class Scene(Struct, frozen=True, kw_only=True):
    """One call: what is in it depends on what it shows."""

    title: str
    wire: Wire
    parts: dict[str, Any]


def scenes(wire: Wire) -> list[Scene]:
    text = (HERE / f"{wire.value}.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return [_read(wire, block) for block in "\n".join(lines).split("\n\n") if block.strip()]


def _read(wire: Wire, block: str) -> Scene:
    title, *lines = block.strip().splitlines()
    parts: dict[str, str] = {}
    part = ""
    for line in lines:
        mark, _, rest = line.partition(" ")
        if mark in _MARKS:
            part, line = _MARKS[mark], rest
        parts[part] = parts.get(part, "") + line.strip() + " "
    return Scene(title=title, wire=wire, parts={name: json.loads(it) for name, it in parts.items()})
