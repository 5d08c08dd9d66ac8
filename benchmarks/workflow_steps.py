"""Durable steps of workflows: ours call an agent over HTTP, those of DBOS call a function.

Both keep every step on the same PostgreSQL, which loses nothing that was committed (fsync and
synchronous_commit are on). The same number of runs of as many steps is started at once on either
side, turn by turn. What counts is the CPU of the engine's process and of all processes of the
database together; the agent is a process of its own, and so is the broker, which are not counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

from msgspec import Struct

from benchmarks.harness import Costs, Plan, hint, process_cpu
from benchmarks.processes import Process
from benchmarks.report import Bound, Row, at_least
from benchmarks.workflows.database import database_cpu
from benchmarks.workflows.site import STEPS, Site, open_site

GROUP = "workflow_steps"
TITLE = f"Workflows: durable steps, in runs of {STEPS}"
POSTGRES, KAFKA, SQLITE, DBOS = "PostgreSQL", "Kafka and PostgreSQL", "SQLite", "dbos on PostgreSQL"
TIMES = at_least(5)
RUNS, QUICK_RUNS = 200, 50
"""So many are started at once."""
WARM_UP = 20


class Round(Struct, frozen=True):
    """What one step took, in seconds."""

    clock: float
    process: float
    database: float
    broker: float

    @property
    def cpu(self) -> float:
        return self.process + self.database


class Engine:
    """One side."""

    def __init__(self, process: Process, database: Callable[[], float], broker: int = 0) -> None:
        self._process = process
        self._database = database
        self._broker = broker
        self.rounds: list[Round] = []

    def run(self, runs: int) -> Round:
        """Have so many runs done."""
        began = time.perf_counter()
        process, database, broker = self._cpu()
        self._process.ask(str(runs))
        self._process.line()
        took = [
            now - then for now, then in zip(self._cpu(), (process, database, broker), strict=True)
        ]
        steps = runs * STEPS
        return Round((time.perf_counter() - began) / steps, *(each / steps for each in took))

    def _cpu(self) -> tuple[float, float, float]:
        broker = process_cpu(self._broker) if self._broker else 0.0
        return self._process.cpu(), self._database(), broker

    def median(self, of: Callable[[Round], float]) -> float:
        return median(of(each) for each in self.rounds)


def rows(plan: Plan) -> list[Row]:
    runs = RUNS if plan.rounds > 3 else QUICK_RUNS
    with open_site() as site:
        engines = _engines(site)
        for name, engine in engines.items():
            hint(f"  warming up {name}")
            engine.run(WARM_UP)
        for number in range(plan.rounds):
            hint(f"  round {number + 1} of {plan.rounds}")
            for engine in engines.values():
                engine.rounds.append(engine.run(runs))
    return _rows(engines)


def _engines(site: Site) -> dict[str, Engine]:
    cluster = site.cluster
    broker = site.broker()
    bus = f"kafka://{broker.servers}"

    def database() -> float:
        return database_cpu(cluster)

    return {
        DBOS: Engine(site.dbos(), database),
        POSTGRES: Engine(site.ours("postgres", cluster.database()).process, database),
        KAFKA: Engine(site.ours("kafka", cluster.database(), bus).process, database, broker.pid),
        SQLITE: Engine(site.ours("sqlite").process, lambda: 0.0),
    }


def _rows(engines: dict[str, Engine]) -> list[Row]:
    costs = Costs({name: [each.cpu for each in engine.rounds] for name, engine in engines.items()})
    theirs = engines[DBOS]
    found = [
        _compared(name, engines[name], theirs, costs.ratio(DBOS, name), TIMES if bound else None)
        for name, bound in ((POSTGRES, True), (KAFKA, True), (SQLITE, False))
    ]
    found += [_rate(name, engines[name], theirs) for name in (POSTGRES, KAFKA, SQLITE)]
    parts: dict[str, Callable[[Round], float]] = {
        "CPU of the engine's process": lambda each: each.process,
        "CPU of the database's processes": lambda each: each.database,
    }
    found += [
        _part(f"{POSTGRES}: {what}, one step", engines[POSTGRES], theirs, of)
        for what, of in parts.items()
    ]
    found += [
        _part(f"{KAFKA}: {what}, one step", engines[KAFKA], None, of)
        for what, of in {**parts, "CPU of the broker": lambda each: each.broker}.items()
    ]
    return found


def _compared(name: str, ours: Engine, theirs: Engine, ratio: float, bound: Bound | None) -> Row:
    return Row(
        group=GROUP,
        what=f"{name}: steps per second of CPU",
        ours=1 / ours.median(lambda each: each.cpu),
        unit="/s",
        against=DBOS,
        theirs=1 / theirs.median(lambda each: each.cpu),
        ratio=ratio,
        bound=bound,
    )


def _rate(name: str, ours: Engine, theirs: Engine) -> Row:
    return Row(
        group=GROUP,
        what=f"{name}: steps a second by the clock, all cores",
        ours=1 / ours.median(lambda each: each.clock),
        unit="/s",
        against=DBOS,
        theirs=1 / theirs.median(lambda each: each.clock),
    )


def _part(what: str, ours: Engine, theirs: Engine | None, of: Callable[[Round], float]) -> Row:
    return Row(
        group=GROUP,
        what=what,
        ours=ours.median(of) * 1e6,
        unit="µs",
        against="" if theirs is None else DBOS,
        theirs=None if theirs is None else theirs.median(of) * 1e6,
    )
