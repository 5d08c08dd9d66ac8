"""A Redis or Valkey of the tests' own."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.patience import PATIENCE as PATIENCE


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def running_redis(port: int, folder: Path, *options: str) -> Iterator[None]:
    """A server, until the block ends. `options` are as on its command line."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        pytest.skip("Redis is not installed: see tools/install-programs")
    arguments = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    with subprocess.Popen(
        [program, *arguments, *options], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if "Ready to accept connections" in line:
                    break
            yield
        finally:
            process.kill()


async def command(port: int, line: bytes) -> bytes:
    """Send a command as a line; return the first line of the reply."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(line)
    reply = await reader.readline()
    writer.close()
    await writer.wait_closed()
    return reply
