"""Who is at the other end of what stays open: WebSockets, streams, sessions, tasks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from accord.jsonrpc.protocol.errors import ConnectError, RegistrationError, RpcError
from accord.mcp import Client, Context, Server
from accord.mcp.server.auth import Principal, ProtectedResource, StaticTokens, UnavailableError
from accord.mcp.server.serving import serve
from tests.mcp.server.auth.service import ADA, EVE, ROOT, bearer, make_shop, tokens
from tests.mcp.server.http.service import (
    ACCEPT,
    PATIENCE,
    Carrier,
    Gate,
    initialize,
    make_server,
    modern_headers,
    notification,
    request,
    serving,
    with_meta,
)

SOCKET = "ws://127.0.0.1:0/mcp"
TYPED = {**ACCEPT, "content-type": "application/json"}


# WebSocket


@pytest.mark.req("M-17", "M-09")
@pytest.mark.parametrize("mode", ["modern", "legacy"])
@pytest.mark.parametrize("slow", [False, True])
async def test_a_websocket_belongs_to_whoever_opened_it(mode: Any, slow: bool) -> None:
    known = tokens()

    class Slow:
        async def verify(self, token: str) -> Principal | None:
            await asyncio.sleep(0.01)
            return known.verify(token)

    async with make_shop().serve(SOCKET, auth=Slow() if slow else known) as serving:
        for token, name, tools in (
            (ADA, "ada", ["whoami", "orders"]),
            (EVE, "eve", ["whoami"]),
            (ROOT, "root", ["whoami", "orders", "order", "close"]),
        ):
            async with Client(serving.url, headers=bearer(token), mode=mode) as client:
                assert (await client.call_tool("whoami")).text == name
                assert [tool.name for tool in await client.list_tools()] == tools
        async with Client(serving.url, headers=bearer(EVE), mode=mode) as client:
            with pytest.raises(RpcError) as caught:
                await client.call_tool("orders")
        assert caught.value.data == {
            "reason": "insufficient_permissions",
            "scopes": ["orders:read"],
        }


@pytest.mark.req("M-17")
@pytest.mark.parametrize(
    ("headers", "query", "status", "challenge"),
    [
        ({}, "", b"401 Unauthorized", b"www-authenticate: Bearer\r\n"),
        (bearer("guess"), "", b"401 Unauthorized", b'Bearer error="invalid_token"'),
        (
            {"authorization": "Bearer a b"},
            "",
            b"400 Bad Request",
            b'Bearer error="invalid_request"',
        ),
        (bearer(ADA), "?access_token=x", b"400 Bad Request", b'Bearer error="invalid_request"'),
        (bearer("broken"), "", b"503 Service Unavailable", b"retry-after: 5\r\n"),
        (bearer("crash"), "", b"500 Internal Server Error", b"content-type: application/json\r\n"),
    ],
)
async def test_nobody_else_opens_a_websocket(
    headers: dict[str, str], query: str, status: bytes, challenge: bytes
) -> None:
    known = tokens()

    class Breaking:
        async def verify(self, token: str) -> Principal | None:
            if token == "broken":
                raise UnavailableError("nobody knows")
            if token == "crash":
                raise RuntimeError("a mistake")
            return known.verify(token)

    async with make_shop().serve(SOCKET, auth=Breaking()) as serving:
        port = int(serving.url.split(":")[2].split("/")[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        lines = {
            "host": f"127.0.0.1:{port}",
            "upgrade": "websocket",
            "connection": "upgrade",
            "sec-websocket-version": "13",
            "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
            **headers,
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        writer.write(f"GET /mcp{query} HTTP/1.1\r\n{head}\r\n".encode())
        async with asyncio.timeout(PATIENCE):
            answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 " + status + b"\r\n")
        assert challenge in answer
        writer.close()
        with pytest.raises(ConnectError):
            async with Client(serving.url + query, headers=headers):
                pass


async def test_a_websocket_whose_client_leaves_is_not_decided_on() -> None:
    asked, decided = asyncio.Event(), asyncio.Event()

    class Waiting:
        async def verify(self, token: str) -> Principal | None:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                decided.set()
            return None

    async with make_shop().serve(SOCKET, auth=Waiting()) as serving:
        client = Client(serving.url, headers=bearer(ADA))
        opening = asyncio.ensure_future(client.__aenter__())
        await asked.wait()
        opening.cancel()
        async with asyncio.timeout(PATIENCE):
            await decided.wait()


@pytest.mark.req("M-17")
async def test_a_websocket_ends_with_its_token() -> None:
    short = StaticTokens({ADA: Principal(subject="ada", expires=time.time() + 0.3)})
    ended = asyncio.Event()
    server = make_shop()

    @server.tool
    async def stay() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with (
        server.serve(SOCKET, auth=short) as serving,
        Client(serving.url, headers=bearer(ADA)) as client,
    ):
        staying = asyncio.ensure_future(client.call_tool("stay"))
        async with asyncio.timeout(PATIENCE):
            await ended.wait()
        staying.cancel()
        await asyncio.wait([staying])


async def test_a_websocket_may_be_a_protected_resource() -> None:
    auth = ProtectedResource(
        tokens(),
        resource="https://shop.example/mcp",
        authorization_servers=["https://issuer.example"],
    )
    async with (
        make_shop().serve(SOCKET, auth=auth) as serving,
        Client(serving.url, headers=bearer(ADA)) as client,
    ):
        assert (await client.call_tool("whoami")).text == "ada"


# Other transports


@pytest.mark.parametrize("url", ["memory:shop", "tcp://127.0.0.1:0"])
async def test_all_clients_of_a_transport_without_headers_are_one(url: str) -> None:
    local = Principal(subject="local", scopes=frozenset(("orders:read",)))
    async with make_shop().serve(url, principal=local) as serving, Client(serving.url) as client:
        assert (await client.call_tool("whoami")).text == "local"
        assert [tool.name for tool in await client.list_tools()] == ["whoami", "orders"]


@pytest.mark.parametrize("url", ["stdio:", "memory:shop", "tcp://127.0.0.1:0", "unix:///shop"])
def test_tokens_are_not_asked_for_where_nobody_can_present_one(url: str) -> None:
    with pytest.raises(ValueError, match="needs headers"):
        serve(make_shop(), url, auth=tokens())


@pytest.mark.parametrize("url", [SOCKET, "http://127.0.0.1:0/mcp"])
def test_nobody_is_let_in_as_somebody_where_everybody_can_say_who_they_are(url: str) -> None:
    with pytest.raises(ValueError, match="`auth` says who calls"):
        serve(make_shop(), url, principal=Principal(subject="local"))


# Streams


def short_lived(*, seconds: float) -> tuple[StaticTokens, Callable[[], bool]]:
    until = time.time() + seconds
    verifier = StaticTokens(
        {ADA: Principal(subject="ada", expires=until), "renewed": Principal(subject="ada")}
    )
    return verifier, lambda: time.time() > until


@pytest.mark.req("M-17")
async def test_who_listens_is_not_told_more_than_the_token_allows(carrier: Carrier) -> None:
    auth, has_ended = short_lived(seconds=1)
    async with serving(make_server(), carrier, auth=auth, pulse_seconds=0.05) as site:
        session = await site.session(**bearer(ADA))
        async with session.listening() as stream:
            assert (await stream.event()).data == b""
            assert await stream.rest() == []
        assert has_ended()
        accepting = {**session.headers, "accept": "text/event-stream"}
        assert (await site.send("GET", **accepting)).status == 401
        renewed = {**accepting, **bearer("renewed")}
        async with site.open("GET", **renewed) as stream:
            assert stream.status == 200


async def test_a_renewed_token_keeps_a_stream_open(carrier: Carrier) -> None:
    auth, has_ended = short_lived(seconds=0.5)
    server = make_server()
    async with serving(server, carrier, auth=auth, pulse_seconds=0.05) as site:
        session = await site.session(**bearer(ADA))
        async with session.listening() as stream:
            await stream.event()
            renewed = {**session.headers, **bearer("renewed")}
            assert (await site.post(request("ping"), **renewed)).status == 200
            await site.until(has_ended)
            await asyncio.sleep(0.2)  # several beats, each of which would have ended it
            server.tools.remove("add")
            assert (await stream.message())["method"] == "notifications/tools/list_changed"


@pytest.mark.req("M-17")
async def test_a_subscription_ends_with_its_token(carrier: Carrier) -> None:
    auth, has_ended = short_lived(seconds=1)
    async with serving(make_server(), carrier, auth=auth) as site:
        params = {"notifications": {"toolsListChanged": True}}
        headers = {**modern_headers("subscriptions/listen", {}), **bearer(ADA)}
        body = request("subscriptions/listen", with_meta(params), id=7)
        async with site.open("POST", body, **headers) as stream:
            first, last = await stream.rest()
        assert has_ended()
        assert first["method"] == "notifications/subscriptions/acknowledged"
        assert (last["id"], last["result"]["resultType"]) == (7, "complete")
        assert len(site.endpoint.server.listeners) == 0


async def test_an_old_stream_has_the_rights_of_the_newest_token(carrier: Carrier) -> None:
    scoped = Principal(subject="ada", scopes=frozenset(("orders:read",)))
    auth = StaticTokens({"first": "ada", "second": scoped, EVE: "eve"})
    async with (
        serving(make_shop(), carrier, auth=auth, old_sse=True) as site,
        site.open("GET", url=f"{site.url}/sse", **bearer("first")) as stream,
    ):
        url = site.url.removesuffix("/mcp") + (await stream.event()).data.decode()

        async def post(message: Any, token: str) -> int:
            return (await site.send("POST", message, url=url, **TYPED, **bearer(token))).status

        assert await post(initialize("2024-11-05"), "first") == 202
        await stream.message()
        assert await post(notification("notifications/initialized"), "first") == 202
        call = request("tools/call", {"name": "orders"}, id=2)
        assert await post(call, "first") == 202
        assert (await stream.message())["error"]["code"] == -32055
        assert await post(call, EVE) == 404
        assert await post(call, "second") == 202
        assert (await stream.message())["result"]["content"][0]["text"] == "your orders"


async def test_an_old_stream_ends_with_its_token(carrier: Carrier) -> None:
    auth, has_ended = short_lived(seconds=0.5)
    options: dict[str, Any] = {"auth": auth, "old_sse": True, "pulse_seconds": 0.05}
    async with serving(make_shop(), carrier, **options) as site:
        async with site.open("GET", url=f"{site.url}/sse", **bearer(ADA)) as stream:
            await stream.event()
            assert await stream.rest() == []
        assert has_ended()


async def test_a_call_goes_on_when_the_token_has_ended_that_it_was_made_with() -> None:
    auth, has_ended = short_lived(seconds=0.5)
    gate = Gate()
    async with serving(make_server(gate), auth=auth, pulse_seconds=0.05) as site:
        session = await site.session(**bearer(ADA))
        async with session.calling("wait") as stream:
            await site.until(has_ended)
            gate.opened.set()
            (answer,) = await stream.rest()
        assert answer["result"]["content"][0]["text"] == "waited"


# What belongs to somebody


@pytest.mark.req("M-17")
async def test_the_task_of_another_is_not_there(carrier: Carrier) -> None:
    server = Server("shop")
    go = asyncio.Event()

    @server.tool(task="required")
    async def work(context: Context) -> str:
        await go.wait()
        return f"done for {context.principal.subject if context.principal else 'nobody'}"

    capabilities: Any = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    meta: Any = {"io.modelcontextprotocol/clientCapabilities": capabilities}
    other_app = Principal(subject="ada", client_id="other application")
    auth = StaticTokens({ADA: "ada", EVE: "eve", "other": other_app})
    async with serving(server, carrier, auth=auth) as site:

        async def ask(token: str, method: str, **params: Any) -> Any:
            headers = {**modern_headers(method, params), **bearer(token)}
            return (await site.post(request(method, with_meta(params, **meta)), **headers)).json

        created = await ask(ADA, "tools/call", name="work", arguments={})
        id = created["result"]["taskId"]
        missing = await ask(ADA, "tasks/get", taskId="no such task")
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            more: Any = {"inputResponses": {}} if method == "tasks/update" else {}
            for token in (EVE, "other"):
                answer = await ask(token, method, taskId=id, **more)
                assert answer["error"]["code"] == missing["error"]["code"]
                assert answer["error"]["data"]["reason"] == "task_not_found"
        go.set()
        async with asyncio.timeout(PATIENCE):
            while (got := await ask(ADA, "tasks/get", taskId=id))["result"]["status"] == "working":
                pass
        assert got["result"]["result"]["content"][0]["text"] == "done for ada"


@pytest.mark.req("M-17")
async def test_what_may_be_used_is_the_same_where_a_server_is_mounted() -> None:
    outer = Server("outer")
    outer.mount(make_shop(), prefix="shop")
    async with serving(outer, auth=tokens()) as site:
        for token, tools in (
            (EVE, ["shop_whoami"]),
            (ROOT, ["shop_whoami", "shop_orders", "shop_order", "shop_close"]),
        ):
            session = await site.session(**bearer(token))
            listed = (await session.request("tools/list")).json["result"]["tools"]
            assert [tool["name"] for tool in listed] == tools
            for name in ("shop_orders", "shop_close"):
                assert ((await session.call(name)).status == 200) == (name in tools)


def test_who_may_use_a_component_is_decided_at_once() -> None:
    server = Server("shop")

    async def later(principal: Principal | None) -> bool:
        return False

    with pytest.raises(RegistrationError, match="not an async one"):
        server.tool("never", allow=later)(lambda: "never")


async def test_a_function_that_answers_later_is_taken_for_no() -> None:
    server = Server("shop")

    class Answer:
        def __await__(self) -> Any:
            yield

    @server.tool(inline=True, allow=lambda principal: Answer())
    def never() -> str:
        return "never"

    async with serving(server, auth=tokens()) as site:
        session = await site.session(**bearer(ROOT))
        assert (await session.request("tools/list")).json["result"]["tools"] == []
        assert (await session.call("never")).status == 403
