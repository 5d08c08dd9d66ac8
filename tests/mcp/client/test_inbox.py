"""What a server may ask its client for, as each era asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accord import RpcError
from accord.jsonrpc.protocol.errors import InvalidResultError
from accord.mcp import Client
from accord.mcp.client.inbox import InputHandlers
from accord.mcp.protocol.content import TextContent
from accord.mcp.protocol.input_requests import (
    CreateMessage,
    CreateMessageResult,
    ElicitForm,
    ElicitResult,
    ElicitUrlParams,
)
from tests.mcp.client.scripted import complete, legacy, modern, text, watched_server

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        "age": {"type": "integer", "default": 7},
    },
    "required": ["name"],
}
FORM = {"mode": "form", "message": "Who?", "requestedSchema": SCHEMA}
URL = {"mode": "url", "message": "Pay.", "url": "https://example.org/pay", "elicitationId": "7"}
SAMPLE = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 9}


async def asked_in_a_handshake(method: str, params: dict[str, Any], **handlers: Any) -> Any:
    """What a client answers when the server asks while it serves a tool."""
    answers: list[Any] = []

    async def call(_: dict[str, Any]) -> Any:
        answers.append(await server.peer.call(method, params, timeout=5))
        return text("done")

    server = legacy({"tools/call": call})
    async with watched_server(server) as (url, _), Client(url, mode="legacy", **handlers) as client:
        await client.call_tool("x")
    return answers[0]


async def asked_in_a_result(method: str, params: dict[str, Any], **handlers: Any) -> Any:
    """What a client repeats a call with that asks for input."""
    params = {name: it for name, it in params.items() if name != "elicitationId"}

    def call(given: dict[str, Any]) -> Any:
        if "inputResponses" not in given:
            question = {"q": {"method": method, "params": params}}
            return {"resultType": "input_required", "inputRequests": question}
        return complete(**text("done"))

    server = modern({"tools/call": call})
    async with watched_server(server) as (url, _), Client(url, **handlers) as client:
        await client.call_tool("x")
    return server.heard[-1][1]["inputResponses"]["q"]


both = pytest.mark.parametrize("ask", [asked_in_a_handshake, asked_in_a_result])


@pytest.mark.req("M-06")
@both
async def test_a_form_is_filled_in_and_defaults_are_kept(ask: Any) -> None:
    forms: list[ElicitForm | ElicitUrlParams] = []

    async def fill_in(form: ElicitForm | ElicitUrlParams) -> dict[str, Any]:
        forms.append(form)
        return {"name": "anna", "age": 8}

    answer = await ask("elicitation/create", FORM, elicitation=fill_in)
    assert answer == {"action": "accept", "content": {"name": "anna", "color": "red", "age": 8}}
    assert forms == [ElicitForm(message="Who?", requested_schema=SCHEMA, mode="form")]


@both
async def test_a_form_is_declined_or_cancelled(ask: Any) -> None:
    assert await ask("elicitation/create", FORM, elicitation=lambda form: None) == {
        "action": "decline"
    }
    cancelled = ElicitResult(action="cancel", content={"name": "dropped"})
    assert await ask("elicitation/create", FORM, elicitation=lambda form: cancelled) == {
        "action": "cancel"
    }


@both
async def test_a_page_is_opened_or_not(ask: Any) -> None:
    pages = []

    def consent(page: ElicitForm | ElicitUrlParams) -> dict[str, Any]:
        assert isinstance(page, ElicitUrlParams)
        pages.append(page.url)
        return {}

    assert await ask("elicitation/create", URL, elicitation=consent) == {"action": "accept"}
    assert pages == ["https://example.org/pay"]


@both
async def test_a_mode_that_was_not_declared_is_refused(ask: Any) -> None:
    with pytest.raises(RpcError) as error:
        await ask("elicitation/create", URL, elicitation=lambda _: {}, elicitation_modes=["form"])
    assert error.value.code == -32602


@both
async def test_a_model_answers(ask: Any) -> None:
    def sample(asked: CreateMessage) -> CreateMessageResult:
        assert asked.max_tokens == 9
        content = TextContent(text="hello")
        return CreateMessageResult(role="assistant", content=content, model="m", stop_reason="end")

    assert await ask("sampling/createMessage", SAMPLE, sampling=sample) == {
        "role": "assistant",
        "content": {"type": "text", "text": "hello"},
        "model": "m",
        "stopReason": "end",
    }
    assert await ask("sampling/createMessage", SAMPLE, sampling=lambda asked: "hello") == {
        "role": "assistant",
        "content": {"type": "text", "text": "hello"},
        "model": "unknown",
    }


@both
async def test_tools_are_not_sampled_with_unless_declared(ask: Any) -> None:
    params = {**SAMPLE, "tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
    with pytest.raises(RpcError) as error:
        await ask("sampling/createMessage", params, sampling=lambda asked: "x")
    assert error.value.code == -32602
    await ask("sampling/createMessage", params, sampling=lambda asked: "x", sampling_tools=True)


@both
async def test_roots_are_listed(ask: Any, tmp_path: Path) -> None:
    expected = {"roots": [{"uri": tmp_path.as_uri(), "name": tmp_path.name}, {"uri": "file:///a"}]}
    assert await ask("roots/list", {}, roots=[tmp_path, "file:///a"]) == expected

    async def roots() -> list[Path | str]:
        return [tmp_path, "file:///a"]

    assert await ask("roots/list", {}, roots=roots) == expected


@both
@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create", "roots/list"])
async def test_what_nobody_answers_is_refused(ask: Any, method: str) -> None:
    with pytest.raises(RpcError) as error:
        await ask(method, {})
    assert error.value.code == -32601


@both
async def test_malformed_questions_are_refused(ask: Any) -> None:
    with pytest.raises(RpcError) as error:
        await ask("sampling/createMessage", {"messages": 5}, sampling=lambda asked: "x")
    assert error.value.code == -32602


async def test_a_handler_that_fails_tells_the_server_nothing_of_why() -> None:
    def fail(asked: Any) -> str:
        raise OSError("secret")

    with pytest.raises(RpcError) as error:
        await asked_in_a_handshake("sampling/createMessage", SAMPLE, sampling=fail)
    assert error.value.code == -32603
    assert "secret" not in str(error.value.data) + error.value.message


def test_a_client_without_handlers_declares_nothing() -> None:
    can = InputHandlers().capabilities
    assert (can.sampling, can.elicitation, can.roots) == (None, None, None)


async def test_the_state_is_echoed_and_the_ids_are_new() -> None:
    rounds = iter(
        [
            {"inputRequests": {"a": {"method": "roots/list"}}, "requestState": "s \n1"},
            {"requestState": "s2"},
            {"inputRequests": {"b": {"method": "roots/list"}}},
            None,
        ]
    )

    def call(params: dict[str, Any]) -> Any:
        step = next(rounds)
        return (
            complete(**text("done")) if step is None else {"resultType": "input_required", **step}
        )

    server = modern({"tools/call": call})
    async with Client(server, roots=["file:///a"]) as client:
        assert (await client.call_tool("x", {"n": 1})).text == "done"
    calls = [params for name, params in server.heard if name == "tools/call"]
    roots = {"roots": [{"uri": "file:///a"}]}
    assert [
        (each["arguments"], each.get("requestState"), each.get("inputResponses")) for each in calls
    ] == [
        ({"n": 1}, None, None),
        ({"n": 1}, "s \n1", {"a": roots}),
        ({"n": 1}, "s2", None),
        ({"n": 1}, None, {"b": roots}),
    ]


async def test_resources_and_prompts_may_ask_too() -> None:
    def ask_first(result: dict[str, Any]) -> Any:
        def method(params: dict[str, Any]) -> Any:
            if "inputResponses" in params:
                return complete(**result)
            question = {"q": {"method": "roots/list"}}
            return {"resultType": "input_required", "inputRequests": question}

        return method

    contents = {"contents": [{"uri": "a:b", "text": "x"}], "ttlMs": 60_000, "cacheScope": "public"}
    server = modern(
        {"resources/read": ask_first(contents), "prompts/get": ask_first({"messages": []})}
    )
    async with Client(server, roots=[]) as client:
        assert (await client.get_prompt("p")).messages == []
        for _ in range(2):
            assert (await client.read_resource("a:b")).contents[0].text == "x"
    assert server.methods().count("resources/read") == 4  # 2026-07-28, caching: not kept


async def test_a_server_that_never_stops_asking_is_given_up() -> None:
    server = modern(
        {"tools/call": lambda params: {"resultType": "input_required", "requestState": "again"}}
    )
    async with Client(server) as client:
        with pytest.raises(RpcError, match="16 rounds"):
            await client.call_tool("x")


@pytest.mark.parametrize(
    "result",
    [
        {"resultType": "input_required"},
        {"resultType": "input_required", "inputRequests": {"a": 5}},
        {
            "resultType": "input_required",
            "inputRequests": {str(n): {"method": "roots/list"} for n in range(65)},
        },
        {"resultType": "something"},
        [],
    ],
)
async def test_results_that_make_no_sense_are_refused(result: Any) -> None:
    async with Client(modern({"tools/call": lambda params: result}), roots=[]) as client:
        with pytest.raises(InvalidResultError):
            await client.call_tool("x")


async def test_the_server_is_told_of_changed_roots() -> None:
    server = legacy({"notifications/roots/list_changed": lambda params: None})
    async with Client(server, mode="legacy", roots=list) as client:
        await client.roots_changed()
        with pytest.raises(RpcError):
            await client.ping()  # which this server does not know; what came before has arrived
    assert server.methods()[-1] == "notifications/roots/list_changed"
    assert server.heard[0][1]["capabilities"] == {"roots": {"listChanged": True}}
