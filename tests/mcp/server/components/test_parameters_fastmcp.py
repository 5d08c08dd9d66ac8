"""What programs of FastMCP rely on: defaults by `Field(…)`, and integers written as 3.0."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from msgspec import Struct
from pydantic import BaseModel, Field

from accord import Router
from accord.mcp import Client, Context, Server


class Town(Struct):
    name: str
    people: int = 0


class Place(BaseModel):
    floor: int = Field(ge=0)


def make_server() -> Server:
    server = Server("as-fastmcp")

    @server.tool
    async def find(
        text: str = Field(description="What to look for"),
        most: int = Field(default=5, ge=1, le=10, description="How many"),
        tags: list[str] = Field(default_factory=list),  # noqa: B008
        town: Town = Field(default=Town("Oslo"), description="Near it"),  # noqa: B008
        exact: bool = False,
        *,
        context: Context,
    ) -> dict[str, Any]:
        tags.append("seen")
        return {"text": text, "most": most, "tags": tags, "town": town.name, "exact": exact}

    @server.tool
    def plainly(most: int = Field(3)) -> int:
        return most

    @server.tool(inline=True)
    def at_once(most: Annotated[int, Field(ge=1)] = Field(3)) -> int:
        return most

    @server.tool
    def numbers(
        whole: int,
        either: float,
        choice: Literal[1, 2] = 1,
        many: list[int] | None = None,
        town: Town | None = None,
        place: Place | None = None,
        anything: Any = None,
    ) -> list[Any]:
        people = None if town is None else town.people
        floor = None if place is None else place.floor
        return [whole, either, choice, many, people, floor, anything]

    return server


@pytest.mark.req("M-26")
async def test_a_field_in_the_place_of_a_default_is_read() -> None:
    async with Client(make_server()) as client:
        tools = {each.name: each for each in await client.list_tools()}
        schema = tools["find"].input_schema
        assert schema["required"] == ["text"]
        assert schema["properties"]["text"] == {"type": "string", "description": "What to look for"}
        most = schema["properties"]["most"]
        assert (most["minimum"], most["maximum"], most["default"]) == (1, 10, 5)
        assert most["description"] == "How many"
        assert "default" not in schema["properties"]["tags"]
        assert schema["properties"]["town"]["description"] == "Near it"
        for _ in range(2):  # a factory is asked each time
            found = await client.call_tool("find", {"text": "fjord"})
            assert found.structured == {
                "text": "fjord",
                "most": 5,
                "tags": ["seen"],
                "town": "Oslo",
                "exact": False,
            }
        given = {"text": "x", "most": 7, "tags": ["a"], "town": {"name": "Bergen"}, "exact": True}
        assert (await client.call_tool("find", given)).structured == {
            **given,
            "tags": ["a", "seen"],
            "town": "Bergen",
        }
        refused = await client.call_tool("find", {"text": "x", "most": 11})
        assert refused.is_error
        assert "most" in refused.text
        assert (await client.call_tool("find", {})).is_error
        for name in ("plainly", "at_once"):
            assert (await client.call_tool(name)).text == "3"
            assert (await client.call_tool(name, {"most": 4})).text == "4"
        assert (await client.call_tool("at_once", {"most": 0})).is_error


async def test_prompts_and_resources_have_such_defaults_too() -> None:
    server = Server("others")

    @server.prompt
    def ask(town: str = Field("Oslo", description="Which one")) -> str:
        return f"Ask about {town}."

    @server.resource("town://{name}{?most}")
    def read(name: str, most: int = Field(3, ge=1)) -> str:
        return f"{name} {most}"

    async with Client(server) as client:
        [prompt] = await client.list_prompts()
        assert prompt.arguments[0].description == "Which one"
        assert not prompt.arguments[0].required
        asked = await client.get_prompt("ask")
        assert asked.messages[0].content.text == "Ask about Oslo."  # type: ignore[union-attr]
        assert (await client.read_resource("town://oslo")).contents[0].text == "oslo 3"
        assert (await client.read_resource("town://oslo?most=4")).contents[0].text == "oslo 4"


@pytest.mark.req("M-26")
@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        ({"whole": 3.0, "either": 2.5}, [3, 2.5, 1, None, None, None, None]),
        ({"whole": 3, "either": 2}, [3, 2.0, 1, None, None, None, None]),
        ({"whole": -0.0, "either": 1e3, "choice": 2.0}, [0, 1000.0, 2, None, None, None, None]),
        ({"whole": 1e2, "either": 1, "many": [1.0, 2]}, [100, 1.0, 1, [1, 2], None, None, None]),
        (
            {"whole": 1, "either": 1, "town": {"name": "3.0", "people": 7.0}},
            [1, 1.0, 1, None, 7, None, None],
        ),
        ({"whole": 1, "either": 1, "place": {"floor": 2.0}}, [1, 1.0, 1, None, None, 2, None]),
        ({"whole": 1, "either": 1, "anything": 2.0}, [1, 1.0, 1, None, None, None, 2.0]),
    ],
)
async def test_a_number_without_a_fraction_is_an_integer(
    arguments: dict[str, Any], result: list[Any]
) -> None:
    async with Client(make_server()) as client:
        found = await client.call_tool("numbers", arguments)
        assert found.structured == result, found.text


LONG_TEXT = 'a 1.0, "2.0", \\ 3.0] \\" 4.0, é'


@pytest.mark.req("M-26")
async def test_the_numbers_of_long_lists_are_integers_too() -> None:
    server = Server("long")

    @server.tool
    def add(numbers: list[int], texts: list[str]) -> str:
        return f"{sum(numbers)} {'|'.join(set(texts))}"

    async with Client(server) as client:
        numbers = [2.0, 1, -1.0] * 100
        arguments = {"numbers": numbers, "texts": [LONG_TEXT] * 50}
        assert (await client.call_tool("add", arguments)).text == f"200 {LONG_TEXT}"
        wrong = {**arguments, "numbers": [*numbers, 1.5]}
        assert "expected int, got float" in (await client.call_tool("add", wrong)).text


@pytest.mark.parametrize("whole", [3.5, "3", "3.0", True, 1e16, 1e300, None])
async def test_nothing_else_becomes_one(whole: Any) -> None:
    async with Client(make_server()) as client:
        found = await client.call_tool("numbers", {"whole": whole, "either": 1.0})
        assert found.is_error
        assert found.text.startswith("parameter 'whole': expected int")


async def test_methods_of_a_router_as_tools_take_them_too_and_run_once() -> None:
    router = Router()
    calls: list[int] = []

    @router.method
    def double(value: int) -> int:
        calls.append(value)
        return 2 * value

    @router.method
    async def halve(value: int) -> float:
        calls.append(value)
        return value / 2

    async with Client(Server.from_router(router)) as client:
        assert (await client.call_tool("double", {"value": 3.0})).structured == 6
        assert (await client.call_tool("halve", {"value": 3.0})).structured == 1.5
        assert (await client.call_tool("double", {"value": 3.5})).is_error
    assert calls == [3, 3]


async def test_progress_that_does_not_grow_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("slow")
    heard: list[float] = []

    @server.tool
    async def walk(context: Context) -> str:
        for value in (1, 1, 0.5, 2):
            context.progress(value)
        return "there"

    with caplog.at_level("DEBUG", logger="accord.mcp"):
        async with Client(server, progress=lambda it: heard.append(it.progress)) as client:
            await client.call_tool("walk")
    assert heard == [1, 2]
    said = [each.getMessage() for each in caplog.records if "progress of" in each.getMessage()]
    assert said == [
        "progress of 1 after 1 is not sent",
        "progress of 0.5 after 1 is not sent",
    ]
