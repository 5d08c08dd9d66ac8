"""Our client and programs that mean harm, over their stdin and stdout: calls end with an error in
time, memory stays bounded, and no process is left behind."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from accord import CallTimeoutError, ConnectionLostError, RpcError
from accord.jsonrpc.protocol.channel import Limits
from accord.mcp import Client
from tests.hostile.attacker import until
from tests.mcp.hostile import programs
from tests.mcp.hostile.bounds import bounded
from tests.patience import PATIENCE

SOON = 0.3
"""Seconds that calls have whose server never answers them."""


def command(name: str) -> list[str]:
    return [sys.executable, "-S", "-E", str(Path(programs.__file__)), name]


class Told:
    """What a program writes to stderr: first its process id."""

    def __init__(self) -> None:
        self.pid = 0
        self.lines: list[str] = []

    def hear(self, line: str) -> None:
        if self.pid:
            self.lines.append(line)
        else:
            self.pid = int(line)


@asynccontextmanager
async def talking(name: str, told: Told | None = None, **options: Any) -> AsyncIterator[Client]:
    """A client of one of the programs, which is gone afterwards whatever it did."""
    told = Told() if told is None else told
    given = {"exit_seconds": 0.2, "terminate_seconds": 0.2, "stderr": told.hear, **options}
    async with bounded(), Client(command(name), mode="modern", **given) as client:
        yield client
    await until(lambda: not _is_there(told.pid))


def _is_there(pid: int) -> bool:
    try:
        os.killpg(pid, 0)  # it leads a group, in which whatever it started is
    except ProcessLookupError:
        return False
    return True


async def test_garbage_among_messages_is_passed_over() -> None:
    async with talking("garbage") as client:
        for _ in range(3):
            assert (await client.call_tool("x")).text == "done"


@pytest.mark.parametrize("name", ["deaf", "floods", "drops", "endless_line"])
async def test_a_program_that_never_answers_is_given_up_when_the_time_is_up(name: str) -> None:
    async with talking(name, limits=Limits(max_message_bytes=100_000)) as client:
        with pytest.raises(CallTimeoutError):
            await client.call_tool("x", timeout=SOON)


async def test_a_program_that_does_not_read_cannot_make_a_client_keep_everything() -> None:
    async with talking("deaf", limits=Limits(max_queued_bytes=1_000_000)) as client:
        with pytest.raises(CallTimeoutError):
            await client.call_tool("x", {"text": "x" * 500_000}, timeout=SOON)
        for _ in range(4):  # until more waits than may
            with pytest.raises(RpcError):
                await client.call_tool("x", {"text": "x" * 500_000}, timeout=SOON)


async def test_a_program_that_asks_without_end_is_read_no_further_than_it_reads() -> None:
    async with talking("asks_without_end", limits=Limits(max_queued_bytes=1_000_000)) as client:
        with pytest.raises((CallTimeoutError, ConnectionLostError)):
            await client.call_tool("x", timeout=2)


@pytest.mark.parametrize("timeout", [0.05, 0.1, 0.15])
async def test_a_program_that_does_not_take_answers_is_left_in_time(timeout: float) -> None:
    async with asyncio.timeout(PATIENCE), talking("asks_without_end") as client:
        with pytest.raises((CallTimeoutError, ConnectionLostError)):
            await client.call_tool("x", timeout=timeout)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("leaves", "status 3"),
        ("leaves_in_the_middle_of_a_message", None),
        ("leaves_its_child_behind", None),
    ],
)
async def test_a_program_that_leaves_fails_the_call_at_once(name: str, told: str | None) -> None:
    async with talking(name) as client:
        with pytest.raises(ConnectionLostError, match=told):
            await client.call_tool("x")
        with pytest.raises(RpcError):
            await client.call_tool("x")


async def test_what_a_program_wrote_before_it_left_is_told() -> None:
    told = Told()
    async with talking("leaves", told) as client:
        with pytest.raises(ConnectionLostError, match="the disk is on fire") as lost:
            await client.call_tool("x")
    assert lost.value.data == {"status": 3, "stderr": [str(told.pid), "the disk is on fire"]}


async def test_a_program_that_does_not_leave_is_made_to() -> None:
    async with talking("stubborn") as client:
        assert (await client.call_tool("x")).text == "done"


async def test_a_program_that_fills_stderr_is_not_held_up_by_it() -> None:
    told = Told()
    async with talking("loud", told) as client:
        assert (await client.call_tool("x")).text == "done"
    assert len(told.lines) == 2_000


@pytest.mark.parametrize("mode", ["auto", "modern", "legacy"])
async def test_a_program_that_is_silent_from_the_start(mode: Any) -> None:
    async with bounded():
        with pytest.raises(RpcError):
            async with Client(
                command("silent"),
                mode=mode,
                timeout=SOON,
                probe_seconds=0.1,
                exit_seconds=0.1,
            ):
                raise AssertionError("nobody said that this is a server")


@pytest.mark.parametrize("mode", ["auto", "modern", "legacy"])
async def test_a_program_that_is_gone_at_once(mode: Any) -> None:
    async with bounded():
        with pytest.raises(RpcError, match="status 4"):
            async with Client(command("leaves_at_once"), mode=mode):
                raise AssertionError("there is nobody")
