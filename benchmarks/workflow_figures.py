"""What workflows take by themselves: requests and answers of agents, a run alone, many runs that
wait."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from statistics import median
from typing import Any, Final
from urllib.request import Request, urlopen

from msgspec import Struct

from benchmarks.harness import Plan, hint, percentile
from benchmarks.load import PATIENCE, Load, open_socket
from benchmarks.processes import figures
from benchmarks.report import Row, Unit, at_most
from benchmarks.work import REQUESTS
from benchmarks.workflows.site import STEPS, Served, open_site

GROUP = "workflow_figures"
TITLE = "Workflows: requests to agents, a run alone, 10,000 runs that wait"
WAITING: Final = {"signal": 5_000, "approval": 5_000}
"""How many runs of each workflow wait."""
CLIENTS = 16
BUILD_MICROSECONDS, PARSE_MICROSECONDS = 5_000, 10_000
MEMORY_MB = 300
ALONE = 200
"""Runs, one after the other."""


class Starts(Struct, frozen=True):
    """Runs that are started, and perhaps waited for."""

    wait: float = 0
    states: tuple[str, ...] = ("pending",)

    def requests(self) -> list[bytes]:
        asked: dict[str, Any] = {"input": "Go", **({"wait": self.wait} if self.wait else {})}
        return [json.dumps(asked).encode()] * REQUESTS

    def check(self, answers: Sequence[bytes], count: int) -> None:
        """Raises unless there are `count` runs, each another, in one of the states."""
        runs = [json.loads(answer) for answer in answers]
        if len({run["id"] for run in runs}) != count:
            raise AssertionError(f"{count:,} runs were to be started: {answers[0][:500]!r}")
        odd = [run for run in runs if run["state"] not in self.states]
        if odd:
            raise AssertionError(f"{len(odd)} runs are {odd[0]['state']}")


def rows(plan: Plan) -> list[Row]:
    found = _codec()
    with open_site() as site:
        served = {
            "PostgreSQL": site.ours("postgres", site.cluster.database()),
            "SQLite": site.ours("sqlite"),
        }
        for name, each in served.items():
            found += _alone(name, each, ALONE if plan.rounds > 3 else ALONE // 10)
        for name, each in served.items():
            found += _waiting(name, each)
    return found


def _row(what: str, value: float, unit: Unit, most: float | None = None, *proves: str) -> Row:
    bound = None if most is None else at_most(most)
    return Row(group=GROUP, what=what, ours=value, unit=unit, bound=bound, proves=proves)


def _codec() -> list[Row]:
    costs = figures("benchmarks.ours.bridge_codec")
    limits = {"build": BUILD_MICROSECONDS, "parse": PARSE_MICROSECONDS}
    names = {
        "build": "make the request for a task, 1 KB",
        "parse": "read the answer of an agent, 1 KB",
    }
    found = []
    for name, cost in costs.items():
        work, _, wire = name.partition(" ")
        found.append(_row(f"{names[work]}, A2A {wire}", cost, "µs", limits[work], "W-11"))
    return found


def _alone(name: str, served: Served, count: int) -> list[Row]:
    """Nothing else goes on: from the request that starts a run to the answer that has its end."""
    work = Starts(wait=60, states=("completed",))
    framing = served.framing("steps")
    load = Load([open_socket(served.port, framing)], framing, work)
    load.latencies(10)
    taken = load.latencies(count)
    load.close()
    what = f"{name}: a run of {STEPS} steps alone, started and awaited over REST"
    return [
        _row(f"{what}, 50th percentile", median(taken) * 1e3, "ms"),
        _row(f"{what}, 95th percentile", percentile(taken, 95) * 1e3, "ms"),
    ]


def _waiting(name: str, served: Served) -> list[Row]:
    """Start runs over REST until so many wait, and see what that takes."""
    hint(f"  starting runs on {name}")
    count = sum(WAITING.values())
    began = time.perf_counter()
    for workflow, runs in WAITING.items():
        framing = served.framing(workflow)
        wires = [open_socket(served.port, framing) for _ in range(CLIENTS)]
        load = Load(wires, framing, Starts())
        load.send(runs)
        load.close()
    started = time.perf_counter() - began
    while _waiting_runs(served) < count:
        time.sleep(0.1)
    seconds = time.perf_counter() - began
    what = f"{name}: {count:,} runs that wait for a signal or an approval"
    return [
        _row(f"{what}: memory of the server", served.process.resident() / 2**20, "MB", MEMORY_MB),
        _row(f"{what}: started over REST, all of them wait after", seconds, "s"),
        _row(f"{name}: runs started a second over REST", count / started, "/s"),
    ]


def _waiting_runs(served: Served) -> int:
    url = f"http://127.0.0.1:{served.port}/api/v1/runs?state=waiting&limit=1"
    request = Request(url, headers={"Authorization": f"Bearer {served.token}"})
    with urlopen(request, timeout=PATIENCE) as answer:
        return int(json.load(answer)["total"])
