"""Two servers on one PostgreSQL, as two machines would run them: nothing but settings in common."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
from msgspec import Struct

from tests.patience import PATIENCE as PATIENCE
from tests.working_token import working_token

HOOK_SECRET = "what the sender of a webhook signs with"
ENVIRON = {"ACCORD_SECRET_KEY": "k" * 64, "ACCORD_SECRET_BUILD": HOOK_SECRET}
BURST = 500
PROGRAM = """
import sys
from accord.cli import main
from accord.web import request as keeping
keeping.PAGE_CACHE_SECONDS = 3600.0  # so that pages change by what the other server announces alone
sys.exit(main())
"""
FLAGS = (
    *("--port", "0", "--log-level", "warning", "--trusted-proxies", "127.0.0.1"),
    *("--rate-limit", "60", "--rate-burst", str(BURST)),
)


class Machine(Struct, frozen=True):
    """One server."""

    url: str
    token: str
    """The administrator's."""
    password: str

    def client(self, token: str | None = None, **headers: str) -> httpx.AsyncClient:
        """Calls as the administrator, with another token, or with an empty one as nobody."""
        token = self.token if token is None else token
        own = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.AsyncClient(base_url=self.url, headers={**own, **headers}, timeout=PATIENCE)


class Pair(Struct, frozen=True):
    here: Machine
    there: Machine
    database: str


@contextmanager
def running_pair(folder: Path, database: str) -> Iterator[Pair]:
    """Both servers, each with a data directory of its own."""
    with ExitStack() as stack:
        folders = (folder / "here", folder / "there")
        # Both at once: one of them makes the database, and the administrator.
        started = [stack.enter_context(_running(each, database)) for each in folders]
        urls = [_url(process, each) for process, each in zip(started, folders, strict=True)]
        [first] = folder.glob("*/first-run.txt")
        found: Any = re.search(r"password +(\S+)", first.read_text())
        token = working_token(urls[0], first)
        here, there = (Machine(url, token, found[1]) for url in urls)
        yield Pair(here, there, database)


@contextmanager
def _running(data: Path, database: str) -> Iterator[subprocess.Popen[str]]:
    with data.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen(
            [
                *(sys.executable, "-c", PROGRAM, "serve", "--data", str(data)),
                *("--database", database, *FLAGS),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, **ENVIRON},
            text=True,
        )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, data.with_suffix(".log").read_text()


def _url(process: subprocess.Popen[str], data: Path) -> str:
    """Where it listens, once it does."""
    assert process.stdout is not None
    ready = process.stdout.readline()
    found = re.search(r"ready at (\S+) ", ready)
    assert found is not None, f"{ready}\n{data.with_suffix('.log').read_text()}"
    return found[1]
