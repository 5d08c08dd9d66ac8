"""The examples of the JSON-RPC 2.0 specification, over every transport."""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accord.transports.options import Framing
from tests.conformance import wires
from tests.conformance.transcript import read_transcript
from tests.conformance.wires import Exchange, Tls

EXCHANGES = read_transcript(Path(__file__).with_name("specification.txt"))


@asynccontextmanager
async def unix(framing: Framing) -> AsyncIterator[Exchange]:
    # Not tmp_path: a socket's path has to be short.
    with tempfile.TemporaryDirectory() as folder:
        async with wires.unix(Path(folder, "accord.sock"), framing) as exchange:
            yield exchange


Open = Callable[[Tls], AbstractAsyncContextManager[Exchange]]

TRANSPORTS: dict[str, Open] = {
    "memory": lambda tls: wires.memory(),
    "tcp, newline": lambda tls: wires.inet("newline"),
    "tcp, content-length": lambda tls: wires.inet("content-length"),
    "tls, newline": lambda tls: wires.inet("newline", tls),
    "tls, content-length": lambda tls: wires.inet("content-length", tls),
    "unix, newline": lambda tls: unix("newline"),
    "unix, content-length": lambda tls: unix("content-length"),
    "stdio, newline": lambda tls: wires.stdio("newline"),
    "stdio, content-length": lambda tls: wires.stdio("content-length"),
    "ws": lambda tls: wires.websocket(),
    "wss": wires.websocket,
    "http": lambda tls: wires.web(),
    "https": wires.web,
}


@pytest.fixture
def tls(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> Tls:
    return Tls(server_tls, client_tls)


def test_there_are_fifteen_exchanges() -> None:
    assert len({exchange.title for exchange in EXCHANGES}) == 15


@pytest.mark.req(
    "RPC-7a", "RPC-3a", "RPC-4.1a", "RPC-4.2a", "RPC-4.2b", "RPC-5a", "RPC-5b", "RPC-5c"
)
@pytest.mark.req("RPC-5d", "RPC-5.1d", "RPC-6a", "RPC-6b", "RPC-6c", "RPC-6d", "RPC-6e")
@pytest.mark.req("F-02", "F-04", "F-05", "F-06", "F-08", "F-16", "F-17", "F-19")
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_the_examples_are_answered_as_the_specification_prints_them(
    transport: str, tls: Tls
) -> None:
    answers: dict[str, Any] = {}
    async with TRANSPORTS[transport](tls) as exchange:
        for example in EXCHANGES:
            answers[example.title] = [
                _without_detail(msgspec.json.decode(answer))
                for answer in await exchange(example.sent)
            ]
    assert answers == {
        example.title: [] if example.answer is None else [msgspec.json.decode(example.answer)]
        for example in EXCHANGES
    }


def _without_detail(answer: Any) -> Any:
    """`Parse error: …` as the specification has it, `Parse error`, and without data."""
    if isinstance(answer, list):
        return [_without_detail(item) for item in answer]
    if "error" not in answer:
        return answer
    error = answer["error"]
    message = error["message"].partition(": ")[0]
    return {**answer, "error": {"code": error["code"], "message": message}}
