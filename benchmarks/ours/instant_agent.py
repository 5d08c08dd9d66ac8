"""An agent that answers at once, and costs next to nothing: JSON-RPC over HTTP/1.1 in both formats
of A2A, without any check. Prints its port; each line on stdin is answered with how often it was
asked.

    python -m benchmarks.ours.instant_agent
"""

from __future__ import annotations

import asyncio
import sys

from msgspec import Raw, Struct, json

ANSWER = "done"
V03 = (
    b'{"jsonrpc":"2.0","id":%b,"result":{"kind":"message","role":"agent","messageId":"1",'
    b'"parts":[{"kind":"text","text":"done"}]}}'
)
V10 = (
    b'{"jsonrpc":"2.0","id":%b,"result":{"message":{"role":"ROLE_AGENT","messageId":"1",'
    b'"parts":[{"text":"done"}]}}}'
)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"


class Request(Struct):
    id: Raw
    method: str


DECODER = json.Decoder(Request)
asked = 0


class Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._rest += data
        while self._answer_one():
            pass

    def _answer_one(self) -> bool:
        end = self._rest.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = self._rest[:end].lower()
        length = int(head[head.index(b"content-length:") + 15 :].split(b"\r\n", 1)[0])
        start = end + 4
        if len(self._rest) < start + length:
            return False
        body, self._rest = self._rest[start : start + length], self._rest[start + length :]
        self._answer(body)
        return True

    def _answer(self, body: bytes) -> None:
        global asked
        asked += 1
        request = DECODER.decode(body)
        answer = (V03 if "/" in request.method else V10) % bytes(request.id)
        self._transport.write(HEAD % (len(answer), answer))


async def main() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    while await loop.run_in_executor(None, sys.stdin.readline):
        print(asked, flush=True)


asyncio.run(main())
