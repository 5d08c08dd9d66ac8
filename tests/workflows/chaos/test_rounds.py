"""Ten rounds in which something is killed, the same each time; `make chaos` runs a thousand."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.rounds import RUNS, do_round, plan_round
from chaos.setups import SetUp, installation
from tools.kafka import MissingError, jars

PLAN: dict[SetUp, tuple[int, int]] = {"sqlite": (10, 3), "postgresql": (1063, 5), "kafka": (155, 2)}
"""Seeds and rounds, in which each kind of process is killed, each at another moment, and one is
stopped past its lease."""


@pytest.mark.req("W-09")
@pytest.mark.parametrize("set_up", PLAN)
async def test_whatever_is_killed_nothing_is_lost_and_nothing_is_done_twice(
    tmp_path: Path, set_up: SetUp
) -> None:
    if set_up == "kafka":
        _need_kafka()
    seed, rounds = PLAN[set_up]
    async with installation(set_up, tmp_path / "installation") as world:
        for number in range(rounds):
            plan = plan_round(seed, number, world.victims)
            done = await do_round(world, set_up, plan, f"{set_up}-{number}")
            assert (done.runs, done.problems) == (RUNS, []), (plan.kills, _logged(tmp_path))


def _logged(folder: Path) -> dict[str, list[str]]:
    """What each program said last: it will not be seen again."""
    return {log.name: log.read_text().splitlines()[-30:] for log in folder.glob("*/*.log")}


def _need_kafka() -> None:
    try:
        jars()
    except MissingError as error:
        pytest.skip(str(error))
