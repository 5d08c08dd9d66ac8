"""How far it got: kept in a file after every round, so that it can be stopped and continued."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from msgspec import Struct, json

from chaos.rounds import Round
from chaos.setups import SetUp
from chaos.verdict import FAULTS, Fault

SHARES: Final[tuple[tuple[SetUp, float], ...]] = (
    ("sqlite", 0.15), ("postgresql", 0.7), ("kafka", 0.15)
)  # fmt: skip
"""Which share of the rounds is run on what."""


def set_up_of(number: int, rounds: int) -> SetUp:
    """What a round is run on: one after the other."""
    place = number / rounds
    for set_up, share in SHARES:
        if place < share:
            return set_up
        place -= share
    return SHARES[-1][0]


class Tally(Struct, kw_only=True):
    """The rounds on one set-up."""

    rounds: int = 0
    runs: int = 0
    repeated: int = 0
    unanswered: int = 0
    retries: int = 0
    seconds: float = 0.0
    killed: dict[str, int] = {}
    moments: dict[str, int] = {}
    faults: dict[Fault, int] = {}

    def add(self, done: Round) -> None:
        self.rounds += 1
        self.runs += done.runs
        self.repeated += done.repeated
        self.unanswered += done.unanswered
        self.retries += done.retries
        self.seconds += done.seconds
        for kill in done.kills:
            self.killed[kill.victim] = self.killed.get(kill.victim, 0) + 1
            self.moments[kill.moment] = self.moments.get(kill.moment, 0) + 1
        for problem in done.problems:
            self.faults[problem.fault] = self.faults.get(problem.fault, 0) + 1


class Progress(Struct, kw_only=True):
    """All rounds so far: `next` is the number of the one that comes."""

    seed: int
    rounds: int
    next: int = 0
    tallies: dict[SetUp, Tally] = {}
    failed: list[str] = []
    """What was wrong in rounds, in words."""

    def add(self, done: Round) -> None:
        self.next = done.number + 1
        self.tallies.setdefault(done.set_up, Tally()).add(done)
        for problem in done.problems:
            self.failed.append(f"round {done.number}, {problem.fault}: {problem.what}")

    def count(self, fault: Fault) -> int:
        return sum(each.faults.get(fault, 0) for each in self.tallies.values())

    @property
    def faults(self) -> dict[Fault, int]:
        return {fault: self.count(fault) for fault in FAULTS}

    @property
    def seconds_left(self) -> float:
        """About how long the rest takes."""
        done = [each for each in self.tallies.values() if each.rounds]
        usual = sum(each.seconds for each in done) / max(sum(each.rounds for each in done), 1)
        left = 0.0
        for number in range(self.next, self.rounds):
            tally = self.tallies.get(set_up_of(number, self.rounds))
            left += tally.seconds / tally.rounds if tally is not None else usual
        return left

    def keep(self, path: Path) -> None:
        partly = path.with_suffix(".part")
        partly.write_bytes(json.encode(self))
        os.replace(partly, path)


def resumed(path: Path, *, seed: int, rounds: int) -> Progress:
    """What was kept of the same rounds, or a new beginning."""
    if path.exists():
        found = json.decode(path.read_bytes(), type=Progress)
        if (found.seed, found.rounds) == (seed, rounds) and found.next < rounds:
            return found
    return Progress(seed=seed, rounds=rounds)
