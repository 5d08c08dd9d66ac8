"""Console sessions as documentation shows them, run for real.

Lines that begin with `$ ` are commands, one may be continued by a backslash; the lines below
are what it prints, in which `…` stands for anything. A command that ends with `&` stays in the
background until the session ends, and is given the time to print what it is said to print.
"""

from __future__ import annotations

import re
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from tests.patience import PATIENCE as PATIENCE

_PORT = re.compile(r"(?:(?<=127\.0\.0\.1:)|(?<=--port ))[1-9]\d{3,4}\b")


class Step(Struct, frozen=True):
    """One command and what it prints."""

    command: str
    expected: str

    @property
    def in_background(self) -> bool:
        return self.command.endswith("&")


def read_steps(code: str) -> list[Step]:
    steps: list[tuple[list[str], list[str]]] = []
    for line in code.splitlines():
        if line.startswith("$ "):
            steps.append(([line[2:]], []))
            continue
        assert steps, f"output without a command: {line}"
        command, output = steps[-1]
        (command if command[-1].endswith("\\") and not output else output).append(line)
    return [Step("\n".join(command), "\n".join(output)) for command, output in steps]


def with_free_ports(code: str) -> str:
    """`code` with a port that is free now in place of each that it names, the same everywhere."""
    ports: dict[str, str] = {}

    def free(match: re.Match[str]) -> str:
        if match[0] not in ports:
            with socket.create_server(("127.0.0.1", 0)) as taken:
                ports[match[0]] = str(taken.getsockname()[1])
        return ports[match[0]]

    return _PORT.sub(free, code)


def matches(expected: str, printed: str) -> bool:
    pattern = ".*?".join(re.escape(part) for part in expected.strip().split("…"))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


def play(code: str, folder: Path, env: Mapping[str, str]) -> list[tuple[Step, str]]:
    """Run a session in `folder`: each step, and what it really printed."""
    steps = read_steps(with_free_ports(code))
    with subprocess.Popen(
        ["bash", "--norc"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=dict(env),
    ) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None
        played = []
        for number, step in enumerate(steps):
            output = folder / f".output-{number}"
            shell.stdin.write(f"{{ {step.command}\n}} >{output.name} 2>&1 </dev/null\necho done\n")
            shell.stdin.flush()
            assert shell.stdout.readline() == "done\n"
            played.append((step, _output(output, step)))
        shell.stdin.write("kill $(jobs -p) 2>/dev/null; wait; exit 0\n")
        shell.stdin.close()
        shell.wait(PATIENCE)
    return played


def _output(file: Path, step: Step) -> str:
    deadline = time.monotonic() + PATIENCE
    while step.in_background and time.monotonic() < deadline:
        if matches(step.expected, file.read_text()):
            break
        time.sleep(0.02)
    return file.read_text()
