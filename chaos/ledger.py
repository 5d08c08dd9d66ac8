"""The agent's ledger, as whoever judges reads it: line by line, while the agent writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct, json

EntryKind: TypeAlias = Literal[
    "started", "received", "repeated", "effect", "failed", "cancelled", "told", "unknown"
]


class Entry(Struct, frozen=True, kw_only=True):
    """One line."""

    kind: EntryKind
    at: float
    message: str = ""
    request: str = ""
    task: str = ""
    text: str = ""
    delay: float = 0.0
    fails: int = 0
    forgets: bool = False


_DECODER: json.Decoder[Entry] = json.Decoder(Entry)


class Ledger:
    """All lines of a file so far. A line counts as soon as its end is there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self.entries: list[Entry] = []

    def read(self) -> Sequence[Entry]:
        """What was added since the last time."""
        if not self._path.exists():
            return ()
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        added = [_DECODER.decode(line) for line in whole.splitlines()]
        self.entries += added
        return added
