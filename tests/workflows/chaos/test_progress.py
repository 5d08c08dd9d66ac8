"""It can be stopped and continued, and tells what came of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from chaos.page import page
from chaos.progress import Progress, resumed, set_up_of
from chaos.rounds import Kill, Round, plan_round
from chaos.verdict import Problem

VICTIMS = ("agent", "agent-forgets", "serve", "executor-1", "bridge-1", "postgresql")


def done(number: int, *problems: Problem) -> Round:
    return Round(
        number=number,
        set_up="postgresql",
        kills=(Kill("executor-1", "told", 3, 0.0, 0.0),),
        runs=4,
        seconds=2.0,
        repeated=1,
        unanswered=0,
        problems=list(problems),
    )


def test_the_same_seed_gives_the_same_rounds() -> None:
    plans = [plan_round(7, number, VICTIMS) for number in range(300)]
    assert plans == [plan_round(7, number, reversed(VICTIMS)) for number in range(300)]
    killed = Counter(kill.victim for plan in plans for kill in plan.kills)
    assert set(killed) == set(VICTIMS)
    assert min(killed.values()) > 30
    assert plans != [plan_round(8, number, VICTIMS) for number in range(300)]


def test_rounds_are_run_on_one_set_up_after_the_other() -> None:
    order = [set_up_of(number, 1000) for number in range(1000)]
    assert order == sorted(order, key=["sqlite", "postgresql", "kafka"].index)
    assert Counter(order) == {"sqlite": 150, "postgresql": 700, "kafka": 150}


def test_what_was_kept_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    progress = resumed(path, seed=7, rounds=4)
    progress.add(done(0))
    progress.add(done(1, Problem("lost", "run r is not there")))
    progress.keep(path)
    assert resumed(path, seed=7, rounds=4) == progress
    assert (progress.next, progress.seconds_left) == (2, 4.0)
    assert progress.faults == {"lost": 1, "twice": 0, "left": 0, "wrong": 0}
    assert progress.failed == ["round 1, lost: run r is not there"]
    assert resumed(path, seed=8, rounds=4) == Progress(seed=8, rounds=4)
    progress.next = 4
    progress.keep(path)
    assert resumed(path, seed=7, rounds=4) == Progress(seed=7, rounds=4)


def test_the_page_tells_what_came_of_it() -> None:
    progress = Progress(seed=7, rounds=2)
    progress.add(done(0))
    progress.add(done(1, Problem("twice", "something")))
    text = page(progress, commit="abc", date="2026-11-15")
    assert "`make chaos ROUNDS=2 SEED=7` on 2026-11-15, commit abc" in text
    assert (
        "| server, executors, bridges on PostgreSQL | 2 | 8 | 0 | 2 | 0 | 2.0 | 0 | 1 | 0 | 0 |"
        in text
    )
    assert "Killed: executor-1 2. Moments: told 2.\n- round 1, twice: something\n" in text
