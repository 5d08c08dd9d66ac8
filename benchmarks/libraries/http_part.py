"""HTTP clients: requests to a small server in another process, hostile responses, imports."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final

import aiohttp
import httpx

from accord.transports.http.requester import Requester
from accord.transports.options import Options
from accord.transports.urls import parse_web_address
from benchmarks.libraries.figures import attempt, import_cost, micro_async, show, versions

REQUESTS: Final = 1_000
BODY: Final = b'{"jsonrpc":"2.0","id":1,"method":"echo","params":{"text":"' + b"x" * 100 + b'"}}'
HEADERS: Final = {"content-type": "application/json", "accept": "application/json"}

SERVER: Final = """
import asyncio, gzip

class Server(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.data = transport, b""
    def data_received(self, data):
        self.data += data
        head, found, body = self.data.partition(b"\\r\\n\\r\\n")
        if not found:
            return
        size = head.lower().partition(b"content-length:")[2].split(b"\\r\\n")[0].strip()
        if len(body) < int(size or 0):
            return
        self.data = b""
        path = head.split()[1]
        if path == b"/zeros":
            self.transport.write(b"HTTP/1.1 200 OK\\r\\ncontent-encoding: gzip\\r\\n"
                b"content-length: %d\\r\\n\\r\\n" % len(ZEROS) + ZEROS)
        elif path == b"/endless":
            self.transport.write(b"HTTP/1.1 200 OK\\r\\ncontent-length: 900000000\\r\\n\\r\\n"
                + b"x" * 900_000_000)
        elif path == b"/head":
            self.transport.write(b"HTTP/1.1 200 OK\\r\\n" + b"x: y\\r\\n" * 20_000_000)
        else:
            self.transport.write(b"HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\n"
                b"content-length: %d\\r\\n\\r\\n%b" % (len(body), body))

ZEROS = gzip.compress(bytes(256 * 1024 * 1024))

async def main():
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""

HOSTILE: Final = {
    "ours": """
import asyncio
from accord.transports.http.requester import Requester
from accord.transports.options import Options
from accord.transports.urls import parse_web_address
async def get(url):
    requester = Requester(Options())
    try:
        response = await requester.request("GET", parse_web_address(url), {})
        return len(await response.read(1_048_576))
    finally:
        requester.close()
""",
    "httpx": """
import asyncio, httpx
async def get(url):
    async with httpx.AsyncClient() as client:
        return len((await client.get(url)).content)
""",
    "aiohttp": """
import asyncio, aiohttp
async def get(url):
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return len(await response.read())
""",
}
JUDGE: Final = """
import resource
try:
    found = f"{asyncio.run(get(URL)):,} B read"
except BaseException as error:
    found = f"{type(error).__name__}: {error}"[:60]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(f"{found}, {peak:,} MB at most")
"""


@contextmanager
def server() -> Iterator[str]:
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def together(
    post: Callable[[], Awaitable[bytes]], callers: int
) -> Callable[[int], Awaitable[None]]:
    async def call(count: int) -> None:
        for _ in range(count):
            assert await post() == BODY

    async def operate(count: int) -> None:
        await asyncio.gather(*(call(max(1, count // callers)) for _ in range(callers)))

    return operate


async def measure(url: str) -> None:
    requester, address = Requester(Options()), parse_web_address(f"{url}/rpc")

    async def ours() -> bytes:
        return await (await requester.request("POST", address, HEADERS, BODY)).read(1_000_000)

    async with httpx.AsyncClient() as client, aiohttp.ClientSession() as session:

        async def by_httpx() -> bytes:
            return bytes((await client.post(f"{url}/rpc", content=BODY, headers=HEADERS)).content)

        async def by_aiohttp() -> bytes:
            async with session.post(f"{url}/rpc", data=BODY, headers=HEADERS) as response:
                return bytes(await response.read())

        subjects = {"ours": ours, "httpx": by_httpx, "aiohttp": by_aiohttp}
        for callers in (1, 16):
            figures = [
                (name, await micro_async(together(post, callers), REQUESTS))
                for name, post in subjects.items()
            ]
            show(f"a POST of {len(BODY)} B, {callers} at a time, µs of the client", figures)
    requester.close()


def main() -> None:
    versions("httpx", "httpcore", "aiohttp", "yarl", "multidict")
    with server() as url:
        asyncio.run(measure(url))
        for about, path in (
            ("256 MiB of zeros as 260 KB of gzip", "/zeros"),
            ("a body of 900 MB where 1 MiB is expected", "/endless"),
            ("a head of 120 MB", "/head"),
        ):
            found = [
                (name, attempt(f"URL = {url + path!r}\n{code}\n{JUDGE}"))
                for name, code in HOSTILE.items()
            ]
            show(about, found)
    show(
        "import",
        [
            (module, import_cost(f"import {module}"))
            for module in ("accord.transports.http.requester", "httpx", "aiohttp")
        ],
    )


main()
