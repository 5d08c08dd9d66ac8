"""WebSocket: messages of 923 B on one connection, sixteen in flight."""

from __future__ import annotations

from benchmarks.framings import WebSocket
from benchmarks.harness import Plan, Subject, compare, one_core
from benchmarks.load import Load, Served, open_socket
from benchmarks.processes import Process, running
from benchmarks.report import Row, at_least
from benchmarks.versus import Versus
from benchmarks.work import Work, echo, padded

TITLE = "WebSocket, messages of 923 B, 16 in flight on one connection"
SIZE = 923
WINDOW = 16

INLINE, TASKS, STOCK = "`def`", "`async def`", "`def`, asyncio's own loop"
PEERS = {"websockets": at_least(1.5)}


def rows(plan: Plan) -> list[Row]:
    with one_core():
        return _rows(plan)


def _rows(plan: Plan) -> list[Row]:
    ours = ("benchmarks.ours.server", "ws://127.0.0.1:0/rpc")
    processes = {
        INLINE: Process(*ours),
        TASKS: Process(*ours, "--tasks"),
        STOCK: Process(*ours, "--stock-loop"),
        "websockets": Process("benchmarks.peers.websockets_server", peer="websockets"),
    }
    work = padded(echo, SIZE)
    with running(*processes.values()):
        ports = {name: int(process.line()) for name, process in processes.items()}
        costs = compare(_served(processes, ports, work, WINDOW), plan)
        alone = compare(_served(processes, ports, work, 1), plan)
    versus = Versus("websocket", "`echo`", costs)
    one = Versus("websocket", "`echo`, one in flight", alone)
    return [
        *versus.rows(INLINE, PEERS, PEERS),
        *versus.rows(TASKS, PEERS, PEERS),  # the handler of the other is async too
        *versus.rows(STOCK, PEERS),
        *one.rows(INLINE, PEERS),
        *one.rows(TASKS, PEERS),
    ]


def _served(
    processes: dict[str, Process], ports: dict[str, int], work: Work, window: int
) -> dict[str, Subject]:
    subjects: dict[str, Subject] = {}
    for name, process in processes.items():
        wire = open_socket(ports[name], WebSocket())
        subjects[name] = Served([process], Load([wire], WebSocket(), work, window=window))
    return subjects
