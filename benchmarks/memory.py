"""The memory that is held while nothing happens, and what is left of it afterwards."""

from __future__ import annotations

import time

from benchmarks.framings import Framing, Http, Newline, WebSocket
from benchmarks.harness import Plan
from benchmarks.load import Load, ask, open_socket
from benchmarks.processes import Process, figures, running
from benchmarks.report import Row, at_most
from benchmarks.work import echo, padded

TITLE = "Memory"
SIZE = 150
WARM_UP, VISITS = 6, 4
"""Freed memory is scattered: it takes some rounds until what comes fits into what was left."""

OURS: dict[str, tuple[str, Framing]] = {
    "TCP": ("tcp://127.0.0.1:0", Newline()),
    "HTTP": ("http://127.0.0.1:0/rpc", Http()),
    "WebSocket": ("ws://127.0.0.1:0/rpc", WebSocket()),
}
PEERS = {
    "HTTP": ("uvicorn", "benchmarks.peers.asgi_http"),
    "WebSocket": ("websockets", "benchmarks.peers.websockets_server"),
}


def rows(plan: Plan) -> list[Row]:
    return [*_idle(plan), _pending(), *_flat(plan)]


def _idle(plan: Plan) -> list[Row]:
    found = []
    for name, (url, framing) in OURS.items():
        process = Process("benchmarks.ours.server", url)
        with running(process):
            ours = _per_connection(process, framing, plan)
        peer, theirs = "", None
        if name in PEERS:
            peer, module = PEERS[name]
            other = Process(module, peer=peer)
            with running(other):
                theirs = _per_connection(other, framing, plan) / 1024
        found.append(
            Row(
                group="memory",
                what=f"an idle connection that was used once, {name}",
                ours=ours / 1024,
                unit="KB",
                against=peer,
                theirs=theirs,
            )
        )
    return found


def _per_connection(process: Process, framing: Framing, plan: Plan) -> float:
    """Bytes of the server's memory, from the growth over many connections."""
    port = int(process.line())
    wires = [open_socket(port, framing) for _ in range(100)]
    work = padded(echo, SIZE)
    Load(wires, framing, work).send(1_000)
    before = process.memory()
    more = [open_socket(port, framing) for _ in range(plan.connections)]
    Load(more, framing, work).send(plan.connections)
    grown = process.memory() - before
    for wire in (*wires, *more):
        wire.close()
    return grown / plan.connections


def _pending() -> Row:
    held = figures("benchmarks.ours.pending", "5000")["bytes"]
    return Row(
        group="memory",
        what="a call that waits for its answer, at the caller",
        ours=held / 1024,
        unit="KB",
    )


def _flat(plan: Plan) -> list[Row]:
    """What stays when everything is released: nothing to speak of."""
    found = []
    for name, (url, framing) in OURS.items():
        process = Process("benchmarks.ours.server", url)
        with running(process):
            port = int(process.line())
            for _ in range(WARM_UP):
                _visit(port, framing, plan)
            memory, blocks = _settled(process, port, framing)
            for _ in range(VISITS):
                _visit(port, framing, plan)
            memory_after, blocks_after = _settled(process, port, framing)
        opened, called = VISITS * plan.connections, VISITS * plan.samples // 4
        what = f"{name}, after {opened:,} more connections and {called:,} more calls"
        found += [
            Row(
                group="memory",
                what=f"{what}: blocks that Python holds beyond what it held",
                ours=blocks_after - blocks,
                unit="blocks",
                bound=at_most(500),
                proves=("F-24",),
            ),
            Row(
                group="memory",
                what=f"{what}: growth of the process",
                ours=(memory_after - memory) / 1024,
                unit="KB",
                bound=at_most(4_096),
                proves=("F-24",),
            ),
        ]
    return found


def _visit(port: int, framing: Framing, plan: Plan) -> None:
    """Open many connections, use them, close them."""
    wires = [open_socket(port, framing) for _ in range(plan.connections)]
    load = Load(wires, framing, padded(echo, SIZE))
    load.send(plan.samples // 4)
    load.close()


def _settled(process: Process, port: int, framing: Framing) -> tuple[int, int]:
    """Its memory when it has noticed that the connections are closed, and tidied up: in bytes,
    and in the blocks that Python knows of."""
    busy = True
    while busy:
        before = process.cpu()
        time.sleep(0.2)
        busy = process.cpu() - before > 0.002
    wire = open_socket(port, framing)
    blocks = ask(wire, framing, "collect")
    wire.close()
    return process.memory(), blocks
