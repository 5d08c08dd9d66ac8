"""Options of connections and listeners, and the memory budget."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import accord
from accord import Router, sync
from accord.a2a import Agent
from accord.mcp import Client, Server
from accord.mcp.client.client import Client as McpClient
from accord.mcp.server.http.endpoint import McpEndpoint
from accord.mcp.server.options import McpAsgiOptions
from accord.openrpc import Api, expose
from accord.openrpc.clients.stub import AsyncClient
from accord.transports.connect import ConnectOptions, connect
from accord.transports.options import (
    SMALL_BYTES,
    ChannelOptions,
    MemoryBudget,
    Options,
    Reservation,
)
from accord.transports.serve import ServeOptions, serve

ROUTER = Router()
URL = "memory:options"


def keywords(function: Callable[..., Any]) -> set[str]:
    parameters = inspect.signature(function).parameters.values()
    return {each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.req("W-28")
def test_what_is_declared_is_what_is_taken() -> None:
    assert set(ChannelOptions.__annotations__) == set(Options.__struct_fields__)
    assert set(ConnectOptions.__annotations__) == keywords(connect) | set(Options.__struct_fields__)
    assert set(ServeOptions.__annotations__) == keywords(serve) | set(Options.__struct_fields__)
    assert set(McpAsgiOptions.__annotations__) == keywords(McpEndpoint)


@pytest.mark.req("W-28")
def test_what_is_declared_has_the_types_that_are_taken() -> None:
    declared, taken = ChannelOptions.__annotations__, Options.__annotations__
    for name, kind in taken.items():
        annotation = declared[name]
        assert getattr(annotation, "__forward_arg__", annotation) == kind, name


def shout(text: str) -> str:
    return text


def agent() -> Agent:
    made = Agent("a")
    made.skill(shout)
    return made


CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "connect": (lambda: connect(URL, time_out=1), "did you mean 'timeout'?"),  # type: ignore[call-arg]
    "connect, a transport's": (lambda: connect(URL, framming="x"), "did you mean 'framing'?"),  # type: ignore[call-arg]
    "serve": (lambda: serve(ROUTER, URL, on_conect=None), "did you mean 'on_connect'?"),  # type: ignore[call-arg]
    "run": (lambda: accord.run(ROUTER, URL, draim=1.0), "did you mean 'drain'?"),  # type: ignore[call-arg]
    "sync.connect": (lambda: sync.connect(URL, reconect=None), "did you mean 'reconnect'?"),  # type: ignore[call-arg]
    "a generated client": (lambda: AsyncClient.connect(URL, tsl=None), "did you mean 'tls'?"),  # type: ignore[call-arg]
    "Agent.serve": (lambda: agent().serve("http://127.0.0.1:0/", publik_url=""), "'public_url'?"),  # type: ignore[call-arg]
    "Agent.run": (lambda: agent().run("http://127.0.0.1:0/", backlogs=1), "'backlog'?"),  # type: ignore[call-arg]
    "mcp Client": (lambda: Client(Server("x"), tiemout=1), "did you mean 'timeout'?"),  # type: ignore[call-arg]
    "Server.serve": (lambda: Server("x").serve("http://127.0.0.1:0/", orgins=()), "'origins'?"),  # type: ignore[call-arg]
    "Server.serve, duplex": (lambda: Server("x").serve("tcp://127.0.0.1:0", id="uuid"), "'ids'?"),  # type: ignore[call-arg]
    "Server.run": (lambda: Server("x").run("tcp://127.0.0.1:0", drian=1), "'drain'?"),  # type: ignore[call-arg]
    "Server.asgi": (lambda: Server("x").asgi("/mcp", batchs=True), "'batches'?"),  # type: ignore[call-arg]
    "Server.proxy": (lambda: Server.proxy(URL, tiemout=1), "did you mean 'timeout'?"),  # type: ignore[call-arg]
    "Server.tool": (lambda: Server("x").tool(descripton=""), "did you mean 'description'?"),  # type: ignore[call-overload]
    "nothing like it": (lambda: connect(URL, xyzzy=1), "has no option 'xyzzy'"),  # type: ignore[call-arg]
    "Api": (lambda: Api(ROUTER, title="t", version="1", drian=1), "did you mean 'drain'?"),  # type: ignore[call-arg]
    "expose": (lambda: expose(Router(), explorr=True), "did you mean 'explorer'?"),  # type: ignore[call-arg]
}


@pytest.mark.req("W-28")
@pytest.mark.parametrize("name", CASES)
def test_a_misspelt_option_is_named_with_the_closest(name: str) -> None:
    call, hint = CASES[name]
    with pytest.raises(TypeError) as refused:
        call()
    assert hint in str(refused.value)


# For type checkers: each line has one misspelt option, which mypy must find

PROGRAM = """
import accord, accord.sync
from accord import Router
from accord.a2a import Agent
from accord.mcp import Client, Server
from accord.openrpc import Api, expose
from accord.openrpc.clients.stub import AsyncClient, BlockingClient
from accord.telemetry.tracing import traced as Traced

async def use(peer: accord.Peer, traced: Traced, agent: Agent, server: Server) -> None:
    accord.connect("tcp://x", time_out=1.0)
    accord.connect("tcp://x", framing="lines")
    accord.connect("tcp://x", timeout="1")
    accord.serve(Router(), "tcp://x", draim=1.0)
    accord.run(Router(), "tcp://x", tsl=None)
    accord.sync.connect("tcp://x", reconect=None)
    AsyncClient.connect("tcp://x", headrs={})
    BlockingClient.connect("tcp://x", headrs={})
    agent.serve("http://x", publik_url="")
    agent.run("http://x", on_lissen=None)
    server.serve("http://x", orgins=())
    server.run("http://x", principl=None)
    server.asgi("/mcp", batchs=True)
    server.tool(descripton="")
    Server.proxy("http://x", tiemout=1.0)
    Client("http://x", probe_second=1.0)
    Api(Router(), title="", version="", drian=1)
    expose(None, explorr=True)
    peer.call_threadsafe("m", tiemout=1)
    await traced.call("m", tiemout=1)

async def right(peer: accord.Peer, traced: Traced, agent: Agent, server: Server) -> None:
    accord.connect("tcp://x", timeout=1.0, framing="content-length", pool_size=1, drain=1)
    accord.serve(Router(), "tcp://x", drain=1.0, tls=None, on_connect=None)
    accord.sync.connect("tcp://x", timeout=None, ids="uuid")
    agent.serve("http://x", public_url="", backlog=7)
    server.serve("http://x", origins=("*",), reuse_port=True, drain=1.0)
    server.asgi("/mcp", batches=True, auth=None)
    Server.proxy("http://x", timeout=1.0, headers={"a": "b"}, mode="modern")
    Client("http://x", timeout=None, tls=None, env={})
    peer.call_threadsafe("m", timeout=1)
    await traced.call("m", timeout=1, into=int)
"""


@pytest.mark.req("W-28")
def test_mypy_finds_every_misspelt_option(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(program)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = PROGRAM.split("\n")
    first = next(n for n, line in enumerate(lines, 1) if line.startswith("async def use"))
    last = next(n for n, line in enumerate(lines, 1) if line.startswith("async def right")) - 1
    wrong = {n for n in range(first + 1, last) if lines[n - 1].strip()}
    found = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error: " in line}
    assert found == wrong, done.stdout


def test_the_client_of_mcp_is_one() -> None:
    assert McpClient is Client


@pytest.mark.req("W-28")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"framing": "headers"}, "framing is one of newline, content-length, not 'headers'"),
        ({"stderr": "null"}, "stderr is one of log, inherit, discard or a function, not 'null'"),
    ],
)
async def test_a_misspelt_word_is_refused_where_it_is_given(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        async with serve(ROUTER, "tcp://127.0.0.1:0", **options):
            pass
    with pytest.raises(ValueError, match=f"^{message}$"):
        await connect("tcp://127.0.0.1:1", **options)


BIG = 4 * SMALL_BYTES


def test_what_is_reserved_is_held_until_it_is_released() -> None:
    budget = MemoryBudget(3 * BIG)
    first, second = Reservation(budget), Reservation(budget)

    assert first.resize(BIG)
    assert second.resize(BIG)
    assert first.resize(2 * BIG)
    assert budget.held == 3 * BIG
    first.release()
    assert budget.held == BIG
    assert second.resize(3 * BIG)
    assert second.resize(BIG)
    assert budget.held == BIG


def test_a_message_that_does_not_fit_gives_up_what_it_held() -> None:
    budget = MemoryBudget(2 * BIG)
    first, second = Reservation(budget), Reservation(budget)

    assert first.resize(BIG)
    assert second.resize(BIG)
    assert not second.resize(BIG + 1)
    assert (second.size, budget.held) == (0, BIG)
    assert first.resize(2 * BIG)


def test_small_messages_always_fit_and_are_not_counted() -> None:
    budget = MemoryBudget(BIG)
    big, small = Reservation(budget), Reservation(budget)

    assert big.resize(BIG)
    assert small.resize(SMALL_BYTES)
    assert budget.held == BIG
    assert not small.resize(SMALL_BYTES + 1)


def test_a_message_that_is_alone_always_fits() -> None:
    budget = MemoryBudget(BIG)
    first, second = Reservation(budget), Reservation(budget)

    assert first.resize(10 * BIG)
    assert not second.resize(BIG)
    first.release()
    assert second.resize(BIG)


def test_a_part_is_bounded_by_itself_and_by_the_whole() -> None:
    budget = MemoryBudget(4 * BIG)
    part = budget.part(2)
    one, two, other = Reservation(part), Reservation(part), Reservation(budget)

    assert one.resize(BIG)
    assert two.resize(BIG)
    assert not two.resize(BIG + 1)
    assert other.resize(3 * BIG)
    assert (part.held, budget.held) == (BIG, 4 * BIG)
    assert not one.resize(BIG + 1)
    assert (part.held, budget.held) == (0, 3 * BIG)


def test_without_a_limit_everything_fits() -> None:
    budget = MemoryBudget(None)
    both = [Reservation(budget), Reservation(budget.part(4))]

    assert all(each.resize(1000 * BIG) for each in both)
    assert budget.held == 2000 * BIG


def test_whoever_forgets_a_reservation_releases_it() -> None:
    budget = MemoryBudget(BIG)
    assert Reservation(budget).resize(BIG)

    assert budget.held == 0
