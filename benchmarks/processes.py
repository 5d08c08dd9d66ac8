"""The processes that are measured: how they are started, asked and ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from benchmarks.environments import ROOT, python_of
from benchmarks.harness import process_cpu


class Process:
    """A module of this package, running by itself. `peer` names its environment, None is ours.

    With `command` it is another program, which `module` names in errors. `tree` is a folder with
    the code of another commit of ours.
    """

    def __init__(
        self,
        module: str,
        *arguments: str,
        peer: str | None = None,
        command: Sequence[str] | None = None,
        tree: Path = ROOT,
    ) -> None:
        if command is None:
            command = [sys.executable if peer is None else python_of(peer), "-m", module]
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        self._module = module
        self._popen = subprocess.Popen(
            [*command, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            cwd=tree,
            env=_environment(ours=peer is None, tree=tree),
            bufsize=0,
        )

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def stdin(self) -> int:
        return _pipe(self._popen.stdin).fileno()

    @property
    def stdout(self) -> int:
        return _pipe(self._popen.stdout).fileno()

    def cpu(self) -> float:
        return process_cpu(self.pid)

    def memory(self) -> int:
        """Bytes of memory that are its own."""
        for line in Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Anonymous:"):
                return int(line.split()[1]) * 1024
        raise LookupError("smaps_rollup has no line for anonymous memory")

    def resident(self) -> int:
        """Bytes that are in memory, with what it shares with others."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise LookupError("/proc/PID/status has no line for resident memory")

    def writes(self) -> int:
        """How often it has called `write`."""
        for line in Path(f"/proc/{self.pid}/io").read_text().splitlines():
            if line.startswith("syscw:"):
                return int(line.split()[1])
        raise LookupError("/proc/PID/io has no count of writes")

    def ask(self, line: str) -> None:
        os.write(self.stdin, line.encode() + b"\n")

    def line(self) -> str:
        """The next line that it prints. Raises what it said when it ended instead."""
        text = _pipe(self._popen.stdout).readline()
        if not text:
            raise self.failure()
        return text.decode().rstrip("\n")

    def failure(self) -> RuntimeError:
        """That it ended, and what it said about that."""
        self.stop()
        self._stderr.seek(0)
        said = self._stderr.read().decode(errors="replace").strip()
        return RuntimeError(f"{self._module} ended with status {self._popen.returncode}\n{said}")

    def stop(self) -> None:
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                pipe.close()
        self._popen.terminate()
        try:
            self._popen.wait(5)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()


@contextmanager
def running(*processes: Process) -> Iterator[None]:
    """End them all afterwards."""
    try:
        yield
    finally:
        for process in processes:
            process.stop()


class Slices:
    """A process that does its operation by itself, and says what that took."""

    def __init__(self, process: Process, expected: Any) -> None:
        self._process = process
        answer = json.loads(process.line())
        if answer != expected:
            raise AssertionError(f"expected {expected!r}, got {answer!r}")

    def run(self, count: int) -> float:
        self._process.ask(str(count))
        return int(self._process.line()) / 1e9


def slices(processes: dict[str, Process], expected: Any) -> dict[str, Slices]:
    return {name: Slices(process, expected) for name, process in processes.items()}


def figures(module: str, *arguments: str) -> dict[str, float]:
    """Run a module of ours that measures something by itself, and prints it as JSON."""
    process = Process(module, *arguments)
    with running(process):
        found: dict[str, float] = json.loads(process.line())
    return found


def _environment(*, ours: bool, tree: Path) -> dict[str, str]:
    found = {k: v for k, v in os.environ.items() if ours or k != "PYTHONPATH"}
    return found if tree == ROOT else {**found, "PYTHONPATH": str(tree / "src")}


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
