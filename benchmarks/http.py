"""HTTP: a POST with a call of 150 B, on connections that are kept."""

from __future__ import annotations

from benchmarks.framings import Http
from benchmarks.harness import Plan, Subject, compare, one_core
from benchmarks.load import Load, Served, open_socket
from benchmarks.processes import Process, running
from benchmarks.report import Row, at_least
from benchmarks.versus import Versus
from benchmarks.work import Work, echo, padded

TITLE = "HTTP, POST of 150 B on 16 connections, one in flight on each"
CONNECTIONS = 16
SIZE = 150

INLINE, TASKS, STOCK = "`def`", "`async def`", "`def`, asyncio's own loop"
PEERS = ("uvicorn", "fastapi-jsonrpc, `def`", "fastapi-jsonrpc, `async def`")
BOUNDS = {"uvicorn": at_least(2.5), "fastapi-jsonrpc, `def`": at_least(18)}


def rows(plan: Plan) -> list[Row]:
    with one_core():
        return _rows(plan)


def _rows(plan: Plan) -> list[Row]:
    ours = ("benchmarks.ours.server", "http://127.0.0.1:0/rpc")
    processes = {
        INLINE: Process(*ours),
        TASKS: Process(*ours, "--tasks"),
        STOCK: Process(*ours, "--stock-loop"),
        "uvicorn": Process("benchmarks.peers.asgi_http", peer="uvicorn"),
        "fastapi-jsonrpc, `def`": _fastapi("inline"),
        "fastapi-jsonrpc, `async def`": _fastapi("tasks"),
    }
    work = padded(echo, SIZE)
    with running(*processes.values()):
        subjects = {name: _served(process, work) for name, process in processes.items()}
        costs = compare(subjects, plan)
    versus = Versus("http", "`echo`", costs)
    return [
        *versus.rows(INLINE, PEERS, BOUNDS),
        *versus.rows(TASKS, PEERS),
        *versus.rows(STOCK, PEERS),
    ]


def _fastapi(kind: str) -> Process:
    return Process("benchmarks.peers.fastapi_jsonrpc_http", kind, peer="fastapi-jsonrpc")


def _served(process: Process, work: Work) -> Subject:
    port = int(process.line())
    wires = [open_socket(port, Http()) for _ in range(CONNECTIONS)]
    return Served([process], Load(wires, Http(), work))
