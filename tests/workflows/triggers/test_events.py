"""Changes of the hub start runs, in the same transaction, as whoever makes the change."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from msgspec.structs import replace

from accord.operations.arguments import convert
from accord.operations.context import Caller
from accord.operations.errors import ServiceError
from accord.telemetry.metrics import Exposition
from accord.workflows.core.errors import MAX_CHAIN
from accord.workflows.triggers.events import Events
from tests.patience import PATIENCE
from tests.workflows.triggers.site import NOW, Site

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


async def call(site: Site, name: str, caller: Caller, **arguments: Any) -> Any:
    operation = site.world.runner.registry[name]
    return (await site.world.runner.run(operation, convert(operation, arguments), caller)).result


@pytest.mark.req("W-07")
async def test_a_new_requirement_starts_a_run_as_whoever_made_it(site: Site) -> None:
    await site.save("name: review\non: requirement.created")
    made = await site.requirement("Log in")
    [run] = await site.runs()
    event = run.pop("input")
    assert run.pop("traceparent").startswith("00-")
    assert run == {
        "id": run["id"],
        "workflow": "review",
        "version": 1,
        "user_id": site.world.user.user_id,
        "username": "uma",
        "token_id": "",
        "scopes": None,
        "origin": "event",
        "cause": "",
        "chain": 0,
        "correlation_id": "test-3",
        "created_at": NOW,
    }
    assert {name: event[name] for name in ("name", "action", "kind", "id", "reference_id")} == {
        "name": "requirement.created",
        "action": "created",
        "kind": "requirement",
        "id": made.id,
        "reference_id": made.reference_id,
    }
    assert event["before"] is None
    assert event["after"]["title"] == "Log in"
    assert (event["by"], event["operation"]) == ("uma", "create_requirement")
    assert event["change_id"] == made.change_id


async def test_a_run_has_the_rights_and_the_trace_of_the_call(site: Site) -> None:
    await site.save("name: review\non: epic.created")
    by_token = replace(
        site.world.user,
        via="token",
        token_id="t",
        scopes=frozenset({"write", "read"}),
        correlation_id=TRACE,
    )
    await call(site, "create_epic", by_token, title="One")
    await call(site, "create_epic", replace(by_token, traceparent=PARENT), title="Two")
    made, sent = await site.runs()
    assert (made["token_id"], made["scopes"]) == ("t", "read write")
    assert made["traceparent"].startswith(f"00-{TRACE}-")
    assert sent["traceparent"] == PARENT


async def test_filters_choose_and_inputs_are_mapped(site: Site) -> None:
    await site.save(
        """name: urgent
input: {type: object, required: [requirement]}
on:
  - event: epic.updated
    filter: "${event.after.priority == 1 && event.before.priority != 1}"
    input: {requirement: "${event.reference_id}"}"""
    )
    epic = await site.world.call("create_epic", title="Epic", priority=3)
    for priority in (2, 1, 1):
        await site.world.call("update_epic", id=epic.reference_id, priority=priority)
    assert [run["input"] for run in await site.runs()] == [{"requirement": epic.reference_id}]


async def test_a_filter_that_fails_never_breaks_a_write(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    await site.save('name: odd\non: [{event: epic.created, filter: "${event.after.nothing == 1}"}]')
    with caplog.at_level(logging.WARNING):
        epic = await site.world.call("create_epic", title="Epic")
    assert epic.title == "Epic"
    assert await site.runs() == []
    assert site.events.failed_filters == 1
    assert "the filter of odd for epic.created failed: event.after.nothing is not there" in (
        caplog.text
    )


async def test_an_input_that_does_not_fit_is_a_dead_letter(site: Site) -> None:
    await site.save("name: strict\ninput: {type: string}\non: epic.created")
    await site.save('name: lost\non: [{event: epic.created, input: "${event.after.nothing}"}]')
    await site.world.call("create_epic", title="Epic")
    assert await site.runs() == []
    assert sorted(await site.letters()) == [
        ("bad_expression", "lost", "the input has no value: event.after.nothing is not there"),
        (
            "bad_input",
            "strict",
            "the input does not fit the workflow: the value is not of type string",
        ),
    ]
    page = Exposition()
    site.events.write(page)
    assert b"accord_trigger_runs_not_started_total 2\n" in page.encode()


async def test_what_is_refused_or_only_tried_starts_nothing(site: Site) -> None:
    await site.save("name: review\non: [epic.created, epic.updated]")
    await site.world.call("create_epic", title="Epic", dry_run=True)
    with pytest.raises(ServiceError):
        await site.world.call("update_epic", id="EP-999", title="No")
    assert await site.runs() == []


async def test_several_workflows_and_several_changes_have_a_run_each(site: Site) -> None:
    await site.save("name: one\non: requirement.deleted")
    await site.save("name: two\non: [requirement.deleted, requirement.created]")
    made = await site.requirement()
    await site.world.call("delete_requirement", id=made.reference_id)
    assert sorted(run["workflow"] for run in await site.runs()) == ["one", "two", "two"]
    assert len({run["id"] for run in await site.runs()}) == 3


async def test_runs_that_start_themselves_end_at_a_limit(site: Site) -> None:
    await site.save("name: again\non: epic.created")
    await site.world.call("create_epic", title="Epic 0")
    for number in range(1, MAX_CHAIN + 2):
        last = (await site.runs())[-1]
        caller = replace(site.world.user, run_id=last["id"])
        await call(site, "create_epic", caller, title=f"Epic {number}")
    runs = await site.runs()
    assert [run["chain"] for run in runs] == list(range(MAX_CHAIN + 1))
    assert [run["cause"] for run in runs] == ["", *(run["id"] for run in runs[:-1])]
    assert await site.letters() == [
        (
            "chain_too_long",
            "again",
            f"{MAX_CHAIN + 1} runs were started by what runs wrote, one after the other, and the "
            f"limit is {MAX_CHAIN}: does again start itself?",
        )
    ]


async def test_what_a_child_writes_counts_for_the_run_above_it(site: Site) -> None:
    await site.save("name: again\non: epic.created")
    await site.world.call("create_epic", title="Epic")
    [above] = await site.runs()
    await site.store.execute("UPDATE runs SET chain = 3 WHERE id = $1", above["id"])
    await site.store.execute(
        "INSERT INTO runs (id, workflow, version, shard, parent_run, created_at)"
        " VALUES ('child', 'again', 1, 0, $1, 0)",
        above["id"],
    )
    await call(site, "create_epic", replace(site.world.user, run_id="child"), title="Epic")
    assert [(run["cause"], run["chain"]) for run in await site.runs()][1:] == [("child", 4)]


async def test_a_trigger_that_another_process_saves_counts_after_a_second(site: Site) -> None:
    """With SQLite at once; with PostgreSQL when the names are read again, or on a wake."""
    await site.world.call("create_epic", title="Before")
    await site.save("name: review\non: epic.created")
    site.monotonic += 1.0
    await site.world.call("create_epic", title="After")
    assert [run["input"]["after"]["title"] for run in await site.runs()] == ["After"]


async def test_a_process_that_listens_hears_of_it_at_once(site: Site) -> None:
    other = Events(clock=lambda: 0.0)
    site.world.runner = site.runner(other)
    await site.world.call("create_epic", title="Before")
    stop = await other.watch(site.store)
    heard = asyncio.Event()
    stop_hearing = await site.store.listen("triggers", heard.set)
    await site.save("name: review\non: epic.created")
    async with asyncio.timeout(PATIENCE):
        await heard.wait()
    await site.world.call("create_epic", title="After")
    assert [run["input"]["after"]["title"] for run in await site.runs()] == ["After"]
    stop()
    stop_hearing()


async def test_a_trigger_that_cannot_be_read_never_breaks_a_write(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    await site.save("name: newer\non: epic.created")
    await site.save("name: plain\non: epic.created")
    await site.store.execute(
        'UPDATE triggers SET spec = \'{"event": "epic.created", "unheard": 1}\''
        " WHERE workflow = 'newer'"
    )
    with caplog.at_level(logging.ERROR):
        await site.world.call("create_epic", title="Epic")
    assert [run["workflow"] for run in await site.runs()] == ["plain"]
    assert "newer was not started by epic.created" in caplog.text
