"""Steps of workflows, executed by one process and by two on the same PostgreSQL, with tasks in its
tables. Runs are started over REST, and each step calls an agent over HTTP."""

from __future__ import annotations

import json
import time
from http.client import HTTPConnection

from benchmarks.framings import Http
from benchmarks.harness import Costs, Plan, hint
from benchmarks.load import PATIENCE, Load, open_socket
from benchmarks.report import Row, at_most
from benchmarks.scaled import STEPS, Deployment, deployed, share
from benchmarks.workflow_figures import Starts

GROUP = "scale_steps"
TITLE = f"Steps of workflows by two processes against one, in runs of {STEPS}, PostgreSQL"
RATIO, SHARE = at_most(1.1), at_most(65)
CONNECTIONS = 64
RUNS, QUICK_RUNS, WARM_UP = 200, 50, 20
LOOK_SECONDS = 0.1


class _Subject:
    """One deployment, and what its steps took."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._done = 0
        self.steps: list[float] = []
        """Seconds of CPU of one step, round by round."""
        self.shares: list[float] = []

    def run(self, runs: int) -> None:
        """Have so many runs done."""
        deployment = self._deployment
        cpu, each = deployment.cpu(), deployment.each_cpu()
        self._start(runs)
        self._done += runs
        while _completed(deployment) < self._done:
            time.sleep(LOOK_SECONDS)
        self.steps.append((deployment.cpu() - cpu) / (runs * STEPS))
        self.shares.append(share(each, deployment.each_cpu()))

    def forget(self) -> None:
        """What was measured so far was to warm up."""
        self.steps.clear()
        self.shares.clear()

    def _start(self, runs: int) -> None:
        framing = Http(b"/api/v1/workflows/steps/runs", self._deployment.lines)
        wires = [open_socket(self._deployment.port, framing) for _ in range(CONNECTIONS)]
        load = Load(wires, framing, Starts())
        load.send(runs)
        load.close()


def rows(plan: Plan) -> list[Row]:
    runs = RUNS if plan.rounds > 3 else QUICK_RUNS
    with deployed() as deployments:
        one, two = (_Subject(deployment) for deployment in deployments)
        for subject in (one, two):
            subject.run(WARM_UP)
            subject.forget()
        for number in range(plan.rounds):
            hint(f"  round {number + 1} of {plan.rounds}")
            for subject in (one, two):
                subject.run(runs)
    costs = Costs({"one": one.steps, "two": two.steps})
    return [
        Row(
            group=GROUP,
            what="CPU of processes and database, one step",
            ours=costs.cost("two") * 1e6,
            unit="µs",
            against="one process",
            theirs=costs.cost("one") * 1e6,
            ratio=costs.ratio("two", "one"),
            bound=RATIO,
        ),
        Row(
            group=GROUP,
            what="share of the busier process",
            ours=100 * sum(two.shares) / len(two.shares),
            unit="%",
            bound=SHARE,
        ),
    ]


def _completed(deployment: Deployment) -> int:
    connection = HTTPConnection("127.0.0.1", deployment.port, timeout=PATIENCE)
    try:
        headers = {"Authorization": f"Bearer {deployment.token}"}
        connection.request("GET", "/api/v1/runs?state=completed&limit=1", headers=headers)
        return int(json.load(connection.getresponse())["total"])
    finally:
        connection.close()
