"""What changed since another commit: the same work done by both, in turns.

    python -m benchmarks.commits --base v1.0 --rounds 5

Each round starts three servers: two of the base commit and one of the working tree, and lets them
take turns in short slices. `change` is the median ratio of the rounds, `noise` how far the two of
the base commit lay apart. A row is worse if its change is above 1 by more than the noise and 5 %.
Both commits run on the packages that are installed here. Ends with status 1 where a row is worse.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeAlias

from msgspec import Struct

from benchmarks.codec import CALL
from benchmarks.environments import ROOT
from benchmarks.eras import HANDSHAKE, STATELESS, Version, http, list_tools, shake_hands, tool_call
from benchmarks.framings import ContentLength, Framing, Http, Newline, WebSocket
from benchmarks.harness import Plan, Subject, compare, one_core, say
from benchmarks.hub.filled import ENGINES, Hub, ours, sharing_a_core
from benchmarks.hub_calls import CALLS, CLIENTS
from benchmarks.load import Load, Pipes, Served, open_socket
from benchmarks.processes import Process, Slices, running
from benchmarks.work import FIRST_ID, SUBTRACT, Work, echo, padded

BASE, AGAIN, NOW = "base", "base again", "now"
ALLOWED: Final = 0.05
"""How much dearer something may become, above the noise."""
SLICES: Final = Plan(rounds=5, slice_seconds=0.1, samples=0, connections=0)

Subjects: TypeAlias = dict[str, Subject]
Trees: TypeAlias = dict[str, Path]
"""Where the code of each subject is."""


class Job(Struct, frozen=True):
    """One kind of work."""

    name: str
    start: Callable[[Path], Process]
    begin: Callable[[Process], Subject]
    """Connects to a process that has been started."""


class Outcome(Struct, frozen=True):
    """What one kind of work costs."""

    name: str
    microseconds: float
    change: float
    noise: float

    @property
    def is_worse(self) -> bool:
        return self.change > 1 + self.noise + ALLOWED


def main() -> int:
    given = _arguments()
    jobs = [job for job in _jobs() if given.only in job.name]
    with checked_out(given.base) as before:
        trees = {BASE: before, AGAIN: before, NOW: ROOT}
        with one_core():
            outcomes = [_outcome(job.name, list(_rounds(job, trees, given.rounds))) for job in jobs]
        if given.hub:
            outcomes += _hub(trees, given.rounds)
    for outcome in outcomes:
        print(_line(outcome))
    return 1 if any(outcome.is_worse for outcome in outcomes) else 0


def _rounds(job: Job, trees: Trees, count: int) -> Iterator[dict[str, float]]:
    """Yield what an operation costs each subject, in processes that are new in each round."""
    say(f"{job.name} …")
    for number in range(count):
        names = list(trees)[number % len(trees) :] + list(trees)[: number % len(trees)]
        processes = {name: job.start(trees[name]) for name in names}
        with running(*processes.values()):
            yield _costs({name: job.begin(process) for name, process in processes.items()})


def _costs(subjects: Subjects) -> dict[str, float]:
    costs = compare(subjects, SLICES)
    return {name: costs.cost(name) for name in subjects}


def _outcome(name: str, rounds: list[dict[str, float]]) -> Outcome:
    found = Outcome(
        name,
        median(each[NOW] for each in rounds) * 1e6,
        # Against the mean of both, so that the noise of the base is in it once.
        median(2 * each[NOW] / (each[BASE] + each[AGAIN]) for each in rounds),
        median(abs(each[AGAIN] / each[BASE] - 1) for each in rounds),
    )
    say(_line(found))
    return found


def _line(found: Outcome) -> str:
    verdict = "worse" if found.is_worse else "ok"
    return (
        f"| {found.name} | {found.microseconds:,.1f} µs | {found.change:.3f} | "
        f"{found.noise:.1%} | {verdict} |"
    )


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Within this, the code of a commit is in a folder of its own."""
    folder = ROOT / "build" / "commits" / commit
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", ROOT, folder], check=True)
    subprocess.run(["git", "checkout", "--quiet", "--detach", commit], cwd=folder, check=True)
    yield folder


def _jobs() -> list[Job]:
    return [*_in_process(), *_served(), *_mcp()]


def _in_process() -> Iterator[Job]:
    """Work that a process does by itself."""
    call = CALL.request(FIRST_ID).decode()
    read = [FIRST_ID, CALL.method, CALL.params]
    result = {"jsonrpc": "2.0", "id": FIRST_ID, "result": CALL.params}
    for kind, expected in (("read", read), ("decode", read), ("encode", result)):
        yield Job(f"codec, {kind}", _start("codec", kind, call), _sliced(expected))
    answer = f'{{"jsonrpc":"2.0","id":{FIRST_ID},"result":19}}'
    request = SUBTRACT.request(FIRST_ID).decode()
    for kind in ("inline", "tasks"):
        for count in (1, 10):
            one, many = count == 1, list(range(FIRST_ID, FIRST_ID + count))
            data = request if one else _batch(SUBTRACT.request(id).decode() for id in many)
            text = answer if one else _batch(answer.replace(f"{FIRST_ID}", f"{id}") for id in many)
            told = [{"jsonrpc": "2.0", "id": id, "result": 19} for id in many]
            yield Job(
                f"dispatch, {'one request' if one else 'batch of ten'}, {kind}",
                _start("dispatch", kind, data, text),
                _sliced(told[0] if one else told),
            )


def _batch(messages: Iterator[str]) -> str:
    return f"[{','.join(messages)}]"


def _sliced(expected: Any) -> Callable[[Process], Subject]:
    return lambda process: Slices(process, expected)


def _served() -> Iterator[Job]:
    """A server of the library, with handlers of both kinds."""
    for options in ((), ("--tasks",)):
        kind = "tasks" if options else "inline"
        stdio = _start("server", "stdio:", "--framing", "content-length", *options)
        yield Job(f"stdio, 1 KB, {kind}", stdio, partial(_piped, ContentLength()))
        tcp = _start("server", "tcp://127.0.0.1:0", *options)
        yield Job(f"TCP, 1 KB, {kind}", tcp, partial(_connected, Newline(), 1, 16))
        web = _start("server", "http://127.0.0.1:0/rpc", *options)
        yield Job(f"HTTP, 16 connections, {kind}", web, partial(_connected, Http(), 16, 1))
        yield Job(f"HTTP, one connection, {kind}", web, partial(_connected, Http(), 1, 1))
        socket = _start("server", "ws://127.0.0.1:0/rpc", *options)
        yield Job(f"WebSocket, 1 KB, {kind}", socket, partial(_connected, WebSocket(), 1, 16))


def _piped(framing: Framing, process: Process) -> Subject:
    return Served([process], Load([Pipes(process)], framing, padded(echo, 1_024), window=16))


def _connected(framing: Framing, connections: int, window: int, process: Process) -> Subject:
    port = int(process.line())
    wires = [open_socket(port, framing) for _ in range(connections)]
    size = 150 if isinstance(framing, Http) else 923
    return Served([process], Load(wires, framing, padded(echo, size), window=window))


def _mcp() -> Iterator[Job]:
    names = ["echo", "report", *(f"look_{number}" for number in range(198))]
    for era in (HANDSHAKE, STATELESS):
        call = tool_call(era)
        for options in ((), ("--inline",)):
            kind = "inline" if options else "tasks"
            stdio = _start("mcp_server", "stdio:", "5", *options)
            yield Job(f"MCP over stdio, {era}, {kind}", stdio, partial(_mcp_piped, era))
            web = _start("mcp_server", "http://127.0.0.1:0/mcp", "5", *options)
            yield Job(f"MCP over HTTP, {era}, {kind}", web, partial(_mcp_http, era, call("fox")))
        many = _start("mcp_server", "http://127.0.0.1:0/mcp", "200")
        listed = partial(_mcp_http, era, list_tools(era, names))
        yield Job(f"MCP list of 200 tools, {era}", many, listed)


def _mcp_piped(era: Version, process: Process) -> Subject:
    if era == HANDSHAKE:
        shake_hands(process)
    work = padded(tool_call(era), 1_024)
    return Served([process], Load([Pipes(process)], Newline(), work, window=16))


def _mcp_http(era: Version, work: Work, process: Process) -> Subject:
    port = int(process.line())
    framing = http(era, port, work)
    wires = [open_socket(port, framing) for _ in range(16)]
    return Served([process], Load(wires, framing, work))


def _start(module: str, *arguments: str) -> Callable[[Path], Process]:
    return lambda tree: Process(f"benchmarks.ours.{module}", *arguments, tree=tree)


def _hub(trees: Trees, rounds: int) -> Iterator[Outcome]:
    """Yield what calls of the hub cost, which is filled once on each engine."""
    for engine in ENGINES:
        hubs = {name: ours(engine, name, tree) for name, tree in trees.items()}
        for call in CALLS:
            say(f"{call.label}, {engine} …")
            found = [_asked(hubs, call.work()) for _ in range(rounds)]
            yield _outcome(f"hub, {call.label}, {engine}", found)


def _asked(hubs: dict[str, Hub], work: Work) -> dict[str, float]:
    subjects: Subjects = {
        name: Served([hub.process], hub.load(work, clients=CLIENTS)) for name, hub in hubs.items()
    }
    with sharing_a_core(*hubs.values()):
        return _costs(subjects)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.commits", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--base", required=True, metavar="COMMIT", help="compare with this commit")
    parser.add_argument("--rounds", type=int, default=5, help="how many rounds (5)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only work named like this")
    parser.add_argument("--hub", action="store_true", help="calls of a full hub too; 15 minutes")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
