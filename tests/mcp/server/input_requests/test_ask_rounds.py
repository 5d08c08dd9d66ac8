"""Questions of the stateless era: handlers that are run again, and the state between."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from accord import RpcError
from accord.jsonrpc.methods.context import Context as RpcContext
from accord.mcp import Accepted, Context, Elicit, ElicitUrl, Server
from accord.mcp.server.session import Principal, link_of
from tests.mcp.server.asking_client import Client, client_of, modern, text_of, unchecked

KEY = b"k" * 32


def accept(value: Any) -> dict[str, Any]:
    return {"action": "accept", "content": {"value": value}}


def demo(**options: Any) -> Server:
    server = Server("demo", version="1", **options)
    runs: list[str] = []

    @server.tool
    async def named(context: Context, text: str = "") -> str:
        name = await context.elicit("Name?", str, key="name")
        color = await context.elicit("Color?", str, key="color")
        assert isinstance(name, Accepted)
        assert isinstance(color, Accepted)
        return f"{name.content} {color.content}"

    @server.tool
    async def both(context: Context) -> str:
        found = await context.ask(a=Elicit("A?", str), b=Elicit("B?", str))
        return f"{found['a'].content}{found['b'].content}"

    @server.tool
    async def counted(context: Context) -> str:
        async def count() -> int:
            runs.append("count")
            return len(runs)

        first = await context.once("first", count)
        await context.elicit("Sure?", key="sure")
        second = await context.once("second", count)
        await context.elicit("Really?", key="really")
        return f"{first} {second} {len(runs)}"

    return server


async def begin(client: Client, tool: str, **params: Any) -> Any:
    return await client.tool(tool, _meta=modern(), **params)


async def refused(client: Client, tool: str, **params: Any) -> RpcError:
    with pytest.raises(RpcError) as caught:
        await begin(client, tool, **params)
    return caught.value


async def test_each_round_asks_what_comes_next_and_says_so() -> None:
    async with client_of(demo()) as client:
        first = await begin(client, "named")
        state = first.pop("requestState")
        assert first == {
            "resultType": "input_required",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "demo", "version": "1"}},
            "inputRequests": {
                "name": {
                    "method": "elicitation/create",
                    "params": {
                        "message": "Name?",
                        "requestedSchema": {
                            "type": "object",
                            "properties": {"value": {"type": "string"}},
                            "required": ["value"],
                        },
                    },
                }
            },
        }
        second = await begin(
            client, "named", inputResponses={"name": accept("Ada")}, requestState=state
        )
        assert list(second["inputRequests"]) == ["color"]
        assert second["requestState"] != state
        last = await begin(
            client,
            "named",
            inputResponses={"color": accept("red")},
            requestState=second["requestState"],
        )
    assert last["resultType"] == "complete"
    assert text_of(last) == "Ada red"


async def test_what_is_missing_is_asked_again_and_what_is_known_is_not() -> None:
    async with client_of(demo()) as client:
        first = await begin(client, "both")
        assert list(first["inputRequests"]) == ["a", "b"]
        nothing = await begin(client, "both", requestState=first["requestState"])
        assert list(nothing["inputRequests"]) == ["a", "b"]
        part = await begin(
            client, "both", inputResponses={"b": accept("2")}, requestState=first["requestState"]
        )
        assert list(part["inputRequests"]) == ["a"]
        done = await begin(
            client, "both", inputResponses={"a": accept("1")}, requestState=part["requestState"]
        )
    assert text_of(done) == "12"


async def test_answers_that_nobody_asked_for_are_ignored() -> None:
    async with client_of(demo()) as client:
        responses = {"a": accept("1"), "b": accept("2"), "c": accept("3")}
        assert text_of(await begin(client, "both", inputResponses=responses)) == "12"


async def test_an_answer_to_other_words_is_no_answer() -> None:
    server = Server("demo", version="1")
    asked = ["Delete one file?", "Delete all files?"]

    @server.tool
    async def delete(context: Context) -> str:
        answer = await context.elicit(asked[0], key="sure")
        return answer.action

    async with client_of(server) as client:
        first = await begin(client, "delete")
        asked.pop(0)
        yes = {"inputResponses": {"sure": {"action": "accept"}}}
        second = await begin(client, "delete", requestState=first["requestState"], **yes)
        assert second["inputRequests"]["sure"]["params"]["message"] == "Delete all files?"
        third = await begin(client, "delete", requestState=second["requestState"], **yes)
    assert text_of(third) == "accept"


async def test_the_same_question_may_be_asked_twice() -> None:
    server = Server("demo", version="1")

    @server.tool
    async def again(context: Context) -> str:
        answers = [await context.elicit("More?", str) for _ in range(3)]
        return "".join(it.content for it in answers if isinstance(it, Accepted))

    values = iter("xyz")
    async with client_of(server) as client:
        result, asked = await client.ask_until_done(
            "tools/call", {"name": "again"}, lambda key, it: accept(next(values))
        )
    assert text_of(result) == "xyz"
    keys = [next(iter(each["inputRequests"])) for each in asked]
    assert keys == [keys[0], f"{keys[0]}-2", f"{keys[0]}-3"]


async def test_what_is_done_once_is_not_done_again() -> None:
    async with client_of(demo()) as client:
        result, _ = await client.ask_until_done(
            "tools/call", {"name": "counted"}, lambda key, it: {"action": "accept"}
        )
    assert text_of(result) == "1 2 2"


async def test_what_is_done_once_is_finished_before_the_handler_is_left() -> None:
    server = Server("demo", version="1")
    runs: list[int] = []
    release = asyncio.Event()

    @server.tool
    async def slow(context: Context) -> str:
        async def effect() -> int:
            await release.wait()
            runs.append(1)
            return 7

        async with asyncio.TaskGroup() as group:
            done = group.create_task(context.once("effect", effect))
            group.create_task(context.elicit("Sure?"))
        return str(done.result())

    async with client_of(server) as client:
        call = asyncio.create_task(
            client.ask_until_done(
                "tools/call", {"name": "slow"}, lambda key, it: {"action": "accept"}
            )
        )
        await asyncio.sleep(0)
        release.set()
        result, asked = await call
    assert (text_of(result), len(asked), runs) == ("7", 1, [1])


async def test_a_handler_that_catches_everything_asks_all_the_same() -> None:
    server = Server("demo", version="1")

    @server.tool
    async def greedy(context: Context) -> str:
        try:
            answer = await context.elicit("Sure?")
        except Exception:
            return "caught as an exception"
        except BaseException:
            return "caught"
        return answer.action

    async with client_of(server) as client:
        result, asked = await client.ask_until_done(
            "tools/call", {"name": "greedy"}, lambda key, it: {"action": "accept"}
        )
    assert (text_of(result), len(asked)) == ("accept", 1)


@pytest.mark.parametrize("state", ["", "AAAA", "not base64!", "x" * 600_000])
async def test_state_that_is_none_of_ours_is_refused(state: str) -> None:
    async with client_of(demo()) as client:
        error = await refused(client, "named", requestState=state)
    assert (error.code, error.data) == (-32602, {"reason": "invalid_request_state"})


async def test_changed_state_is_refused_even_where_nothing_is_asked() -> None:
    server = demo()

    @server.tool
    async def silent() -> str:
        return "done"

    async with client_of(server) as client:
        state = (await begin(client, "named"))["requestState"]
        assert (await refused(client, "named", requestState=state + "A")).code == -32602
        assert (await refused(client, "named", requestState=state[:-1])).code == -32602
        assert (await refused(client, "silent", requestState=state)).code == -32602


async def test_state_belongs_to_one_request() -> None:
    async with client_of(demo()) as client:
        state = (await begin(client, "named", arguments={"text": "a"}))["requestState"]
        again = {"arguments": {"text": "a"}, "requestState": state}
        assert (await begin(client, "named", **again))["resultType"] == "input_required"
        other = {"arguments": {"text": "b"}, "requestState": state}
        assert (await refused(client, "named", **other)).code == -32602
        assert (await refused(client, "both", requestState=state)).code == -32602


async def test_state_belongs_to_one_principal() -> None:
    server = demo()
    who = [Principal(subject="ada")]

    @server.router.intercept
    async def authenticate(context: RpcContext, proceed: Any) -> Any:
        link_of(context).principal = who[0]
        return await proceed()

    async with client_of(server) as client:
        state = (await begin(client, "named"))["requestState"]
        assert (await begin(client, "named", requestState=state))["resultType"] == "input_required"
        who[0] = Principal(subject="eve")
        assert (await refused(client, "named", requestState=state)).code == -32602


async def test_state_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    async with client_of(demo(state_seconds=60)) as client:
        state = (await begin(client, "named"))["requestState"]
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + 61)
        assert (await refused(client, "named", requestState=state)).code == -32602


async def test_workers_with_the_same_keys_open_the_state_of_each_other() -> None:
    async with client_of(demo(state_keys=[KEY])) as client:
        state = (await begin(client, "named"))["requestState"]
    async with client_of(demo(state_keys=[b"n" * 32, KEY])) as client:
        result = await begin(client, "named", requestState=state)
        assert result["resultType"] == "input_required"
    async with client_of(demo()) as client:
        assert (await refused(client, "named", requestState=state)).code == -32602


async def test_answers_that_do_not_fit_into_the_state_are_an_error() -> None:
    async with client_of(demo()) as client:
        error = await refused(client, "named", inputResponses={"name": accept("x" * 1_000_000)})
    assert error.code == -32603


async def test_responses_that_are_no_object_are_refused() -> None:
    async with unchecked(demo()) as client:
        assert (await refused(client, "named", inputResponses=None)).code == -32602
        assert (await refused(client, "named", inputResponses={"name": 12345})).code == -32602


@pytest.mark.parametrize("kind", ["async", "thread", "inline"])
async def test_a_page_is_asked_for_until_the_user_has_been_there(kind: str) -> None:
    server = Server("demo", version="1")
    signed_in: list[bool] = []

    def look(context: Context) -> str:
        if not signed_in:
            page = ElicitUrl("Sign in", "https://a.example/connect", id="e1")
            raise context.url_required(page)
        return "files"

    async def look_async(context: Context) -> str:
        return look(context)

    server.tool("files", inline=kind == "inline")(look_async if kind == "async" else look)

    async with client_of(server) as client:
        first = await begin(client, "files")
        [(key, request)] = first["inputRequests"].items()
        assert request == {
            "method": "elicitation/create",
            "params": {
                "mode": "url",
                "message": "Sign in",
                "url": "https://a.example/connect",
            },
        }
        again = {
            "inputResponses": {key: {"action": "accept"}},
            "requestState": first["requestState"],
        }
        assert (await begin(client, "files", **again))["resultType"] == "input_required"
        signed_in.append(True)
        assert text_of(await begin(client, "files", **again)) == "files"
        signed_in.clear()
        with pytest.raises(RpcError) as caught:
            await client.tool("files", _meta=modern({"elicitation": {}}))
    assert caught.value.code == -32021


async def test_middleware_sees_a_handler_that_asks_like_any_other() -> None:
    server = demo()
    seen: list[str] = []

    @server.middleware
    async def look(request: Any, proceed: Any) -> Any:
        seen.append(request.method)
        return await proceed()

    async with client_of(server) as client:
        result, asked = await client.ask_until_done(
            "tools/call", {"name": "named"}, lambda key, it: accept(key)
        )
    assert (text_of(result), len(asked)) == ("name color", 2)
    assert seen == ["tools/call"] * 3
