"""The Autobahn test suite against our WebSocket server and our WebSocket client.

The suite needs Python 2.7. It is installed once into `.cache/autobahn`, and where that
cannot be, these tests are skipped.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from accord.jsonrpc.protocol.channel import MIB, Channel, Limits
from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.options import Options
from accord.transports.websocket.endpoints import listen_websocket, open_websocket
from tests.installing import note_installation
from tests.patience import PATIENCE
from tests.transports.recorder import Echo

CACHE = Path(__file__).parent.parent.parent / ".cache" / "autobahn"
SUITE = "autobahntestsuite==25.10.1"
EXCLUDED = ["9.*", "12.*", "13.*"]
"""Performance, and the compression that we do not offer."""
OPTIONS = Options(limits=Limits(max_message_bytes=16 * MIB))
PASSED = {"OK", "INFORMATIONAL"}

pytestmark = [pytest.mark.req("F-17", "F-19", "F-30")]


def python2() -> Path | None:
    """A Python 2.7 on the path, or one of pyenv's, whose stand-in on the path may not run."""
    found = shutil.which("python2.7")
    if found and output_of(found, "-c", "print(2.7)") == "2.7":
        return Path(found)
    if shutil.which("pyenv") is None:
        return None
    versions = output_of("pyenv", "versions", "--bare").split()
    old = [version for version in versions if version.startswith("2.7.")]
    return Path(output_of("pyenv", "prefix", old[-1]), "bin", "python2.7") if old else None


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def install(python: Path, folder: Path) -> None:
    """Make an environment with the suite in `folder`. Raises CalledProcessError."""
    tool = folder / "virtualenv"
    pip = ["-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    run(python, *pip, "--target", tool, "virtualenv<20.16")
    run(python, "-m", "virtualenv", "--quiet", folder / "env", PYTHONPATH=str(tool))
    run(folder / "env" / "bin" / "python", *pip, SUITE)


def run(*command: str | Path, **environment: str) -> None:
    environment = {**os.environ, **environment}
    subprocess.run(command, env=environment, capture_output=True, text=True, check=True)


@cache
def wstest() -> str | Path:
    """The suite's program, or why there is none. Several test runs may ask at once."""
    note_installation(SUITE)
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return installed()


def installed() -> str | Path:
    folder = CACHE / SUITE
    complete = folder / "complete"
    if not complete.exists():
        python = python2()
        if python is None:
            return "there is none on the path or in pyenv"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            install(python, folder)
        except subprocess.CalledProcessError as error:
            why = error.stderr.strip().splitlines() or [f"status {error.returncode}"]
            return f"{SUITE} cannot be installed into it: {why[-1]}"
        complete.touch()
    return folder / "env" / "bin" / "wstest"


@pytest.fixture
def program() -> Path:
    found = wstest()
    if isinstance(found, str):
        pytest.skip(f"only on machines with Python 2.7: {found}")
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.asynccontextmanager
async def suite(
    program: Path, mode: str, folder: Path, **spec: Any
) -> AsyncIterator[asyncio.subprocess.Process]:
    """The suite running in `mode`; its reports go to `folder`."""
    spec |= {"outdir": str(folder), "cases": ["*"], "exclude-cases": EXCLUDED}
    (folder / "spec.json").write_text(json.dumps(spec))
    process = await asyncio.create_subprocess_exec(
        program, "-m", mode, "-s", folder / "spec.json", "-u", "0",
        cwd=folder, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def failures(folder: Path) -> dict[str, str]:
    """What went wrong, by case."""
    (report,) = json.loads((folder / "index.json").read_text()).values()
    outcomes = {
        case: f"{result['behavior']}, close {result['behaviorClose']}"
        for case, result in report.items()
        if {result["behavior"], result["behaviorClose"]} - PASSED
    }
    assert len(report) > 240
    return outcomes


async def test_our_server_passes_the_autobahn_suite(program: Path, tmp_path: Path) -> None:
    def accept(channel: Channel) -> None:
        channel.start(Echo(channel))

    listener = await listen_websocket("ws://127.0.0.1:0/", accept, OPTIONS)
    servers = [{"agent": "accord", "url": listener.url}]
    async with suite(program, "fuzzingclient", tmp_path, servers=servers) as process:
        assert await process.wait() == 0
    await listener.close()
    assert failures(tmp_path) == {}


async def test_our_client_passes_the_autobahn_suite(program: Path, tmp_path: Path) -> None:
    url = f"ws://127.0.0.1:{free_port()}"
    async with suite(program, "fuzzingserver", tmp_path, url=url):
        async with asyncio.timeout(PATIENCE):
            count = await case_count(url)
        for case in range(1, count + 1):
            await echo_until_closed(f"{url}/runCase?case={case}&agent=accord")
        await echo_until_closed(f"{url}/updateReports?agent=accord")
    assert failures(tmp_path) == {}


async def case_count(url: str) -> int:
    """Ask until the suite listens."""
    while True:
        try:
            return int((await echo_until_closed(f"{url}/getCaseCount"))[0])
        except ConnectError:
            await asyncio.sleep(0.05)


async def echo_until_closed(url: str) -> list[bytes]:
    """What a server that is echoed to sends before it closes."""
    channel = await open_websocket(url, OPTIONS)
    echo = Echo(channel)
    channel.start(echo)
    await echo.ended()
    return echo.messages
