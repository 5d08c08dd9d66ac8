"""What administrators can ask of the trail, on both engines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from accord.operations.arguments import convert
from accord.operations.audit.operations import ExportFormat, export_trail, operations
from accord.operations.audit.trail import AuditTrail
from accord.operations.context import SYSTEM
from accord.operations.errors import ForbiddenError, InvalidError
from accord.operations.pages import Page
from accord.operations.runner import Runner
from accord.store import Store, open_store
from tests.operations.audit.trails import KEY, record

DAY = "2026-11-{:02d}T09:30:00.000000Z"


class Asking:
    """An administrator, and a trail of five days."""

    def __init__(self, store: Store, trail: AuditTrail) -> None:
        self.store = store
        self.runner = Runner(operations, store, trail, services=(trail,))

    async def ask(self, name: str, /, *, role: Any = "Administrator", **arguments: Any) -> Any:
        found = self.runner.registry[name]
        caller = replace(SYSTEM, via="session", role=role)
        return (await self.runner.run(found, lambda: convert(found, arguments), caller)).result

    async def targets(self, **arguments: Any) -> list[str]:
        page: Page[Any] = await self.ask("list_audit_events", **arguments)
        assert page.total >= len(page.items)
        return [event.target for event in page.items]


@pytest.fixture
async def asking(migrated_url: str) -> AsyncIterator[Asking]:
    async with (
        open_store(migrated_url, durable=False) as store,
        AuditTrail(store, KEY) as trail,
    ):
        for day, (actor, target, outcome) in enumerate(
            [
                ("ada", "EP-001", "done"),
                ("uma", "REQ-1", "done"),
                ("ada", "REQ-1, REQ-10", "denied"),
                ("=cmd", "50%_", "refused"),
                ("otto", "REQ-10", "done"),
            ],
            1,
        ):
            trail.enqueue(record(time=DAY.format(day), actor=actor, target=target, outcome=outcome))
        await trail.flush()
        yield Asking(store, trail)


@pytest.mark.req("H-13", "H-17")
@pytest.mark.parametrize(
    ("filters", "targets"),
    [
        ({"limit": 2}, ["REQ-10", "50%_"]),
        ({"actor": "ada"}, ["REQ-1, REQ-10", "EP-001"]),
        ({"actor": "00000000-0000-4000-8000-000000000001", "limit": 1}, ["REQ-10"]),
        ({"outcome": "denied"}, ["REQ-1, REQ-10"]),
        ({"operation": "delete_epic"}, []),
        ({"target": "REQ-1"}, ["REQ-1, REQ-10", "REQ-1"]),
        ({"target": "REQ-10"}, ["REQ-10", "REQ-1, REQ-10"]),
        ({"target": "50%_"}, ["50%_"]),
        ({"target": "%"}, []),
        ({"since": "2026-11-04"}, ["REQ-10", "50%_"]),
        ({"since": "2026-11-02T09:30Z", "until": "2026-11-03T09:30:00Z"}, ["REQ-1"]),
        ({"until": "2026-11-01T09:30:00.000001Z"}, ["EP-001"]),
    ],
)
async def test_events_are_listed_newest_first_and_filtered(
    asking: Asking, filters: dict[str, Any], targets: list[str]
) -> None:
    assert await asking.targets(**{"until": "2026-11-10", **filters}) == targets


async def test_events_come_in_pages(asking: Asking) -> None:
    seen = []
    cursor = None
    while True:
        page = await asking.ask("list_audit_events", limit=2, cursor=cursor, until="2026-11-10")
        seen += [event.sequence for event in page.items]
        assert page.total == 5
        assert page.has_more == (page.next_cursor is not None)
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == [5, 4, 3, 2, 1]


@pytest.mark.parametrize(
    "arguments",
    [{"cursor": "x"}, {"since": "yesterday"}, {"limit": 0}, {"outcome": "fine"}, {"who": "x"}],
)
async def test_wrong_filters_are_refused_by_name(asking: Asking, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidError, match=next(iter(arguments))):
        await asking.ask("list_audit_events", **arguments)


async def test_only_administrators_may_ask(asking: Asking) -> None:
    for operation in operations:
        for role in ("User", "Commenter"):
            with pytest.raises(ForbiddenError):
                await asking.ask(operation.name, role=role)


async def test_the_trail_is_verified_on_request(asking: Asking) -> None:
    report = await asking.ask("verify_audit_trail")
    assert (report.sealed, report.findings) == (5, ())
    await asking.store.execute("DELETE FROM settings WHERE name = 'audit_head'")
    report = await asking.ask("verify_audit_trail")
    assert [finding.fault for finding in report.findings] == ["head"]


# Export


async def exported(store: Store, format: ExportFormat) -> tuple[str, object]:
    pieces: list[bytes] = []
    head = await export_trail(store, KEY, pieces.append, format=format)
    return b"".join(pieces).decode(), head


async def test_an_export_has_all_events_in_order_and_the_head(asking: Asking) -> None:
    text, head = await exported(asking.store, "jsonl")
    *events, last = [json.loads(line) for line in text.splitlines()]
    assert [event["sequence"] for event in events] == [1, 2, 3, 4, 5]
    assert [event["previous_hash"] for event in events] == [
        *("", *(event["hash"] for event in events[:-1])),
    ]
    assert f"{last['head']['sequence']}:{last['head']['hash']}" == str(head)
    assert last["head"]["hash"] == events[-1]["hash"]


async def test_formulas_are_neutralised_in_csv(asking: Asking) -> None:
    text, _ = await exported(asking.store, "csv")
    first, *rows = list(csv.reader(io.StringIO(text)))
    assert [row[first.index("actor")] for row in rows] == [
        *("ada", "uma", "ada", "'=cmd", "otto", ""),
    ]
    assert [row[0] for row in rows] == ["event"] * 5 + ["head"]


async def test_what_has_no_seal_is_exported_too(asking: Asking) -> None:
    await asking.store.execute("DELETE FROM settings WHERE name = 'audit_head'")
    await asking.store.transact(lambda db: AuditTrail(asking.store, KEY).write(db, record()))
    text, head = await exported(asking.store, "jsonl")
    *events, last = [json.loads(line) for line in text.splitlines()]
    assert (events[-1]["sequence"], last, head) == (None, {"head": None}, None)


async def test_reads_that_were_let_can_be_left_out(asking: Asking) -> None:
    await asking.ask("list_audit_events", limit=1)
    with pytest.raises(ForbiddenError):
        await asking.ask("verify_audit_trail", role="User")
    await asking.runner.trail.flush()  # type: ignore[attr-defined]
    everything = await asking.ask("list_audit_events", limit=100)
    told = [(each.operation, each.outcome) for each in everything.items]
    assert told[:2] == [("verify_audit_trail", "denied"), ("list_audit_events", "done")]
    page = await asking.ask("list_audit_events", reads=False, limit=100)
    kept = [(each.operation, each.outcome) for each in page.items]
    assert kept == [each for each in told if each != ("list_audit_events", "done")]
    assert page.total == len(kept)


async def test_no_more_are_counted_than_asked_for(asking: Asking) -> None:
    for most, total in ((3, 3), (5, 5), (100, 5)):
        page = await asking.ask("list_audit_events", until="2026-11-10", count_to=most, limit=2)
        assert (page.total, len(page.items), page.has_more) == (total, 2, True)
