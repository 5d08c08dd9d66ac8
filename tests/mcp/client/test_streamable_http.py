"""Streamable HTTP of both eras, as a client, with servers that do as they are told."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from accord import ConnectionLostError, RpcError, TransportError
from accord.jsonrpc.protocol.channel import Limits
from accord.mcp import Client
from accord.mcp.client.auth_hook import AuthRequest
from accord.mcp.client.subscriptions import Change
from accord.mcp.protocol.messages import ProgressParams
from tests.mcp.client.scripted import complete, text
from tests.mcp.client.web import Request, Stream, sessions, stateless, web
from tests.patience import PATIENCE

TOOL = {"name": "x", "inputSchema": {"type": "object"}}


def answer(request: Request, value: str = "done") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request.message["id"], "result": complete(**text(value))}


def progress(request: Request, value: int) -> dict[str, Any]:
    token = request.message["params"]["_meta"]["progressToken"]
    params = {"progressToken": token, "progress": value}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def of(request: Request, *names: str) -> dict[str, str]:
    return {name: request.headers[name] for name in names if name in request.headers}


# The stateless era


@pytest.mark.req("M-09", "M-15")
async def test_every_stateless_request_has_its_headers() -> None:
    async def call(request: Request) -> None:
        await request.result(complete(**text("done")))

    async with (
        web(stateless({"tools/call": call})) as server,
        Client(server.url, headers={"X-Mine": "1"}) as client,
    ):
        await client.call_tool("grüße")
    discover, called = server.requests
    assert of(discover, "mcp-protocol-version", "mcp-method", "mcp-name") == {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "server/discover",
    }
    name = base64.b64encode("grüße".encode()).decode()
    wanted = ("accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name", "x-mine")
    assert of(called, *wanted) == {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": f"=?base64?{name}?=",
        "x-mine": "1",
    }
    assert "mcp-session-id" not in called.headers


async def test_a_stream_brings_progress_and_then_the_answer() -> None:
    async def call(request: Request) -> None:
        stream = await request.stream()
        await stream.raw(b": hello\n\n")
        await stream.send(progress(request, 1))
        await stream.send(progress(request, 2))
        await stream.send(answer(request))
        await stream.end()

    told: list[ProgressParams] = []
    async with web(stateless({"tools/call": call})) as server, Client(server.url) as client:
        assert (await client.call_tool("x", progress=told.append)).text == "done"
    assert [each.progress for each in told] == [1, 2]


async def test_progress_gives_a_call_more_time_up_to_the_longest() -> None:
    async def call(request: Request) -> None:
        stream = await request.stream()
        for step in range(100_000):
            await stream.send(progress(request, step))
            await asyncio.sleep(0.02)

    async with web(stateless({"tools/call": call})) as server, Client(server.url) as client:
        began = asyncio.get_running_loop().time()
        with pytest.raises(TimeoutError):
            await client.call_tool("x", timeout=0.2, longest=0.6)
        assert asyncio.get_running_loop().time() - began > 0.5


@pytest.mark.parametrize("how", ["timeout", "cancelled"])
async def test_a_call_is_cancelled_by_closing_its_stream(how: str) -> None:
    begun: asyncio.Future[Stream] = asyncio.get_running_loop().create_future()

    async def call(request: Request) -> None:
        begun.set_result(await request.stream())

    async with web(stateless({"tools/call": call})) as server, Client(server.url) as client:
        task = asyncio.create_task(client.call_tool("x", timeout=0.1 if how == "timeout" else 9))
        stream = await begun
        if how == "cancelled":
            task.cancel()
        with pytest.raises((TimeoutError, asyncio.CancelledError)):
            await task
        await stream.closed()
    assert server.rpcs() == ["server/discover", "tools/call"]


async def test_a_broken_stream_is_not_resumed_in_the_stateless_era() -> None:
    async def call(request: Request) -> None:
        stream = await request.stream()
        await stream.send(id="1")
        stream.cut()

    async with web(stateless({"tools/call": call})) as server, Client(server.url) as client:
        with pytest.raises(ConnectionLostError) as error:
            await client.call_tool("x")
        assert error.value.recoverable
    assert "GET" not in server.rpcs()


async def test_parameters_are_mirrored_into_headers() -> None:
    schema = {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "inner": {
                "type": "object",
                "properties": {"n": {"type": "integer", "x-mcp-header": "N"}},
            },
        },
    }

    async def listed(request: Request) -> None:
        tools = [{"name": "x", "inputSchema": schema}]
        await request.result(complete(tools=tools, ttlMs=0, cacheScope="public"))

    async def call(request: Request) -> None:
        await request.result(complete(**text("done")))

    methods = {"tools/list": listed, "tools/call": call}
    async with web(stateless(methods)) as server, Client(server.url) as client:
        await client.list_tools()
        await client.call_tool("x", {"region": " north ", "inner": {"n": 42}})
        await client.call_tool("x", {"region": None})
    first, second = server.requests[-2:]
    assert of(first, "mcp-param-region", "mcp-param-n") == {
        "mcp-param-region": "=?base64?IG5vcnRoIA==?=",
        "mcp-param-n": "42",
    }
    assert of(second, "mcp-param-region", "mcp-param-n") == {}


async def test_a_tool_with_invalid_annotations_is_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bad = {"type": "object", "properties": {"n": {"type": "number", "x-mcp-header": "N"}}}

    async def listed(request: Request) -> None:
        tools = [{"name": "bad", "inputSchema": bad}, {"name": "good", "inputSchema": {}}]
        await request.result(complete(tools=tools, ttlMs=0, cacheScope="public"))

    async with web(stateless({"tools/list": listed})) as server, Client(server.url) as client:
        with caplog.at_level(logging.WARNING, "accord.mcp"):
            assert [tool.name for tool in await client.list_tools()] == ["good"]
    assert "tool bad left out" in caplog.text


async def test_tools_are_listed_again_when_headers_do_not_fit() -> None:
    async def listed(request: Request) -> None:
        properties = {"a": {"type": "string", "x-mcp-header": "A"}}
        tools = [{"name": "x", "inputSchema": {"type": "object", "properties": properties}}]
        await request.result(complete(tools=tools, ttlMs=60_000, cacheScope="public"))

    async def call(request: Request) -> None:
        if request.headers.get("mcp-param-a") == "1":
            await request.result(complete(**text("done")))
        else:
            await request.error(400, -32020)

    methods = {"tools/list": listed, "tools/call": call}
    async with web(stateless(methods)) as server, Client(server.url) as client:
        assert (await client.call_tool("x", {"a": "1"})).text == "done"
        with pytest.raises(RpcError) as error:
            await client.call_tool("x", {"a": "2"})
        assert error.value.code == -32020
    calls = ["tools/call", "tools/list", "tools/call"]
    assert server.rpcs() == ["server/discover", *calls, *calls]


async def test_changes_are_heard_and_listening_begins_again_after_a_loss() -> None:
    listens: list[Request] = []

    async def listen(request: Request) -> None:
        listens.append(request)
        stream = await request.stream()
        meta = {"io.modelcontextprotocol/subscriptionId": request.message["id"]}
        wanted = request.message["params"]["notifications"]
        acknowledged = {"_meta": meta, "notifications": wanted}
        method = "notifications/subscriptions/acknowledged"
        await stream.send({"jsonrpc": "2.0", "method": method, "params": acknowledged})
        changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        await stream.send({**changed, "params": {"_meta": meta}})
        if len(listens) == 1:
            await asyncio.sleep(0.05)
            stream.cut()
        else:
            result = {"resultType": "complete", "_meta": meta}
            await stream.send({"jsonrpc": "2.0", "id": request.message["id"], "result": result})
            await stream.end()

    async with (
        web(stateless({"subscriptions/listen": listen})) as server,
        Client(server.url) as client,
        client.listen(tools=True) as changes,
    ):
        assert await changes.next(5) == Change("tools")
        assert await changes.next(5) == Change("tools")
        async with asyncio.timeout(PATIENCE):
            assert [change async for change in changes] in ([], [Change("tools")])
    assert len(listens) == 2
    assert listens[0].message["params"]["notifications"] == {"toolsListChanged": True}
    assert listens[0].message["id"] != listens[1].message["id"]


# The handshake era


@pytest.mark.req("M-15")
async def test_a_session_is_begun_kept_and_ended() -> None:
    async def call(request: Request) -> None:
        await request.result(text("done"))

    async with web(sessions({"tools/call": call})) as server, Client(server.url) as client:
        assert client.protocol_version == "2025-11-25"
        assert (await client.call_tool("x")).text == "done"
    by_name = {request.rpc: request for request in server.requests}
    assert set(server.rpcs()) == {
        *("server/discover", "initialize", "notifications/initialized"),
        *("GET", "tools/call", "DELETE"),
    }
    assert of(by_name["initialize"], "mcp-session-id", "mcp-protocol-version", "mcp-method") == {}
    kept = {"mcp-session-id": "s1", "mcp-protocol-version": "2025-11-25"}
    for name in ("notifications/initialized", "tools/call", "GET", "DELETE"):
        assert of(by_name[name], "mcp-session-id", "mcp-protocol-version", "mcp-method") == kept


@pytest.mark.req("M-15")
async def test_one_new_session_is_begun_when_the_last_one_is_gone() -> None:
    async def call(request: Request) -> None:
        if request.headers["mcp-session-id"] == "s1":
            await request.reply(404)
        else:
            await request.result(text("done"))

    async with (
        web(sessions({"tools/call": call})) as server,
        Client(server.url, mode="legacy") as client,
    ):
        results = await asyncio.gather(*(client.call_tool("x") for _ in range(10)))
        assert [result.text for result in results] == ["done"] * 10
    assert server.rpcs().count("initialize") == 2
    assert server.requests[-1].headers["mcp-session-id"] == "s2"


async def test_a_server_that_forgets_every_session_is_not_asked_for_ever() -> None:
    async def call(request: Request) -> None:
        await request.reply(404)

    async with (
        web(sessions({"tools/call": call})) as server,
        Client(server.url, mode="legacy") as client,
    ):
        with pytest.raises(TransportError, match="session is gone"):
            await client.call_tool("x")
    assert server.rpcs().count("initialize") == 2


async def test_subscriptions_and_the_log_level_are_made_anew_with_the_session() -> None:
    async def ok(request: Request) -> None:
        await request.result({})

    async def call(request: Request) -> None:
        if request.headers["mcp-session-id"] == "s1":
            await request.reply(404)
        else:
            await request.result(text("done"))

    async def begin(request: Request) -> None:
        count = server.rpcs().count("initialize")
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}, "logging": {}, "resources": {"subscribe": True}},
            "serverInfo": {"name": "web", "version": "1"},
        }
        await request.result(result, mcp_session_id=f"s{count}")

    methods = {
        "initialize": begin,
        "tools/call": call,
        "resources/subscribe": ok,
        "resources/unsubscribe": ok,
        "logging/setLevel": ok,
    }
    async with web(sessions(methods)) as server, Client(server.url, mode="legacy") as client:
        await client.set_log_level("error")
        async with client.listen(resources=["a:b"]) as changes:
            await client.call_tool("x")
            assert await changes.next(5) == Change("resource", "a:b")
    again = [
        request.rpc for request in server.requests if request.headers.get("mcp-session-id") == "s2"
    ]
    assert [name for name in again if name in methods] == [
        *("logging/setLevel", "resources/subscribe", "tools/call", "resources/unsubscribe")
    ]


async def test_a_broken_stream_is_resumed_in_the_handshake_era() -> None:
    calls: list[Request] = []

    async def call(request: Request) -> None:
        calls.append(request)
        stream = await request.stream()
        await stream.send(id="e1", retry=10)
        await stream.send(progress(request, 1), id="e2")
        await stream.end()

    async def get(request: Request) -> None:
        if "last-event-id" not in request.headers:
            await request.reply(405)
            return
        stream = await request.stream()
        await stream.send(answer(calls[0]), id="e3")
        await stream.end()

    async with (
        web(sessions({"tools/call": call, "GET": get})) as server,
        Client(server.url, mode="legacy") as client,
    ):
        result = await client.call_tool("x", progress=lambda told: None)
        assert result.text == "done"
    resumed = [request for request in server.requests if "last-event-id" in request.headers]
    assert [of(request, "last-event-id", "mcp-session-id", "accept") for request in resumed] == [
        {"last-event-id": "e2", "mcp-session-id": "s1", "accept": "text/event-stream"}
    ]


async def test_what_cannot_be_resumed_is_lost() -> None:
    async def call(request: Request) -> None:
        stream = await request.stream()
        await stream.send(id="e1", retry=1)
        await stream.end()

    async def call_without_id(request: Request) -> None:
        stream = await request.stream()
        await stream.end()

    for method in (call, call_without_id):
        async with (
            web(sessions({"tools/call": method})) as server,
            Client(server.url, mode="legacy") as client,
        ):
            with pytest.raises(ConnectionLostError):
                await client.call_tool("x")


async def test_a_call_is_cancelled_in_words_in_the_handshake_era() -> None:
    cancelled: asyncio.Future[Request] = asyncio.get_running_loop().create_future()

    async def call(request: Request) -> None:
        await request.stream()

    async def hear(request: Request) -> None:
        await request.reply(202)
        cancelled.set_result(request)

    methods = {"tools/call": call, "notifications/cancelled": hear}
    async with web(sessions(methods)) as server, Client(server.url, mode="legacy") as client:
        with pytest.raises(TimeoutError):
            await client.call_tool("x", timeout=0.05)
        heard = await cancelled
    called = next(request for request in server.requests if request.rpc == "tools/call")
    assert heard.message["params"] == {"requestId": called.message["id"]}
    assert heard.headers["mcp-session-id"] == "s1"


async def test_what_belongs_to_no_request_comes_on_a_stream_of_its_own() -> None:
    async def get(request: Request) -> None:
        stream = await request.stream()
        await stream.send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await stream.send({"jsonrpc": "2.0", "id": "p1", "method": "ping"})

    async with (
        web(sessions({"GET": get})) as server,
        Client(server.url, mode="legacy") as client,
    ):
        async with client.listen(tools=True) as changes:
            assert await changes.next(5) == Change("tools")
        pong = {"jsonrpc": "2.0", "id": "p1", "result": {}}
        await server.until(lambda: pong in [request.message for request in server.requests])


async def test_the_stream_beside_requests_is_made_anew() -> None:
    gets: list[Request] = []
    twice = asyncio.Event()

    async def get(request: Request) -> None:
        gets.append(request)
        stream = await request.stream()
        await stream.send({"jsonrpc": "2.0", "method": "x"}, id=f"g{len(gets)}", retry=5)
        if len(gets) == 1:
            await stream.end()
        else:
            twice.set()

    async with (
        web(sessions({"GET": get})) as server,
        Client(server.url, mode="legacy"),
        asyncio.timeout(PATIENCE),
    ):
        await twice.wait()
    assert [request.headers.get("last-event-id") for request in gets[:2]] == [None, "g1"]


# What servers may get wrong


@pytest.mark.parametrize(
    ("status", "body"), [(400, b""), (404, b"nope"), (405, b"{}"), (400, b'{"error":"x"}')]
)
async def test_a_refusal_that_is_no_jsonrpc_means_an_older_server(status: int, body: bytes) -> None:
    async def discover(request: Request) -> None:
        await request.reply(status, body)

    async with (
        web(sessions({"server/discover": discover})) as server,
        Client(server.url) as client,
    ):
        assert client.protocol_version == "2025-11-25"


async def test_an_error_of_the_stateless_era_is_no_sign_of_an_older_server() -> None:
    async def discover(request: Request) -> None:
        await request.error(400, -32021, {"requiredCapabilities": {"sampling": {}}})

    async with web(sessions({"server/discover": discover})) as server:
        with pytest.raises(RpcError) as error:
            async with Client(server.url):
                pass
    assert error.value.code == -32021
    assert server.rpcs() == ["server/discover"]


@pytest.mark.parametrize("status", [401, 403, 500, 503])
async def test_a_server_that_refuses_for_other_reasons_is_not_taken_for_an_older_one(
    status: int,
) -> None:
    async def discover(request: Request) -> None:
        await request.reply(status)

    async with web(sessions({"server/discover": discover})) as server:
        with pytest.raises(TransportError) as error:
            async with Client(server.url):
                pass
    assert error.value.data["status"] == status
    assert server.rpcs() == ["server/discover"]


async def test_an_error_without_an_id_is_the_answer() -> None:
    async def call(request: Request) -> None:
        await request.json(400, {"jsonrpc": "2.0", "error": {"code": -32600, "message": "bad"}})

    async with web(stateless({"tools/call": call})) as server, Client(server.url) as client:
        with pytest.raises(RpcError) as error:
            await client.call_tool("x")
        assert error.value.code == -32600


@pytest.mark.parametrize(
    "body", [b"", b"hello", b"[]", b'{"jsonrpc":"2.0","id":99,"result":{}}', b'{"jsonrpc":"2.0"}']
)
async def test_a_reply_that_is_no_answer_is_an_error(body: bytes) -> None:
    async def call(request: Request) -> None:
        await request.reply(200, body, {"content-type": "application/json"})

    async with web(stateless({"tools/call": call})) as server, Client(server.url) as client:
        with pytest.raises(TransportError):
            await client.call_tool("x", timeout=5)


@pytest.mark.req("M-25")
@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize(
    "location", ["/moved?a=1#b", "moved?a=1", "{origin}/moved?a=1", "//{authority}/moved?a=1"]
)
@pytest.mark.parametrize("make", [stateless, sessions])
async def test_a_redirect_within_the_origin_is_followed(
    make: Any, location: str, status: int
) -> None:
    class Auth:
        asked: ClassVar[list[str]] = []

        async def headers(self, request: AuthRequest) -> Mapping[str, str]:
            self.asked.append(request.url)
            return {"authorization": "Bearer secret"}

        async def challenged(self, *args: Any) -> bool:
            return False

    async def call(request: Request) -> None:
        result = text("done")
        await request.result(complete(**result) if make is stateless else result)

    served = make({"tools/call": call})

    async def handle(request: Request) -> None:
        if request.target == "/mcp":
            authority = server.url.split("/")[2]
            given = location.format(origin=f"http://{authority}", authority=authority)
            await request.reply(status, b"elsewhere", {"location": given})
        else:
            await served(request)

    async with web(handle) as server, Client(server.url, auth=Auth()) as client:
        assert (await client.call_tool("x")).text == "done"
    called = [each for each in server.requests if each.rpc == "tools/call"]
    first, second = (each for each in called)
    assert [first.target, second.target] == ["/mcp", "/moved?a=1"]
    assert second.message == first.message
    assert second.headers["authorization"] == "Bearer secret"
    assert Auth.asked[1] == server.url.removesuffix("/mcp") + "/moved?a=1", "as DPoP signs it"


@pytest.mark.req("M-25")
@pytest.mark.parametrize(
    "location",
    [
        "http://example.org/",
        "https://{authority}/mcp",
        "http://localhost.example:{port}/mcp",
        "http://127.0.0.1:1/mcp",
        "http://user:pass@{authority}/mcp",
        "ftp://{authority}/mcp",
        "http://[::1/mcp",
        "",
    ],
)
async def test_nothing_is_sent_where_another_origin_is_named(location: str) -> None:
    async def handle(request: Request) -> None:
        authority = server.url.split("/")[2]
        given = location.format(authority=authority, port=authority.split(":")[1])
        await request.reply(307, headers={"location": given} if given else {})

    async with web(handle) as server:
        with pytest.raises(TransportError, match="redirect"):
            async with Client(server.url, headers={"authorization": "Bearer secret"}):
                pass
    assert len(server.requests) == 1


@pytest.mark.req("M-25")
async def test_redirects_have_an_end() -> None:
    async def handle(request: Request) -> None:
        await request.reply(307, headers={"location": request.target})

    async with web(handle) as server:
        with pytest.raises(TransportError, match="more than 5 times"):
            async with Client(server.url):
                pass
    assert len(server.requests) == 6


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_redirects_that_may_change_the_method_are_not_followed(status: int) -> None:
    async def handle(request: Request) -> None:
        await request.reply(status, headers={"location": "/elsewhere"})

    async with web(handle) as server:
        with pytest.raises(TransportError):
            async with Client(server.url):
                pass
    assert {each.target for each in server.requests} == {"/mcp"}


async def test_an_answer_that_is_too_large_is_refused() -> None:
    async def call(request: Request) -> None:
        await request.result(complete(**text("x" * 100_000)))

    async def stream(request: Request) -> None:
        events = await request.stream()
        await events.send(answer(request, "x" * 100_000))

    for method in (call, stream):
        async with web(stateless({"tools/call": method})) as server:
            limits = Limits(max_message_bytes=50_000)
            async with Client(server.url, limits=limits) as client:
                with pytest.raises(RpcError, match="50,000 bytes"):
                    await client.call_tool("x")


async def test_a_server_that_is_not_there() -> None:
    async with web(stateless({})) as server:
        url = server.url
    with pytest.raises(TransportError) as error:
        async with Client(url):
            pass
    assert error.value.recoverable


# Credentials


class Renewing:
    """Credentials that are renewed once."""

    def __init__(self) -> None:
        self.token = "old"
        self.challenges: list[tuple[AuthRequest, int, str]] = []

    async def headers(self, request: AuthRequest) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    async def challenged(
        self, request: AuthRequest, status: int, headers: Mapping[str, str]
    ) -> bool:
        self.challenges.append((request, status, headers["www-authenticate"]))
        self.token = "new"
        return True


async def test_credentials_are_renewed_when_they_are_refused() -> None:
    async def handle(request: Request) -> None:
        if request.headers.get("authorization") == "Bearer new":
            await stateless({})(request)
        else:
            await request.reply(401, b"who?", {"www-authenticate": "Bearer"})

    auth = Renewing()
    async with web(handle) as server, Client(server.url, auth=auth) as client:
        assert client.protocol_version == "2026-07-28"
    asked = AuthRequest(
        method="POST",
        url=server.url,
        server=server.url,
        headers={"Authorization": "Bearer old"},
    )
    assert auth.challenges == [(asked, 401, "Bearer")]


async def test_a_server_that_refuses_all_credentials_is_given_up() -> None:
    async def handle(request: Request) -> None:
        await request.reply(401, b"", {"www-authenticate": "Bearer"})

    auth = Renewing()
    async with web(handle) as server:
        with pytest.raises(TransportError) as error:
            async with Client(server.url, auth=auth):
                pass
    assert error.value.data["status"] == 401
    assert len(auth.challenges) == 5


async def test_a_fixed_token_is_sent_with_every_request() -> None:
    async with (
        web(sessions({})) as server,
        Client(server.url, auth="secret"),
    ):
        pass
    assert {request.headers.get("authorization") for request in server.requests} == {
        "Bearer secret"
    }


# Closing


async def test_closing_leaves_no_task_behind() -> None:
    async def get(request: Request) -> None:
        await request.stream()

    async def call(request: Request) -> None:
        await request.stream()

    async with web(sessions({"GET": get, "tools/call": call})) as server:
        before = asyncio.all_tasks()
        async with Client(server.url, mode="legacy") as client:
            task = asyncio.create_task(client.call_tool("x"))
            await server.until(lambda: {"tools/call", "GET"} <= set(server.rpcs()))
        with pytest.raises(TransportError):
            await task
        ours = {each for each in asyncio.all_tasks() - before if "Web.serve" not in repr(each)}
        assert ours == set()
    assert server.rpcs()[-1] == "DELETE"
