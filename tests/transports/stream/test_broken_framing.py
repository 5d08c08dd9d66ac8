"""Framing that cannot be read is answered and logged before the connection ends."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from accord import Peer, Router, serve
from accord.jsonrpc.protocol.errors import FramingError
from accord.jsonrpc.protocol.framing import ContentLengthFramer
from accord.transports.connect import open_channel
from accord.transports.options import Options
from tests.hostile.attacker import attacking
from tests.patience import PATIENCE
from tests.transports.recorder import Recorder
from tests.transports.stream.sockets import raw_client, serving

CALL = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def router() -> Router:
    found = Router()
    found.add(lambda: "pong", name="ping")
    return found


@pytest.mark.req("F-17", "F-30")
@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b"Content-Length: 2.0\r\n\r\n", "Content-Length is no length: b'2.0'"),
        (b"Content-Type: x\r\n\r\n", "header block with no Content-Length values"),
        (b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "header block with 2 Content-Length"),
        (b"nonsense\r\n\r\n", "header line without a colon: b'nonsense'"),
        (b"x: " + b"y" * 9_000, "header block of more than 8,192 bytes"),
        (CALL + b"\n", "a message without a Content-Length header"),
    ],
)
async def test_a_server_says_what_is_wrong_with_the_headers_before_it_ends(
    sent: bytes, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    whole = b"Content-Length: %d\r\n\r\n%b" % (len(CALL), CALL)
    async with (
        serve(router(), "tcp://127.0.0.1:0", framing="content-length") as server,
        attacking(server.url) as client,
    ):
        await client.send(whole + sent)
        answers = [json.loads(each) for each in ContentLengthFramer().feed(await client.until_cut())]  # type: ignore[arg-type]  # fmt: skip
        assert [answer["id"] for answer in answers] == [1, None]
        assert answers[0]["result"] == "pong"
        assert answers[1]["error"]["code"] == -32700
        assert answers[1]["error"]["message"].startswith(f"Parse error: {why}")
    lines = [line.getMessage() for line in caplog.records if line.levelno == logging.WARNING]
    assert any("its framing is broken" in line and why in line for line in lines), lines


@pytest.mark.req("F-17")
async def test_a_client_whose_server_breaks_the_framing_logs_it_and_sends_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = asyncio.Event()
    received: list[bytes] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.readuntil(b"}"))
        writer.write(b"no header at all\r\n\r\n")
        received.append(await reader.read())
        writer.close()
        told.set()

    async with asyncio.timeout(PATIENCE), await asyncio.start_server(accept, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        channel = await open_channel(f"tcp://127.0.0.1:{port}", Options(framing="content-length"))
        peer = Peer(channel, router())
        with pytest.raises(Exception, match="header line without a colon") as lost:
            await peer.call("ping")
        assert isinstance(lost.value.__cause__, FramingError)
        await told.wait()
        await peer.close()
    assert received[1] == b""
    assert any("its framing is broken" in line.getMessage() for line in caplog.records)


@pytest.mark.req("F-17")
async def test_lines_of_blanks_are_no_messages() -> None:
    async with serving() as service, raw_client(service) as client:
        await client.send(b" \n\t\r\n" + b"   \n" * 1_000 + CALL + b"\n \n")
        _, recorder = await service.connection()
        assert isinstance(recorder, Recorder)
        await recorder.received(1)
        await client.send(b"2\n")
        await recorder.received(2)
        assert recorder.messages == [CALL, b"2"]
