"""Writers that remember what was acknowledged to them, and look whether it is there."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, Final

from accord.store import Store
from tests.hub.races.line import Line, unique

GONE: Final = (OSError, EOFError)
"""What a connection says whose server is gone."""

EPICS: Final = "SELECT id, reference_id, title FROM items WHERE kind = 'epic'"
STORIES: Final = (
    "SELECT parent_id, COUNT(*) AS total FROM items WHERE kind = 'user_story' GROUP BY 1"
)
COMMENTS: Final = "SELECT target_id, COUNT(*) AS total FROM comments GROUP BY 1"
ON_RECORD: Final = """
SELECT correlation_id FROM audit_records WHERE outcome = 'done' AND change_id <> ''
"""
SET: Final = "set"
"""How the titles of epics begin that have a story and a comment, made with them."""


class Writers:
    """What several writers did."""

    def __init__(self) -> None:
        self.acknowledged: dict[str, str] = {}
        """Titles, by the correlation ids of the requests."""
        self.references: dict[str, str] = {}
        """By title."""
        self.statuses: Counter[int] = Counter()
        self.over = False
        self._waiting: list[tuple[int, asyncio.Event]] = []

    async def write(self, line: Line) -> None:
        """Write until told to stop, or until the server is gone; where only the connection is,
        another one is made."""
        while not self.over:
            try:
                await self._write_one(line)
            except GONE:
                await line.close()
                if not await _connects(line):
                    return

    async def acknowledgements(self, further: int) -> None:
        """Until there are so many more."""
        event = asyncio.Event()
        self._waiting.append((len(self.acknowledged) + further, event))
        await event.wait()

    async def _write_one(self, line: Line) -> None:
        correlation = unique("write")
        is_set = int(correlation.rpartition("-")[2]) % 3 == 0
        title = unique(SET if is_set else "single")
        path, body = ("/changes", _set(title)) if is_set else ("/epics", {"title": title})
        answer = await line.ask("POST", path, body, x_correlation_id=correlation)
        self.statuses[answer.status] += 1
        if answer.status not in (200, 201):
            await asyncio.sleep(0.01)  # who is told that it is not available does not hammer
            return
        made = answer.json["results"][0]["result"] if is_set else answer.json
        self.acknowledged[correlation] = title
        self.references[title] = made["reference_id"]
        for count, event in self._waiting:
            if len(self.acknowledged) >= count:
                event.set()

    async def check(self, store: Store) -> None:
        """All that was acknowledged is there and on record, and no set is there by half."""
        epics = {row["title"]: row for row in await store.fetch(EPICS)}
        found = {title: row["reference_id"] for title, row in epics.items()}
        assert {title: found.get(title) for title in self.references} == self.references
        numbers = sorted(int(name.removeprefix("EP-")) for name in found.values())
        assert numbers == list(range(1, len(numbers) + 1))
        stories = {row["parent_id"]: row["total"] for row in await store.fetch(STORIES)}
        comments = {row["target_id"]: row["total"] for row in await store.fetch(COMMENTS)}
        sets = [row["id"] for title, row in epics.items() if title.startswith(SET)]
        assert stories == comments == dict.fromkeys(sets, 1)
        on_record = {row["correlation_id"] for row in await store.fetch(ON_RECORD)}
        assert set(self.acknowledged) - on_record == set()


async def _connects(line: Line) -> bool:
    try:
        await line.connect()
    except OSError:
        return False
    return True


def _set(title: str) -> dict[str, Any]:
    epic = {"operation": "create_epic", "arguments": {"title": title}}
    story = {"operation": "create_user_story", "arguments": {"epic_id": "$1.id", "title": "s"}}
    comment = {"operation": "add_comment", "arguments": {"target_id": "$1.id", "text": "c"}}
    return {"steps": [epic, story, comment]}
