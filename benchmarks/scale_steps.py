"""Steps of workflows, executed by one process and by two on the same PostgreSQL, with tasks in its
tables. Each step calls an agent over HTTP.

Runs wait for the same moment first, so that all of them are there when it is measured what their
steps take: enough for two processes to be busy. What it takes when they come one by one over REST,
start and all, stands beside it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from http.client import HTTPConnection
from typing import Final

from msgspec import Struct

from benchmarks.framings import Http
from benchmarks.harness import Costs, Plan, hint
from benchmarks.load import PATIENCE, Asked, Load, open_socket
from benchmarks.report import Row, at_most
from benchmarks.scaled import STEPS, Deployment, deployed, share
from benchmarks.work import REQUESTS
from benchmarks.workflow_figures import Starts

GROUP = "scale_steps"
TITLE = f"Steps of workflows by two processes against one, in runs of {STEPS}, PostgreSQL"
RATIO, SHARE = at_most(1.1), at_most(65)
CONNECTIONS = 64
RUNS, QUICK_RUNS, WARM_UP = 400, 100, 20
LOOK_SECONDS = 0.1
START_SECONDS: Final = 0.005
"""What the start of a run takes at most,"""
QUIET_SECONDS: Final = 1.5
"""and how long they wait then, so that nothing of it is left."""
BEFORE_SECONDS: Final = 0.2
"""How long before their time it begins to be measured."""


class _Told(Starts, frozen=True):
    """Runs that are told until when to wait, where their workflow has them do so."""

    until: str = ""

    def requests(self) -> list[bytes]:
        given = {"text": "Go", "until": self.until}
        return [json.dumps({"input": given}).encode()] * REQUESTS


class Taken(Struct):
    """What steps took, round by round."""

    steps: list[float] = []
    """Seconds of CPU of one."""
    shares: list[float] = []


class _Subject:
    """One deployment, and what its steps took."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._done = 0
        self.backlog = Taken()
        self.coming = Taken()

    def work_off(self, runs: int) -> None:
        """Have so many runs done that are all there."""
        at = time.time() + runs * START_SECONDS + QUIET_SECONDS
        moment = datetime.fromtimestamp(at, UTC).isoformat()
        self._start("backlog", _Told(until=moment), runs)
        left = at - BEFORE_SECONDS - time.time()
        if left < QUIET_SECONDS / 2:
            raise AssertionError(f"{runs} runs took too long to start")
        time.sleep(left)
        self._measure(self.backlog, runs, lambda: None)

    def take(self, runs: int) -> None:
        """Have so many runs done that are started meanwhile."""
        self._measure(self.coming, runs, lambda: self._start("steps", _Told(), runs))

    def _measure(self, taken: Taken, runs: int, start: Callable[[], None]) -> None:
        deployment = self._deployment
        cpu, each = deployment.cpu(), deployment.each_cpu()
        start()
        self._done += runs
        while _completed(deployment) < self._done:
            time.sleep(LOOK_SECONDS)
        taken.steps.append((deployment.cpu() - cpu) / (runs * STEPS))
        taken.shares.append(share(each, deployment.each_cpu()))

    def forget(self) -> None:
        """What was measured so far was to warm up."""
        self.backlog, self.coming = Taken(), Taken()

    def _start(self, workflow: str, work: Asked, runs: int) -> None:
        path = f"/api/v1/workflows/{workflow}/runs".encode()
        framing = Http(path, self._deployment.lines)
        wires = [open_socket(self._deployment.port, framing) for _ in range(CONNECTIONS)]
        load = Load(wires, framing, work)
        load.send(runs)
        load.close()


def rows(plan: Plan) -> list[Row]:
    runs = RUNS if plan.rounds > 3 else QUICK_RUNS
    with deployed() as deployments:
        one, two = subjects = [_Subject(deployment) for deployment in deployments]
        for subject in subjects:
            subject.work_off(WARM_UP)
            subject.take(WARM_UP)
            subject.forget()
        for number in range(plan.rounds):
            hint(f"  round {number + 1} of {plan.rounds}")
            for subject in subjects:
                subject.work_off(runs)
                subject.take(runs)
    shares = two.backlog.shares
    return [
        _row("a step of runs that are all there", one.backlog, two.backlog, is_bound=True),
        Row(
            group=GROUP,
            what="share of the busier process",
            ours=100 * sum(shares) / len(shares),
            unit="%",
            bound=SHARE,
        ),
        _row("the same of runs that come, with their start", one.coming, two.coming),
    ]


def _row(what: str, one: Taken, two: Taken, *, is_bound: bool = False) -> Row:
    costs = Costs({"one": one.steps, "two": two.steps})
    return Row(
        group=GROUP,
        what=f"CPU of processes and database, {what}",
        ours=costs.cost("two") * 1e6,
        unit="µs",
        against="one process",
        theirs=costs.cost("one") * 1e6,
        ratio=costs.ratio("two", "one"),
        bound=RATIO if is_bound else None,
    )


def _completed(deployment: Deployment) -> int:
    connection = HTTPConnection("127.0.0.1", deployment.port, timeout=PATIENCE)
    try:
        headers = {"Authorization": f"Bearer {deployment.token}"}
        connection.request("GET", "/api/v1/runs?state=completed&limit=1", headers=headers)
        return int(json.load(connection.getresponse())["total"])
    finally:
        connection.close()
