"""Programs that tests start: ours as others see it, and those written with code of others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE as PATIENCE

PEERS = Path(__file__).parent / "peers"
ACCORD = (sys.executable, "-m", "accord")


def peer(script: str) -> list[str]:
    """The command that runs one of the scripts in `peers`."""
    return ["node" if script.endswith(".js") else sys.executable, str(PEERS / script)]


@contextmanager
def serving(command: Sequence[str], *, packages: Path | None = None) -> Iterator[str]:
    """The address in the first line that a server prints; it is stopped at the end."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment(packages)
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield next(word for word in line.split() if "://" in word)
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


class Driver:
    """A running client of others, which is told what to do and says what came of it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._to, self._from = process.stdin, process.stdout

    def run(self, steps: Sequence[Any]) -> list[Any]:
        """The outcome of each step."""
        self._to.write(json.dumps(steps) + "\n")
        self._to.flush()
        outcomes: list[Any] = json.loads(self._from.readline())
        return outcomes


@contextmanager
def driving(command: Sequence[str], *, packages: Path | None = None) -> Iterator[Driver]:
    """A client that reads steps from stdin; it ends, without complaint, when stdin does."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(packages),
    )
    try:
        yield Driver(process)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()


def environment(packages: Path | None) -> dict[str, str]:
    """This process's environment, in which Node finds `packages`."""
    return dict(os.environ) if packages is None else os.environ | {"NODE_PATH": str(packages)}
