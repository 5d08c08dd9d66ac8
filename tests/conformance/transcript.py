"""Transcripts of exchanges between a client and a server, as readable text files."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct


class Exchange(Struct, frozen=True):
    """What is sent, and what comes back: None if nothing does."""

    title: str
    sent: str
    answer: str | None


def read_transcript(path: Path) -> list[Exchange]:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return [_read_exchange(block) for block in "\n".join(lines).split("\n\n") if block.strip()]


def _read_exchange(block: str) -> Exchange:
    title, *lines = block.strip().splitlines()
    parts: dict[str, list[str]] = {"-->": [], "<--": []}
    arrow = ""
    for line in lines:
        if line[:3] in parts:
            arrow, line = line[:3], line[3:]
        parts[arrow].append(line.strip())
    # On one line: framing by newlines has no room for others.
    sent, answer = (" ".join(parts[arrow]) for arrow in ("-->", "<--"))
    return Exchange(title, sent, answer or None)
