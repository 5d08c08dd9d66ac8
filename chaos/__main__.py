"""`python -m chaos [--rounds 1000] [--seed 7]`: rounds in which something is killed, until all are
done or it is interrupted; the same command goes on where it was.

Everything is kept in .cache/chaos: how far it got, logs of all programs, and of each round in which
something was wrong all rows and what was wrong. Exits with 1 where anything was.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import json

from chaos.page import write_page
from chaos.progress import Progress, resumed, set_up_of
from chaos.rounds import Round, do_round, plan_round
from chaos.setups import SetUp, installation

HOME: Final = Path(__file__).parent.parent / ".cache" / "chaos"


def main() -> int:
    given = _arguments()
    home: Path = given.home
    home.mkdir(parents=True, exist_ok=True)
    path = home / "progress.json"
    progress = resumed(path, seed=given.seed, rounds=given.rounds)
    if progress.next:
        print(f"going on after {progress.next} rounds", flush=True)
    try:
        asyncio.run(_run(progress, home, given.only))
    except asyncio.CancelledError:
        print("\nstopped: the same command goes on from here", flush=True)
    if given.page:
        date = datetime.now(UTC).strftime("%Y-%m-%d")
        write_page(progress, commit=_commit(), date=date)
    print(_summary(progress))
    return 1 if progress.failed else 0


async def _run(progress: Progress, home: Path, only: SetUp | None) -> None:
    """Raises CancelledError where it is interrupted."""
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    while progress.next < progress.rounds:
        set_up = only or set_up_of(progress.next, progress.rounds)
        await _run_on(set_up, progress, home, only)


async def _run_on(set_up: SetUp, progress: Progress, home: Path, only: SetUp | None) -> None:
    """The rounds on one set-up."""
    folder = home / set_up
    await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    # Keys are of this run of the program: what one before was doing is not there any more.
    prefix = f"{set_up}-{int(time.time())}"
    async with installation(set_up, folder) as world:
        while progress.next < progress.rounds:
            number = progress.next
            if set_up != (only or set_up_of(number, progress.rounds)):
                return
            plan = plan_round(progress.seed, number, world.victims)
            done = await do_round(world, set_up, plan, f"{prefix}-{number}")
            progress.add(done)
            progress.keep(home / "progress.json")
            print(_line(done, progress), flush=True)
            if done.problems:
                _keep(done, home)


def _line(done: Round, progress: Progress) -> str:
    kills = " and ".join(f"{kill.victim} ({kill.moment})" for kill in done.kills)
    found = "; ".join(f"{each.fault}: {each.what}" for each in done.problems[:5]) or "ok"
    faults = ", ".join(f"{fault} {number}" for fault, number in progress.faults.items())
    left = progress.seconds_left / 60
    return (
        f"{progress.next}/{progress.rounds} {done.set_up}: {kills}, {done.seconds:.1f} s: {found}"
        f" | {faults} | about {left:.0f} minutes left"
    )


def _keep(done: Round, home: Path) -> None:
    path = home / f"round-{done.number}.json"
    path.write_bytes(json.format(json.encode(done)))
    print(f"  see {path}", flush=True)


def _summary(progress: Progress) -> str:
    runs = sum(tally.runs for tally in progress.tallies.values())
    kills = sum(sum(tally.killed.values()) for tally in progress.tallies.values())
    faults = ", ".join(f"{number} {fault}" for fault, number in progress.faults.items())
    return f"{progress.next} rounds, {runs:,} runs, {kills:,} kills: {faults}"


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", choices=("sqlite", "postgresql", "kafka"))
    parser.add_argument("--home", type=Path, default=HOME)
    parser.add_argument("--page", action=argparse.BooleanOptionalAction, default=True)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
