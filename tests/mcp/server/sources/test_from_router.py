"""The methods of a router as tools."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord import Context, RegistrationError, Router, RpcError
from accord.jsonrpc.methods.method import About
from accord.mcp import Client, Server
from accord.mcp.client.client import Mode

pytestmark = pytest.mark.req("M-16")


@pytest.fixture(params=["modern", "legacy"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return request.param  # type: ignore[no-any-return]


def calculator() -> Router:
    router = Router()

    @router.method(
        "math.add", about=About(summary="Adds", description="Two numbers.", params={"a": "one"})
    )
    def add(a: int, b: int = 1) -> int:
        return a + b

    @router.method(thread=True)
    def slow(text: str) -> str:
        """Takes its time."""
        return text

    @router.method(deadline=0.02)
    async def wait() -> None:
        await asyncio.Event().wait()

    @router.method
    async def who(context: Context) -> str:
        return context.method

    @router.method
    def fail(how: str) -> None:
        if how == "told":
            raise RpcError("too large", code=1001)
        raise OSError("secret")

    @router.method(about=About(hidden=True))
    def hidden() -> None: ...

    @router.method(about=About(deprecated=True))
    def old() -> None:
        """Old."""

    return router


async def test_methods_are_described_as_tools(mode: Mode) -> None:
    server = Server.from_router(calculator(), name="calc", version="2")
    async with Client(server, mode=mode) as client:
        tools = {tool.name: tool for tool in await client.list_tools()}
    assert list(tools) == ["math_add", "slow", "wait", "who", "fail", "old"]
    assert tools["math_add"].description == "Adds\n\nTwo numbers."
    assert tools["math_add"].input_schema == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "one"},
            "b": {"type": "integer", "default": 1},
        },
        "required": ["a"],
        "additionalProperties": False,
    }
    assert tools["slow"].description == "Takes its time."
    assert tools["old"].description == "Deprecated. Old."


async def test_methods_run_as_in_their_router(mode: Mode, caplog: pytest.LogCaptureFixture) -> None:
    router = calculator()
    seen: list[str] = []

    @router.intercept
    async def watch(context: Context, proceed: Any) -> Any:
        seen.append(context.method)
        return await proceed()

    async with Client(Server.from_router(router), mode=mode) as client:
        cases: list[tuple[str, dict[str, Any]]] = [
            ("math_add", {"a": 2}),
            ("slow", {"text": "x"}),
            ("who", {}),
            ("wait", {}),
            ("fail", {"how": "told"}),
            ("fail", {"how": "not"}),
            ("math_add", {"a": "x"}),
        ]
        found = [await client.call_tool(*case) for case in cases]
    assert [it.text for it in found[:5]] == [
        "3",
        "x",
        "who",
        "The tool took longer than 0.02 s.",
        "too large",
    ]
    assert [it.is_error for it in found] == [False, False, False, True, True, True, True]
    assert "secret" not in found[5].text
    assert found[6].text == "parameter 'a': expected int, got str"
    assert seen == ["math.add", "slow", "who", "wait", "fail", "fail"]


async def test_methods_are_chosen_and_named() -> None:
    server = Server.from_router(
        calculator(), include=["math.*", "slow"], exclude=["slow"], naming=lambda name: name.upper()
    )
    assert server.tools.names() == ["MATH.ADD"]
    with pytest.raises(RegistrationError, match=r"no method fits 'nope\.\*'"):
        Server.from_router(calculator(), include="nope.*")


def test_a_method_that_cannot_be_called_by_names_is_refused() -> None:
    router = Router()

    @router.method
    def add(a: int, /) -> int:
        return a

    with pytest.raises(RegistrationError, match="'a' cannot be given by name"):
        Server.from_router(router)
