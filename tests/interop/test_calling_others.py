"""We call servers written with code of others, each over what it can speak."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from uuid import uuid4

import pytest
from msgspec import Struct

from accord import CallTimeoutError, MethodNotFoundError, Peer, Router, RpcError, connect
from accord.transports.options import Framing
from tests.interop.programs import environment, peer, serving
from tests.interop.test_called_by_others import VALUES


class Server(Struct, frozen=True):
    """A server of others, and what it knows of JSON-RPC."""

    script: str
    kind: str
    framing: Framing = "newline"
    duplex: bool = False
    """Whether it can call back."""
    batches: bool = False
    crash_code: int = -32603
    """What it answers when a method of its own raises something unforeseen."""


SERVERS = {
    # Its internal error has the code of wrong params.
    "python-lsp-jsonrpc over stdio": Server(
        "pylsp_server.py", "stdio", "content-length", duplex=True, crash_code=-32602
    ),
    "vscode-jsonrpc over stdio": Server("vscode.js", "stdio", "content-length", duplex=True),
    "vscode-jsonrpc over tcp": Server("vscode.js", "tcp", "content-length", duplex=True),
    "jayson over tcp": Server("jayson.js", "tcp", batches=True),
    "jayson over http": Server("jayson.js", "http", batches=True),
    "jayson over websocket": Server("jayson.js", "websocket", batches=True),
}

Start = Callable[[Server], str]


def servers(fits: Callable[[Server], bool] = lambda server: True) -> pytest.MarkDecorator:
    chosen = {name: server for name, server in SERVERS.items() if fits(server)}
    return pytest.mark.parametrize("server", chosen.values(), ids=chosen)


@pytest.fixture(scope="module")
def start(request: pytest.FixtureRequest) -> Iterator[Start]:
    """Starts a server that listens, once, and returns where it does."""
    with ExitStack() as stack:

        @cache
        def started(server: Server) -> str:
            packages: Path = request.getfixturevalue("packages")
            command = [*peer(server.script), "serve", server.kind]
            return stack.enter_context(serving(command, packages=packages))

        yield started


@pytest.fixture
async def other(
    server: Server, start: Start, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Peer]:
    """A connection to the server, over which it can double numbers."""
    target: str | list[str]
    if server.kind != "stdio":
        target = start(server)
    elif server.script.endswith(".js"):
        packages: Path = request.getfixturevalue("packages")
        monkeypatch.setenv("NODE_PATH", environment(packages)["NODE_PATH"])
        target = f"stdio:{shlex.join([*peer(server.script), 'serve', 'stdio'])}"
    else:
        target = peer(server.script)
    router = Router()
    router.add(lambda number: 2 * number, "double")
    async with connect(target, router, framing=server.framing, timeout=10) as other:
        yield other


@pytest.mark.req("F-12", "F-16", "F-17", "F-19")
@servers()
async def test_calls_by_position_and_by_name_are_answered(other: Peer) -> None:
    assert await other.call("add", [1, 2]) == 3
    assert await other.call("add", {"a": 20, "b": 22}, into=int) == 42


@pytest.mark.req("F-17", "F-19")
@servers()
async def test_any_value_comes_back_unchanged(other: Peer) -> None:
    assert [await other.call("echo", [value]) for value in VALUES] == VALUES


@pytest.mark.req("F-17")
@servers()
async def test_a_megabyte_comes_back(other: Peer) -> None:
    text = "é" * 500_000
    assert await other.call("echo", [text]) == text
    assert await other.call("add", [1, 2]) == 3


@pytest.mark.req("F-09", "F-26")
@servers()
async def test_their_errors_are_raised_with_code_message_and_data(other: Peer) -> None:
    with pytest.raises(RpcError) as caught:
        await other.call("fail", [4001, "no money", {"balance": [1]}])
    error = caught.value
    assert (error.code, error.message, error.data) == (4001, "no money", {"balance": [1]})
    assert error.remote
    with pytest.raises(RpcError) as caught:
        await other.call("fail", [4002, "nothing to add"])
    assert (caught.value.code, caught.value.data) == (4002, None)
    with pytest.raises(MethodNotFoundError):
        await other.call("nope")
    assert await other.call("add", [1, 2]) == 3


@pytest.mark.req("F-09")
@servers()
async def test_what_fails_unforeseen_at_their_end_is_an_error_here(
    other: Peer, server: Server
) -> None:
    with pytest.raises(RpcError) as caught:
        await other.call("crash")
    assert caught.value.code == server.crash_code
    assert await other.call("add", [1, 2]) == 3


@pytest.mark.req("F-03")
@servers()
async def test_notifications_reach_them_in_order(other: Peer) -> None:
    key = str(uuid4())
    for text in ("one", "two", "three"):
        await other.notify("note", [key, text])
    await other.notify("nope", [])
    assert await other.call("notes", [key]) == ["one", "two", "three"]
    assert other.pending == 0


@pytest.mark.req("F-10", "F-11")
@servers()
async def test_calls_run_at_once_and_answers_find_them(other: Peer) -> None:
    slow = other.begin("sleep", [0.3])
    answers = await asyncio.gather(*(other.call("add", [number, 1]) for number in range(50)))
    assert answers == list(range(1, 51))
    assert other.pending == 1
    assert await slow == 0.3


@pytest.mark.req("F-12")
@servers(lambda server: server.duplex)
async def test_they_call_us_back_while_we_wait(other: Peer) -> None:
    assert await other.call("call_back", ["double", [21]]) == 42
    together = [other.call("call_back", ["double", [number]]) for number in range(20)]
    assert await asyncio.gather(*together) == list(range(0, 40, 2))
    with pytest.raises(RpcError, match="nope"):
        await other.call("call_back", ["nope", []])


@pytest.mark.req("F-08")
@servers(lambda server: server.batches)
async def test_batches_are_answered(other: Peer) -> None:
    key = str(uuid4())
    async with other.batch() as batch:
        slow = batch.call("sleep", [0.05])
        three = batch.call("add", [1, 2])
        batch.notify("note", [key, "in a batch"])
        wrong = batch.call("fail", [4001, "no"])
    assert (await slow, await three) == (0.05, 3)
    with pytest.raises(RpcError, match="no"):
        await wrong
    async with other.batch() as batch:
        batch.notify("note", [key, "in another"])
    assert await other.call("notes", [key]) == ["in a batch", "in another"]


@pytest.mark.req("F-13")
@servers(lambda server: server.kind != "http")
async def test_an_answer_that_comes_too_late_is_dropped(other: Peer) -> None:
    with pytest.raises(CallTimeoutError):
        await other.call("sleep", [0.2], timeout=0.05)
    assert await other.call("sleep", [0.3]) == 0.3
    assert other.statistics.answers_late == 1
    assert other.pending == 0


@pytest.mark.req("F-16", "F-18")
@servers(lambda server: server.kind == "stdio")
async def test_their_program_ends_when_we_close(other: Peer) -> None:
    assert await other.call("add", [1, 2]) == 3
    await other.close()
    with pytest.raises(ProcessLookupError):
        os.kill(other.info.details["pid"], 0)
