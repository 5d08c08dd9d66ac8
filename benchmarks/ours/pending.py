"""How much memory a call takes while it waits for its answer."""

from __future__ import annotations

import asyncio
import json
import sys
import tracemalloc

import accord

WARM_UP = 10


class Silent(asyncio.Protocol):
    """A server that counts messages and never answers."""

    def __init__(self, expected: int) -> None:
        self._missing = expected
        self.all_came = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self._missing -= data.count(b"\n")
        if self._missing <= 0:
            self.all_came.set()


async def measure(count: int) -> dict[str, float]:
    protocol = Silent(count + WARM_UP)
    server = await asyncio.get_running_loop().create_server(lambda: protocol, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    peer = await accord.connect(f"tcp://127.0.0.1:{port}")
    calls = [peer.begin("echo", {"text": "warm"}) for _ in range(WARM_UP)]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    calls += [peer.begin("echo", {"text": "waiting"}) for _ in range(count)]
    await protocol.all_came.wait()
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    peer.abort()
    await asyncio.gather(*(call.answer() for call in calls), return_exceptions=True)
    server.close()
    return {"bytes": held / count}


print(json.dumps(asyncio.run(measure(int(sys.argv[1])))), flush=True)
