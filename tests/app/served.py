"""`accord serve` as a process of its own, as an operator runs it."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx

from tests.patience import PATIENCE as PATIENCE
from tests.plain_http import NO_TLS
from tests.working_token import working_token


class Served:
    """A server that runs."""

    def __init__(self, process: asyncio.subprocess.Process, data: Path, log: Path) -> None:
        self.process = process
        self.data = data
        self._log = log
        self.url = ""

    @property
    def log(self) -> str:
        """All that it logged so far."""
        return self._log.read_text()

    @property
    def first_token(self) -> str:
        """The one of the first start, for an assistant."""
        found = re.search(r"accord_pat_\w+", (self.data / "first-run.txt").read_text())
        assert found is not None
        return found[0]

    @cached_property
    def token(self) -> str:
        """One of the administrator's that may do everything."""
        return working_token(self.url, self.data / "first-run.txt")

    def client(self, token: str | None = None) -> httpx.AsyncClient:
        """Calls as the administrator, with another token, or with an empty one as nobody."""
        token = self.token if token is None else token
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.AsyncClient(
            base_url=self.url, headers=headers, timeout=PATIENCE, verify=NO_TLS
        )

    async def line(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            return (await self.process.stdout.readline()).decode().rstrip("\n")

    async def stop(self) -> int:
        """Ask it to end; its exit code."""
        if self.process.returncode is None:
            self.process.terminate()
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()


@asynccontextmanager
async def serving(
    data: Path, *flags: str, env: Mapping[str, str] | None = None
) -> AsyncIterator[Served]:
    """A server on `data`, at a port of its own."""
    data.parent.mkdir(exist_ok=True, parents=True)
    log = data.with_name(f"{data.name}.log")
    with log.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "accord", "serve", "--data", str(data), "--port", "0"),
            *flags,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **(env or {})},
        )
    served = Served(process, data, log)
    try:
        ready = await served.line()
        found = re.search(r"ready at (\S+) ", ready)
        assert found is not None, f"{ready}\n{served.log}"
        served.url = found[1]
        yield served
    finally:
        await served.stop()


async def accord(*arguments: str, env: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """A command: its exit code, what it printed, what it complained about."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "accord", *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **(env or {})},
    )
    async with asyncio.timeout(PATIENCE):
        out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


def problem(answer: httpx.Response) -> dict[str, Any]:
    """What a refusal says."""
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    return found
