"""A server over HTTP as the tests of its endpoint talk to it, carried in two ways."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Literal, TypeAlias

import httpx
import msgspec
from msgspec import Struct

from accord.jsonrpc.protocol.framing import SseDecoder, SseEvent
from accord.mcp import Context, Server
from accord.mcp.protocol.headers import NAME_MEMBERS
from accord.mcp.server.http.endpoint import HTTP_LIMITS, McpEndpoint
from accord.transports.asgi.web import WebAsgi
from accord.transports.http.server import listen_web
from accord.transports.options import Options
from tests.patience import PATIENCE as PATIENCE
from tests.plain_http import NO_TLS
from tests.transports.asgi.service import uvicorn_serving

MODERN = "2026-07-28"
ACCEPT = {"accept": "application/json, text/event-stream"}

Carrier: TypeAlias = Literal["own", "uvicorn"]
CARRIERS: tuple[Carrier, ...] = ("own", "uvicorn")


class Gate:
    """Where a handler waits until the test lets it go on."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.opened = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def pass_through(self) -> None:
        self.entered.set()
        try:
            await self.opened.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


def make_server(gate: Gate | None = None, **options: Any) -> Server:
    """A server with a few tools that say what they do."""
    server = Server("shop", version="1.0", **options)
    held = Gate() if gate is None else gate

    @server.tool(inline=True)
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    async def report(context: Context, steps: int = 2) -> str:
        for step in range(steps):
            context.progress(step + 1, steps)
        return "reported"

    @server.tool
    async def wait(context: Context) -> str:
        await held.pass_through()
        return "waited"

    @server.tool
    async def report_and_wait(context: Context) -> str:
        context.info("begun")
        await held.pass_through()
        return "waited"

    @server.tool
    async def let_go(context: Context) -> str:
        context.close_stream()
        await held.pass_through()
        return "came back"

    @server.tool
    async def ask_name(context: Context) -> str:
        answer = await context.elicit("Your name?", str)
        return f"{answer}"

    @server.resource("note://one")
    def note() -> str:
        return "a note"

    @server.prompt
    def greet(name: str) -> str:
        return f"Greet {name}"

    return server


class Reply(Struct, frozen=True):
    """A response as a test sees it."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def events(self) -> list[SseEvent]:
        assert self.headers["content-type"] == "text/event-stream"
        return SseDecoder().feed(self.body)

    @property
    def messages(self) -> list[Any]:
        """The messages of a stream, without priming events."""
        return [msgspec.json.decode(event.data) for event in self.events if event.data]

    @property
    def error(self) -> tuple[int, int, Any]:
        """Status, code and id of an error."""
        return self.status, self.json["error"]["code"], self.json["id"]


class Listening:
    """A response that is still coming."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.headers = dict(response.headers)
        self._chunks = response.aiter_raw()
        self._decoder = SseDecoder()
        self._events: list[SseEvent] = []

    async def event(self) -> SseEvent:
        async with asyncio.timeout(PATIENCE):
            while not self._events:
                self._events += self._decoder.feed(await anext(self._chunks))
        return self._events.pop(0)

    async def message(self) -> Any:
        while not (event := await self.event()).data:
            pass
        return msgspec.json.decode(event.data)

    async def rest(self) -> list[Any]:
        """The messages until the stream ends."""
        messages = []
        while True:
            try:
                messages.append(await self.message())
            except StopAsyncIteration:
                return messages

    async def leave(self) -> None:
        await self._response.aclose()


class Site:
    """A server under test, and a client of it."""

    def __init__(self, url: str, endpoint: McpEndpoint, client: httpx.AsyncClient) -> None:
        self.url = url
        self.endpoint = endpoint
        self.client = client

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].split("/")[0])

    async def send(self, method: str, body: Any = None, *, url: str = "", **headers: str) -> Reply:
        content = body if isinstance(body, bytes | None) else msgspec.json.encode(body)
        response = await self.client.request(
            method, url or self.url, content=content, headers=_names(headers)
        )
        return Reply(response.status_code, dict(response.headers), response.content)

    async def post(self, body: Any, **headers: str) -> Reply:
        """POST with the headers that every client sends."""
        defaults = {**ACCEPT, "content-type": "application/json"}
        return await self.send("POST", body, **{**defaults, **_names(headers)})

    @asynccontextmanager
    async def open(
        self, method: str, body: Any = None, *, url: str = "", **headers: str
    ) -> AsyncIterator[Listening]:
        given = {**ACCEPT, "content-type": "application/json", **_names(headers)}
        content = None if body is None else msgspec.json.encode(body)
        async with self.client.stream(
            method, url or self.url, content=content, headers=given
        ) as response:
            yield Listening(response)

    async def modern(self, method: str, /, **params: Any) -> Reply:
        """A request of the stateless era."""
        body = request(method, with_meta(params))
        return await self.post(body, **modern_headers(method, params))

    async def call_modern(self, tool: str, **arguments: Any) -> Reply:
        return await self.modern("tools/call", name=tool, arguments=arguments)

    async def session(self, version: str = "2025-11-25", **headers: str) -> Shaken:
        """A session whose handshake is complete."""
        answer = await self.post(initialize(version), **headers)
        assert answer.status == 200, answer
        shaken = Shaken(self, answer.headers["mcp-session-id"], version, headers)
        done = await shaken.post(notification("notifications/initialized"))
        assert (done.status, done.body) == (202, b"")
        return shaken

    async def until(self, condition: Any) -> None:
        """Wait for what nobody tells of."""
        async with asyncio.timeout(PATIENCE):
            while not condition():  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.002)


class Shaken(Struct, frozen=True):
    """A client in a session."""

    site: Site
    id: str
    version: str
    further: dict[str, str]

    @property
    def headers(self) -> dict[str, str]:
        return {
            "mcp-session-id": self.id,
            "mcp-protocol-version": self.version,
            **_names(self.further),
        }

    async def post(self, body: Any, **headers: str) -> Reply:
        return await self.site.post(body, **{**self.headers, **_names(headers)})

    async def request(self, method: str, /, *, id: int | str = 1, **params: Any) -> Reply:
        return await self.post(request(method, params, id=id))

    async def call(self, tool: str, /, *, id: int | str = 1, **arguments: Any) -> Reply:
        return await self.request("tools/call", id=id, name=tool, arguments=arguments)

    @asynccontextmanager
    async def calling(
        self, tool: str, /, *, id: int | str = 1, **arguments: Any
    ) -> AsyncIterator[Listening]:
        body = request("tools/call", {"name": tool, "arguments": arguments}, id=id)
        async with self.site.open("POST", body, **self.headers) as listening:
            yield listening

    @asynccontextmanager
    async def listening(self, last: str = "") -> AsyncIterator[Listening]:
        headers = {**self.headers, **({"last-event-id": last} if last else {})}
        async with self.site.open("GET", **headers) as listening:
            yield listening

    async def end(self) -> Reply:
        return await self.site.send("DELETE", **self.headers)


@asynccontextmanager
async def serving(
    server: Server | None = None, carrier: Carrier = "own", **options: Any
) -> AsyncIterator[Site]:
    endpoint = McpEndpoint(make_server() if server is None else server, **options)
    limits = options.get("limits", HTTP_LIMITS)
    async with AsyncExitStack() as stack:
        if carrier == "own":
            listener = await listen_web("http://127.0.0.1:0/mcp", endpoint, Options(limits=limits))
            stack.push_async_callback(listener.close)
            url = listener.url
        else:
            app = WebAsgi(endpoint, path="/mcp", limits=limits)
            port = await stack.enter_async_context(uvicorn_serving(app))
            url = f"http://127.0.0.1:{port}/mcp"
        stack.push_async_callback(endpoint.close, 0)
        client = await stack.enter_async_context(httpx.AsyncClient(timeout=PATIENCE, verify=NO_TLS))
        yield Site(url, endpoint, client)


def request(method: str, params: Any = None, *, id: Any = 1) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else {**message, "params": params}


def notification(method: str, params: Any = None) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "method": method}
    return message if params is None else {**message, "params": params}


def initialize(version: str = "2025-11-25", **capabilities: Any) -> dict[str, Any]:
    client = {"name": "tests", "version": "1"}
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": client}
    return request("initialize", params)


def with_meta(params: dict[str, Any], version: str = MODERN, **meta: Any) -> dict[str, Any]:
    own = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        **meta,
    }
    return {**params, "_meta": {**own, **params.get("_meta", {})}}


def modern_headers(method: str, params: dict[str, Any]) -> dict[str, str]:
    headers = {"mcp-protocol-version": MODERN, "mcp-method": method}
    member = NAME_MEMBERS.get(method)
    if member is not None and member in params:
        headers["mcp-name"] = params[member]
    return headers


def _names(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-").lower(): value for name, value in headers.items()}
