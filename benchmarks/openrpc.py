"""The OpenRPC document of a thousand methods: making it, and having it."""

from __future__ import annotations

from benchmarks.harness import Plan
from benchmarks.processes import figures
from benchmarks.report import Row

TITLE = "OpenRPC document of 1,000 methods"


def rows(plan: Plan) -> list[Row]:
    found = figures("benchmarks.ours.openrpc", str(plan.rounds))
    return [
        Row(group="openrpc", what="made, with 500 types", ours=found["make"] * 1e3, unit="ms"),
        Row(group="openrpc", what="its size", ours=found["bytes"] / 1024, unit="KB"),
        Row(
            group="openrpc",
            what="made again after a change of one method",
            ours=found["again"] * 1e3,
            unit="ms",
        ),
        Row(
            group="openrpc",
            what="`rpc.discover`, from request to answer",
            ours=found["discover"] * 1e6,
            unit="µs",
        ),
        Row(group="openrpc", what="the page", ours=found["page"] * 1e6, unit="µs"),
    ]
