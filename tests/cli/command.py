"""The `accord` command as users have it: a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO

from msgspec import Struct

from tests.patience import PATIENCE as PATIENCE

COMMAND = [sys.executable, "-m", "accord"]


class Completed(Struct, frozen=True):
    """How a run ended, and what it printed."""

    code: int
    out: str
    err: str = ""


def environment(**changes: str) -> dict[str, str]:
    plain = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM")}
    return {**plain, **changes}


def accord(
    *arguments: str, stdin: str | bytes = "", env: Mapping[str, str] | None = None
) -> Completed:
    """Run `accord` with these arguments to its end."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        env=environment() if env is None else env,
    )
    return Completed(done.returncode, done.stdout.decode(), done.stderr.decode())


class Demo:
    """A running `accord demo`."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url

    def call(self, *arguments: str, stdin: str = "") -> Completed:
        return accord("call", self.url, *arguments, stdin=stdin)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> Completed:
        """End it by a signal; what it printed after its first line."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE)
        return Completed(self.process.returncode, out, err)


@contextmanager
def demo(url: str, *flags: str) -> Iterator[Demo]:
    """Serve the demo until the block ends."""
    process = subprocess.Popen(
        [*COMMAND, "demo", url, *flags],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        line = _first_line(process.stdout)
        prefix, suffix = "Accord demo listening on ", " (press Ctrl-C to stop)\n"
        assert line.startswith(prefix), process.communicate(timeout=PATIENCE)
        assert line.endswith(suffix)
        yield Demo(process, line[len(prefix) : -len(suffix)])
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=PATIENCE)


def _first_line(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline()
