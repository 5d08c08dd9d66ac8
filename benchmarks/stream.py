"""Messages of 1 KB over the pipes of a process, sixteen in flight."""

from __future__ import annotations

from benchmarks.framings import ContentLength
from benchmarks.harness import Costs, Plan, Subject, compare, one_core
from benchmarks.load import Load, Pipes, Served
from benchmarks.processes import Process, running
from benchmarks.report import Row, at_least, at_most
from benchmarks.versus import Versus
from benchmarks.work import echo, padded

TITLE = "Stdio, messages of 1 KB, 16 in flight"
SIZE = 1_024
WINDOW = 16

INLINE, TASKS = "`def`", "`async def`"
BOUNDS = {"python-lsp-jsonrpc": at_least(1.5), "pygls": at_least(50)}


def rows(plan: Plan) -> list[Row]:
    with one_core():
        return _rows(plan)


def _rows(plan: Plan) -> list[Row]:
    ours = ("benchmarks.ours.server", "stdio:", "--framing", "content-length")
    processes = {
        INLINE: Process(*ours),
        TASKS: Process(*ours, "--tasks"),
        "python-lsp-jsonrpc": Process("benchmarks.peers.pylsp_stdio", peer="python-lsp-jsonrpc"),
        "pygls": Process("benchmarks.peers.pygls_stdio", peer="pygls"),
    }
    with running(*processes.values()):
        costs = _measure(processes, plan)
        writes = _writes_per_answer(processes[INLINE])
    versus = Versus("stream", "`echo`, Content-Length framing", costs)
    return [
        *versus.rows(INLINE, BOUNDS, BOUNDS),
        *versus.rows(TASKS, BOUNDS),
        Row(
            group="stream",
            what="calls of `write` per answer, `def`",
            ours=writes,
            unit="writes",
            bound=at_most(0.5),
            proves=("F-23",),
        ),
    ]


def _measure(processes: dict[str, Process], plan: Plan) -> Costs:
    subjects: dict[str, Subject] = {
        name: Served([process], _load(process)) for name, process in processes.items()
    }
    return compare(subjects, plan)


def _load(process: Process) -> Load:
    return Load([Pipes(process)], ContentLength(), padded(echo, SIZE), window=WINDOW)


def _writes_per_answer(process: Process) -> float:
    load = _load(process)
    before = process.writes()
    load.send(count := 10_000)
    return (process.writes() - before) / count
