"""An agent that is broken in one way: a good one behind something that spoils its answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from accord.a2a.checker.probes import Probe, ProbeResponse
from accord.a2a.demo import DemoAgent
from accord.a2a.protocol.card import WELL_KNOWN
from accord.jsonrpc.protocol.framing import encode_event
from accord.transports.urls import parse_web_address
from tests.a2a.scripted import LOCAL, Asked, read_asked

PASSED_ON = ("authorization", "content-type", "accept", "a2a-version", "x-correlation-id")


class Reply(Struct):
    """An answer on its way back."""

    status: int
    content_type: str
    value: Any
    """Decoded, where it is JSON."""
    headers: str = ""
    events: list[Any] | None = None

    @property
    def body(self) -> bytes:
        if self.events is not None:
            return b"".join(encode_event(json.dumps(each).encode()) for each in self.events)
        return json.dumps(self.value).encode()


class Request(Struct, frozen=True):
    """What was asked."""

    http: Asked
    value: Any
    """The body, decoded; None for what is no JSON."""

    @property
    def is_card(self) -> bool:
        return self.http.method == "GET"

    @property
    def method(self) -> str:
        return str(self.value.get("method", "")) if isinstance(self.value, dict) else ""

    @property
    def message(self) -> Any:
        return self.value["params"].get("message") or {}


Spoil = Callable[[Request, Reply], None]
HANG = 0
"""The status of an answer that never comes."""


class Breaking:
    def __init__(self, url: str, spoil: Spoil, probe: Probe) -> None:
        self._inside = parse_web_address(url)
        self._spoil = spoil
        self._probe = probe
        self.url = ""

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                asked = await read_asked(reader)
                reply = await self._reply(asked)
                if reply.status == HANG:
                    await reader.read()
                    return
                body = reply.body
                head = (
                    f"HTTP/1.1 {reply.status} x\r\ncontent-type: {reply.content_type}\r\n"
                    f"content-length: {len(body)}\r\n{reply.headers}\r\n"
                )
                writer.write(head.encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _reply(self, asked: Asked) -> Reply:
        headers = {name: value for name, value in asked.headers.items() if name in PASSED_ON}
        address = (
            self._inside
            if asked.method == "POST"
            else parse_web_address(f"{self._inside}"[:-1] + WELL_KNOWN)
        )
        seen = await self._probe.ask(asked.method, address, headers, asked.body or None)
        assert isinstance(seen, ProbeResponse)
        events = [json.loads(each) for each in seen.events] or None
        reply = Reply(seen.status, seen.content_type, seen.json, events=events)
        if asked.method == "GET":
            reply.value = json.loads(
                seen.body.replace(str(self._inside).encode(), self.url.encode())
            )
        try:
            value = json.loads(asked.body)
        except ValueError:
            value = None
        self._spoil(Request(asked, value), reply)
        return reply


@asynccontextmanager
async def breaking(spoil: Spoil, *, token: str = "") -> AsyncIterator[str]:
    """The URL of the demo agent, broken by `spoil`."""
    async with (
        DemoAgent("demo", token=token).serve("http://127.0.0.1:0/", drain=0) as serving,
        Probe(policy=LOCAL, timeout=10, patience=10) as probe,
    ):
        agent = Breaking(serving.url, spoil, probe)
        server = await asyncio.start_server(agent.connected, "127.0.0.1", 0)
        agent.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        try:
            yield agent.url
        finally:
            server.close()
            await asyncio.sleep(0)
