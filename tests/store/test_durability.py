"""No write that was acknowledged is lost when its process is killed, on both engines."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

from accord.store import open_store

PROGRAM = Path(__file__).with_name("acknowledging.py")
ROUNDS = 8
STEP = 1_000_000 // ROUNDS


def killed_while_writing(url: str, begin: int, after: int) -> set[int]:
    """What a process acknowledged that was killed once it had done so `after` times."""
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), url, str(begin)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        acknowledged = {int(process.stdout.readline()) for _ in range(after)}
        process.kill()
        acknowledged |= {int(line) for line in process.stdout if line.endswith("\n")}
    return acknowledged


async def test_no_acknowledged_write_is_lost_when_the_process_is_killed(url: str) -> None:
    chance = random.Random(6)
    async with open_store(url) as store:
        await store.execute("CREATE TABLE written (number integer PRIMARY KEY)")
    acknowledged: set[int] = set()
    for number in range(ROUNDS):
        acknowledged |= killed_while_writing(url, number * STEP, chance.randint(1, 60))
        async with open_store(url) as store:
            rows = await store.fetch("SELECT number FROM written")
        assert acknowledged - {row["number"] for row in rows} == set()
    assert len(acknowledged) >= ROUNDS
