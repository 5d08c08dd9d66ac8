"""Operations, steps and transports of plugins, each by itself."""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import AsyncIterator
from functools import reduce
from typing import Any

import pytest

from accord import Limits, RegistrationError, Router
from accord.a2a.protocol.errors import MalformedAnswerError, UnknownOutcomeError
from accord.hub.domain.rules import AcceptancePolicy
from accord.hub.exchange.formats import Formats
from accord.hub.registry import hub_operations
from accord.jsonrpc.runtime.peer import Peer
from accord.operations.errors import ForbiddenError
from accord.operations.runner import InternalOperationError, Runner
from accord.plugins import (
    Channel,
    Operations,
    Options,
    Retry,
    StepFailedError,
    StepTask,
    Work,
    open_channel,
    perform,
    step_type,
)
from accord.workflows.bridge.callers import PluginCaller
from accord.workflows.bridge.task import ClaimedTask, TaskFailure, TaskSuccess, Terms
from accord.workflows.core.events import CallPlugin
from accord.workflows.step_type import StepTypes
from examples.plugins.transport.accord_deflate import transport
from tests.hub.world import RECORDERS, World, world_at
from tests.patience import PATIENCE

operations = Operations()


@operations.read(right="comment")
async def count_epics(work: Work, *, then: str = "list_epics") -> int:
    """Count epics."""
    page = await perform(work, then)
    return len(page.items)


@operations.write(right="comment")
async def add_epics(work: Work, *, titles: list[str]) -> int:
    """Make epics."""
    for title in titles:
        await perform(work, "create_epic", title=title)
    return len(titles)


@pytest.fixture
async def world(migrated_url: str) -> AsyncIterator[World]:
    async with world_at(migrated_url) as found:
        registry = hub_operations()
        registry.include(operations)
        found.runner = Runner(
            registry,
            found.store,
            found.trail,
            services=(Formats(), AcceptancePolicy()),
            recorders=RECORDERS,
        )
        yield found


async def test_an_operation_is_made_of_others_in_one_record(world: World) -> None:
    outcome = await world.outcome("add_epics", titles=["Ferry", "Tickets"])
    assert [each.reference_id for each in outcome.effects] == ["EP-001", "EP-002"]
    assert await world.call("count_epics") == 2
    assert [each.operation for each in world.trail.records] == ["add_epics", "count_epics"]


async def test_a_part_needs_its_own_right(world: World) -> None:
    with pytest.raises(ForbiddenError, match="create_epic"):
        await world.call("add_epics", world.commenter, titles=["Ferry"])
    assert await world.call("count_epics", world.commenter) == 0


@pytest.mark.parametrize("other", ["nope", "create_epic"])
async def test_what_reads_performs_no_writes(
    world: World, other: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(InternalOperationError):
        await world.call("count_epics", then=other)
    assert isinstance(caplog.records[-1].exc_info, tuple)
    assert caplog.records[-1].exc_info[0] is LookupError


# Steps


@step_type(concurrency=2, retry=Retry(attempts=7))
async def divide(task: StepTask, *, by: int, of: float = 1.0) -> dict[str, Any]:
    """Divide."""
    if by == 13:
        raise StepFailedError("unlucky", "not by this", {"by": by})
    if by == 14:
        return {"it": object()}
    if by > 100:
        return reduce(lambda inside, _: {"it": inside}, range(by), {})
    return {"it": of / by, "id": task.id, "attempt": task.attempt}


def task_of(plugin: str, given: Any) -> ClaimedTask:
    command = CallPlugin(task="s", step="s", plugin=plugin, input=given)
    return ClaimedTask(
        id="r/s", run_id="r", task="s", kind="plugin", target=plugin, command=command, attempt=2
    )


async def attempt(given: Any, plugin: str = "divide") -> Any:
    async def progress(remote_task: str, remote_context: str) -> None:
        raise AssertionError("plugins have no remote tasks")

    return await PluginCaller(StepTypes({"divide": divide})).call(task_of(plugin, given), progress)


async def test_a_step_gives_its_output_and_knows_its_attempt() -> None:
    outcome = await attempt({"by": 4})
    assert isinstance(outcome, TaskSuccess)
    again = await attempt({"by": 4})
    assert outcome == again, "the id is the same for the same attempt group"
    assert (outcome.output["it"], outcome.output["attempt"]) == (0.25, 2)


@pytest.mark.parametrize(
    ("given", "failed"),
    [
        ({"by": 13}, TaskFailure(code="unlucky", message="not by this", details={"by": 13})),
        (
            {"by": "4"},
            TaskFailure(code="validation_failed", message="input: by: expected `int`, got `str`"),
        ),
        (None, TaskFailure(code="validation_failed", message="input: by: is required")),
        ([], TaskFailure(code="validation_failed", message="the input of a step is an object")),
    ],
)
async def test_what_fails_for_good_is_said_so(given: Any, failed: TaskFailure) -> None:
    assert await attempt(given) == failed


async def test_what_a_plugin_raises_stays_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.ERROR),
        pytest.raises(UnknownOutcomeError, match="raised ZeroDivisionError; the log says more"),
    ):
        await attempt({"by": 0})
    assert "division by zero" in caplog.text
    with pytest.raises(MalformedAnswerError, match="is no JSON"):
        await attempt({"by": 14})


@pytest.mark.req("Q-04")
@pytest.mark.parametrize("levels", [128, 1_000, 20_000])
async def test_what_a_plugin_gives_may_not_be_nested_too_deep(levels: int) -> None:
    with pytest.raises(MalformedAnswerError, match="is no JSON: nested deeper than 128 levels"):
        await attempt({"by": levels})
    assert isinstance(await attempt({"by": 127}), TaskSuccess)


async def test_a_step_whose_plugin_is_gone_is_tried_again() -> None:
    caller = PluginCaller(StepTypes({"divide": divide}))
    assert await caller.terms("divide") == Terms(retry=Retry(attempts=7), concurrency=2)
    assert await caller.terms("gone") == Terms(breaks=False)
    with pytest.raises(UnknownOutcomeError, match="no plugin here does steps of type 'gone'"):
        await attempt({}, "gone")


def test_functions_that_are_no_steps_are_refused() -> None:
    async def undocumented(task: StepTask) -> None:
        pass

    async def positional(task: StepTask, by: int) -> None:
        """Take an argument by position."""

    with pytest.raises(RegistrationError, match="async function with a docstring"):
        step_type()(undocumented)
    with pytest.raises(RegistrationError, match="must take"):
        step_type()(positional)


# Transports


@pytest.fixture
async def deflated() -> AsyncIterator[str]:
    """The URL of a server with a limit of 10,000 bytes."""
    router = Router()

    @router.method
    def echo(text: str) -> str:
        return text

    peers: list[Peer] = []

    def accept(channel: Channel) -> None:
        peers.append(Peer(channel, router))

    options = Options(limits=Limits(max_message_bytes=10_000))
    listener = await transport.listen("deflate+tcp://127.0.0.1:0", accept, options)
    yield listener.url
    await listener.close()
    await asyncio.gather(*(peer.close() for peer in peers))


async def test_messages_are_compressed_both_ways(deflated: str) -> None:
    channel = await transport.open(deflated, Options())
    assert channel.info.scheme == "deflate+tcp"
    peer = Peer(channel)
    try:
        for text in ("a" * 9_000, "b"):
            assert await peer.call("echo", [text]) == text
    finally:
        await peer.close()


@pytest.mark.parametrize("sent", [zlib.compress(b" " * 1_000_000), b"no stream at all"])
async def test_what_unpacks_to_too_much_or_to_nothing_ends_the_connection(
    deflated: str, sent: bytes
) -> None:
    url = deflated.removeprefix("deflate+")
    channel = await open_channel(url, Options(framing="content-length"))
    ended = asyncio.get_running_loop().create_future()

    class Ears:
        def message_received(self, data: bytes) -> None:
            """Perhaps a refusal."""

        def connection_lost(self, error: Exception | None) -> None:
            ended.set_result(None)

    channel.start(Ears())  # type: ignore[arg-type]  # the others are for what does not happen here
    channel.send(sent)
    async with asyncio.timeout(PATIENCE):
        await ended
