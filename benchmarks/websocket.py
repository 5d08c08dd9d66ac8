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
        subjects = {name: _served(process, work) for name, process in processes.items()}
        costs = compare(subjects, plan)
    versus = Versus("websocket", "`echo`", costs)
    return [
        *versus.rows(INLINE, PEERS, PEERS),
        *versus.rows(TASKS, PEERS, PEERS),  # the handler of the other is async too
        *versus.rows(STOCK, PEERS),
    ]


def _served(process: Process, work: Work) -> Subject:
    wire = open_socket(int(process.line()), WebSocket())
    return Served([process], Load([wire], WebSocket(), work, window=WINDOW))
