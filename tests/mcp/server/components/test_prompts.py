"""Prompts and completion."""

from __future__ import annotations

import asyncio
from enum import Enum
from typing import Annotated, Any, Literal

import msgspec
import pytest

from accord import RegistrationError, RpcError
from accord.mcp import (
    Client,
    Completion,
    Context,
    GetPromptResult,
    Image,
    ImageContent,
    McpLimits,
    PromptMessage,
    Server,
    TextContent,
    assistant_message,
    user_message,
)
from accord.mcp.client.client import Mode

pytestmark = pytest.mark.req("M-05")


@pytest.fixture(params=["modern", "legacy"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return request.param  # type: ignore[no-any-return]


async def test_a_definition_has_all_that_was_said(mode: Mode) -> None:
    server = Server("s")

    @server.prompt(title="Greet")
    def greet(
        name: Annotated[str, "who"],
        how: Annotated[str, msgspec.Meta(title="How", description="in which way")] = "kindly",
    ) -> str:
        """Greets."""
        return name

    async with Client(server, mode=mode) as client:
        (prompt,) = await client.list_prompts()
    assert (prompt.name, prompt.title, prompt.description) == ("greet", "Greet", "Greets.")
    assert [msgspec.to_builtins(it) for it in prompt.arguments] == [
        {"name": "name", "description": "who", "required": True},
        {"name": "how", "title": "How", "description": "in which way"},
    ]


@pytest.mark.parametrize(
    ("value", "messages"),
    [
        ("hi", [PromptMessage("user", TextContent(text="hi"))]),
        (
            ["hi", assistant_message("hello"), user_message({"a": 1})],
            [
                PromptMessage("user", TextContent(text="hi")),
                PromptMessage("assistant", TextContent(text="hello")),
                PromptMessage("user", TextContent(text='{"a":1}')),
            ],
        ),
        (Image(b"GIF8"), [PromptMessage("user", ImageContent.of(b"GIF8", "image/gif"))]),
        (GetPromptResult(messages=[user_message("x")]), [user_message("x")]),
    ],
)
async def test_messages_are_what_a_function_returns(value: Any, messages: Any, mode: Mode) -> None:
    server = Server("s")
    server.prompt("get")(lambda: value)
    async with Client(server, mode=mode) as client:
        assert (await client.get_prompt("get")).messages == messages


async def test_a_prompt_that_takes_too_long_is_ended() -> None:
    server = Server("s", limits=McpLimits(call_seconds=0.01))

    @server.prompt
    async def wait() -> str:
        await asyncio.Event().wait()
        return ""

    async with Client(server) as client:
        with pytest.raises(RpcError) as caught:
            await client.get_prompt("wait")
    assert caught.value.data == {"reason": "timeout"}
    assert caught.value.message == "prompt 'wait' took longer than 0.01 s"


# Completion


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


async def test_what_annotations_list_is_completed_by_itself(mode: Mode) -> None:
    server = Server("s")

    @server.prompt
    def order(
        drink: Literal["tea", "Coffee"], size: Size | None = None, hot: bool = True, n: int = 1
    ) -> str:
        return drink

    @server.resource("menu://{drink}")
    def menu(drink: Literal["tea", "Coffee"]) -> str:
        return drink

    async with Client(server, mode=mode) as client:
        assert client.capabilities.completions == {}
        cases = [("drink", "C"), ("drink", "e"), ("size", ""), ("hot", "f"), ("n", "1")]
        found = [
            (await client.complete(prompt="order", argument=name, value=value)).values
            for name, value in cases
        ]
        menu_found = await client.complete(resource="menu://{drink}", argument="drink", value="t")
    assert found == [["Coffee"], ["Coffee", "tea"], ["small", "large"], ["false"], []]
    assert menu_found == Completion(values=["tea"], total=1, has_more=False)


async def test_functions_complete_what_they_are_for(mode: Mode) -> None:
    server = Server("s")
    server.prompt("greet")(lambda name, town: name)
    server.resource("x:{a}", name="x")(lambda a: a)

    @server.completion("greet", "town")
    async def towns(value: str, arguments: dict[str, str], context: Context) -> list[str]:
        return [f"{value}-{arguments.get('name')}-{context.version[:2]}"]

    @server.completion
    def anything(value: str, of: str, argument: str) -> list[str]:
        return [f"{of}.{argument}={value}"]

    async with Client(server, mode=mode) as client:
        town = await client.complete(
            prompt="greet", argument="town", value="O", context={"name": "Ada"}
        )
        name = await client.complete(prompt="greet", argument="name", value="A")
        a = await client.complete(resource="x:{a}", argument="a", value="1")
    assert (town.values, name.values, a.values) == (["O-Ada-20"], ["greet.name=A"], ["x:{a}.a=1"])


async def test_at_most_a_hundred_values_are_told(mode: Mode) -> None:
    server = Server("s")
    server.prompt("get")(lambda a: a)
    server.completion("get", "a")(lambda value: [str(n) for n in range(101)])
    async with Client(server, mode=mode) as client:
        found = await client.complete(prompt="get", argument="a", value="")
    assert (len(found.values), found.total, found.has_more) == (100, 101, True)


@pytest.mark.parametrize("reference", [{"prompt": "nope"}, {"resource": "no:where"}])
async def test_there_is_nothing_to_complete_where_nothing_is(
    reference: dict[str, Any], mode: Mode
) -> None:
    server = Server("s")
    server.prompt("get")(lambda a: a)
    server.completion(lambda value: [])
    async with Client(server, mode=mode) as client:
        with pytest.raises(RpcError) as caught:
            await client.complete(argument="a", value="", **reference)
    assert (caught.value.code, caught.value.data) == (
        -32602,
        {"reason": "completion_invalid_reference"},
    )


def test_a_completion_takes_what_there_is() -> None:
    server = Server("s")
    with pytest.raises(RegistrationError, match="nobody gives its parameter 'other'"):
        server.completion("get")(lambda other: [])
    server.completion("get")(lambda value: [])
    with pytest.raises(RegistrationError, match="already"):
        server.completion("get")(lambda value: [])
