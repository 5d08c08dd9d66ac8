"""From the bytes of a request to the bytes of its answer, in one process."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.harness import Costs, Plan, compare
from benchmarks.processes import Process, running, slices
from benchmarks.report import Row, at_least, at_most
from benchmarks.versus import Versus
from benchmarks.work import FIRST_ID, SUBTRACT

TITLE = "Dispatch in one process"

INLINE, TASKS = "`def`", "`async def`"
PEERS = ("json-rpc", "pjrpc", "jsonrpcserver", "jsonrpcserver without its schema")
BOUNDS = {
    "json-rpc": at_least(10),
    "pjrpc": at_least(10),
    "jsonrpcserver": at_least(30),  # as it comes; it can be told to leave its checks out
}
BATCH_BOUNDS = {"json-rpc": at_least(7)}
BATCH = 10


def rows(plan: Plan) -> list[Row]:
    return [*_single(plan), *_batch(plan)]


def _single(plan: Plan) -> list[Row]:
    request = SUBTRACT.request(FIRST_ID).decode()
    costs = _measure(request, {"jsonrpc": "2.0", "id": FIRST_ID, "result": 19}, plan)
    versus = Versus("dispatch", f"request of {len(request)} B", costs)
    return [*versus.rows(INLINE, PEERS, BOUNDS), *versus.rows(TASKS, PEERS)]


def _batch(plan: Plan) -> list[Row]:
    ids = range(FIRST_ID, FIRST_ID + BATCH)
    batch = f"[{','.join(SUBTRACT.request(id).decode() for id in ids)}]"
    answers = [{"jsonrpc": "2.0", "id": id, "result": 19} for id in ids]
    costs = _measure(batch, answers, plan)
    each = Row(
        group="dispatch",
        what="batch of ten, per message, `def`",
        ours=costs.cost(INLINE) / BATCH * 1e6,
        unit="µs",
        bound=at_most(5),
        proves=("F-25",),
    )
    versus = Versus("dispatch", "batch of ten", costs)
    return [*versus.rows(INLINE, PEERS, BATCH_BOUNDS), *versus.rows(TASKS, PEERS), each]


def _measure(data: str, expected: Any, plan: Plan) -> Costs:
    answer = json.dumps(expected, separators=(",", ":"))
    ours = "benchmarks.ours.dispatch"
    processes = {
        INLINE: Process(ours, "inline", data, answer),
        TASKS: Process(ours, "tasks", data, answer),
        "json-rpc": _peer("json_rpc", "json-rpc", data),
        "pjrpc": _peer("pjrpc", "pjrpc", data),
        "jsonrpcserver": _peer("jsonrpcserver", "jsonrpcserver", data, "schema"),
        "jsonrpcserver without its schema": _peer("jsonrpcserver", "jsonrpcserver", data, "none"),
    }
    with running(*processes.values()):
        return compare(dict(slices(processes, expected)), plan)


def _peer(module: str, peer: str, *arguments: str) -> Process:
    return Process(f"benchmarks.peers.{module}_dispatch", *arguments, peer=peer)
