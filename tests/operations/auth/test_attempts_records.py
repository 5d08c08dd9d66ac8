"""Every failed authentication is on record and in the log, and no flood of them fills either."""

from __future__ import annotations

import asyncio
import logging
from itertools import count

import pytest
from msgspec.structs import replace

from accord.operations.audit.record import Record
from accord.operations.auth.attempts import MAX_KINDS, MAX_OF_ALL, MAX_OF_KIND, FailedAttempts
from accord.operations.errors import ServiceUnavailableError
from tests.operations.audit.trails import record
from tests.operations.auth.world import Trail

pytestmark = pytest.mark.req("H-45")


class Bench:
    """Attempts with a clock that stands still unless it is moved."""

    def __init__(self, trail: Trail | None = None) -> None:
        self.time = 100.0
        self.trail = trail or Trail()
        numbers = count(1)
        self.attempts = FailedAttempts(
            self.trail,
            window=60.0,
            clock=lambda: self.time,
            now=lambda: "2026-11-15T09:30:00.000000Z",
            new_id=lambda: f"id-{next(numbers)}",
        )

    def fail(self, times: int = 1, **fields: str) -> None:
        made = replace(
            record(), operation="authenticate", error="unknown", outcome="unauthenticated"
        )
        for _ in range(times):
            self.attempts.add(replace(made, **fields))

    @property
    def told(self) -> list[tuple[str, str]]:
        return [(each.error, each.target) for each in self.trail.records]


async def test_the_first_of_a_kind_are_kept_and_the_others_counted() -> None:
    bench = Bench()
    bench.fail(MAX_OF_KIND + 37, target="")
    assert bench.told == [("unknown", "")] * MAX_OF_KIND
    bench.fail(error="expired", target="")
    bench.fail(address="192.0.2.9", target="")
    assert len(bench.told) == MAX_OF_KIND + 2
    bench.time += 61
    bench.fail(target="")
    assert bench.told[MAX_OF_KIND + 2 :] == [("unknown", "37 more"), ("unknown", "")]
    bench.attempts.flush()
    assert len(bench.told) == MAX_OF_KIND + 4


async def test_kinds_are_told_apart_by_person_token_way_address_and_what_they_wanted() -> None:
    bench = Bench()
    for field in ("actor_id", "token_id", "face", "address", "target", "error", "operation"):
        for value in ("one", "other"):
            bench.fail(MAX_OF_KIND, **{field: value})
    assert len(bench.told) == 14 * MAX_OF_KIND


async def test_a_flood_from_everywhere_is_bounded_and_counted() -> None:
    bench = Bench()
    for number in range(MAX_KINDS + 5_000):
        bench.fail(address=f"2001:db8::{number:x}", target="")
    assert len(bench.told) == MAX_OF_ALL
    bench.attempts.flush()
    suppressed = [int(target.removesuffix(" more")) for _, target in bench.told[MAX_OF_ALL:]]
    assert sum(suppressed) == MAX_KINDS + 5_000 - MAX_OF_ALL
    assert len(suppressed) == MAX_KINDS - MAX_OF_ALL + 1
    assert 5_000 in suppressed


async def test_what_was_not_kept_is_told_when_the_window_ends() -> None:
    trail, told = Trail(), asyncio.Event()

    class Telling(Trail):
        def enqueue(self, record: Record) -> None:
            super().enqueue(record)
            if record.target.endswith("more"):
                told.set()

    trail = Telling()
    attempts = FailedAttempts(trail, window=1.0)  # so long that all calls fall into it
    made = replace(record(), error="unknown", target="")
    for _ in range(MAX_OF_KIND + 3):
        attempts.add(made)
    async with asyncio.timeout(20):
        await told.wait()
    assert trail.records[-1].target == "3 more"


async def test_each_is_a_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    with caplog.at_level(logging.WARNING, "accord.accounts"):
        bench.fail(MAX_OF_KIND + 2, address="192.0.2.7", actor="uma", target="")
        bench.attempts.flush()
    lines = [each for each in caplog.records if each.name == "accord.accounts"]
    assert [each.getMessage() for each in lines] == [
        *["authenticate failed: unknown"] * MAX_OF_KIND,
        "authenticate failed 2 more times: unknown",
    ]
    fields = vars(lines[0])
    assert (fields["address"], fields["user"], fields["outcome"]) == (
        *("192.0.2.7", "uma", "unauthenticated"),
    )


async def test_what_finds_no_place_in_the_trail_is_counted_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Full(Trail):
        def enqueue(self, record: Record) -> None:
            if len(self.records) >= MAX_OF_KIND:
                raise ServiceUnavailableError("full")
            super().enqueue(record)

    bench = Bench(Full())
    bench.fail(MAX_OF_KIND)
    bench.fail(3, address="192.0.2.9", target="ada")
    caplog.clear()
    with caplog.at_level(logging.WARNING, "accord.accounts"):
        bench.attempts.flush()
    assert [each.getMessage() for each in caplog.records] == [
        "authenticate failed 3 more times: unknown (ada)",
        "the audit trail has no place for 3 failed attempts",
    ]
