"""A round: runs go on, something is killed at a certain moment and comes back after a while, all
runs end, and everything is judged. What happens follows from the seed and the round's number."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress
from random import Random
from typing import Any, Final, Literal, TypeAlias, get_args

from msgspec import Struct

from chaos.client import Acknowledged, RefusedError
from chaos.ledger import Entry
from chaos.setups import LEASE_SECONDS, STOPPED, SetUp, World
from chaos.tables import AwayError
from chaos.verdict import Problem
from chaos.workflow import COPIES, workflow_name

Moment: TypeAlias = Literal["any", "acknowledged", "received", "effect", "told", "operation"]
"""When something is killed: at any time, or right after the server acknowledged a run, the agent
got a message, had an effect, somebody heard of it, or an operation of the hub was done."""

MOMENTS: Final[tuple[Moment, ...]] = get_args(Moment)
RUNS: Final = 5
"""One of which fails and is retried, one is cancelled and retried, and the last is cancelled."""
FAILING: Final = RUNS - 3
RETRIED: Final = RUNS - 2
CANCELLED: Final = RUNS - 1
LATEST: Final = 1.5
"""Seconds after which something is killed at the latest, at any time."""
PATIENCE: Final = 120.0
"""Seconds within which all runs must have ended: an agent that fails again and again is left alone
for a minute."""
CALM: Final = 30.0
_LOOK: Final = 0.002


class Kill(Struct, frozen=True):
    """Who is killed, when, and for how long."""

    victim: str
    moment: Moment
    count: int
    """After so many such things in this round."""
    after: float
    pause: float


class Plan(Struct, frozen=True):
    number: int
    kills: tuple[Kill, ...]
    starts: tuple[float, ...]
    """When each run is started, in seconds."""
    signals: tuple[float, ...]
    """How long after that it gets its signal, or is cancelled."""
    cancels: tuple[float, ...] = ()
    """How long after each retry the run is cancelled that is cancelled and retried."""


class Round(Struct, frozen=True, kw_only=True):
    """What came of one."""

    number: int
    set_up: SetUp
    kills: tuple[Kill, ...]
    runs: int
    seconds: float
    repeated: int
    """Messages that the agent got again."""
    unanswered: int
    retries: int = 0
    """Of runs."""
    problems: list[Problem]
    details: Any = None


def plan_round(seed: int, number: int, victims: Iterable[str]) -> Plan:
    random = Random(f"{seed}/{number}")
    several = 2 if random.random() < 0.2 else 1
    names = random.sample(sorted(victims), several)
    if {"agent", "agent-forgets"} <= set(names):
        names = names[:1]
    return Plan(
        number,
        tuple(_plan_kill(random, name) for name in names),
        tuple(random.choice((0.0, random.random() * 0.5)) for _ in range(RUNS)),
        tuple(random.random() * 1.5 for _ in range(RUNS)),
        tuple(random.random() for _ in range(random.randint(1, 3))),
    )


def _plan_kill(random: Random, victim: str) -> Kill:
    moment = random.choice(MOMENTS)
    most = {"acknowledged": RUNS, "operation": RUNS - 1}.get(moment, RUNS * 8)
    count = random.randint(1, most)
    after = random.random() * LATEST if moment == "any" else random.choice((0.0, 0.002, 0.01))
    return Kill(victim, moment, count, after, _pause(random, victim))


def _pause(random: Random, victim: str) -> float:
    if victim.endswith(STOPPED):
        return LEASE_SECONDS + random.random()
    longest = 0.3 if victim.startswith("agent") else 1.0
    return random.choice((0.0, random.random() * longest))


class _Going:
    """A round while it goes on."""

    def __init__(self, world: World, plan: Plan, prefix: str) -> None:
        self.world = world
        self.plan = plan
        self.prefix = prefix
        self.runs: list[Acknowledged] = []
        self.entries: list[Entry] = []
        self.over = asyncio.Event()

    async def run(self) -> None:
        """Raises TimeoutError where runs do not end."""
        killing = [asyncio.create_task(self._kill(kill)) for kill in self.plan.kills]
        reading = asyncio.create_task(self._read())
        try:
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(*(self._use(place) for place in range(RUNS)))
                await self._until_finished()
        finally:
            self.over.set()
            await asyncio.gather(*killing)
            await reading

    async def _use(self, place: int) -> None:
        """Start a run, and send it its signal."""
        await asyncio.sleep(self.plan.starts[place])
        number = self.plan.number * RUNS + place
        workflow = workflow_name(number % COPIES)
        key = f"{self.prefix}-{place}"
        client, fails = self.world.client, int(place == FAILING)
        run = await client.start_run(workflow, key, number, fails=fails)
        run.retried, run.cancelled = place in (FAILING, RETRIED), place == CANCELLED
        self.runs.append(run)
        if run.retried:
            await client.signal(run)
        await asyncio.sleep(self.plan.signals[place])
        if place == CANCELLED:
            await client.cancel(run)
        elif not run.retried:
            await client.signal(run)
        else:
            if place == RETRIED:
                await self._cancel_and_retry(run)
            await client.bring_to_end(run)

    async def _cancel_and_retry(self, run: Acknowledged) -> None:
        client = self.world.client
        for pause in self.plan.cancels:
            await client.cancel(run)
            if await client.until_ended(run) == "completed":
                return
            await client.retry(run)
            await asyncio.sleep(pause)

    async def _until_finished(self) -> None:
        while True:
            with suppress(AwayError):
                if not await self.world.judge.unfinished(self.runs):
                    return
            await asyncio.sleep(0.02)

    async def _read(self) -> None:
        while not self.over.is_set():
            self.entries += self.world.ledger.read()
            await asyncio.sleep(_LOOK)

    async def _kill(self, kill: Kill) -> None:
        while not await self._is_time(kill) and not self.over.is_set():  # noqa: ASYNC110
            await asyncio.sleep(_LOOK)
        await asyncio.sleep(kill.after)
        victim = self.world.victims[kill.victim]
        await victim.kill()
        await asyncio.sleep(kill.pause)
        await victim.start()

    async def _is_time(self, kill: Kill) -> bool:
        if kill.moment == "any":
            return True
        if kill.moment == "acknowledged":
            return len(self.runs) >= kill.count
        if kill.moment == "operation":
            with suppress(AwayError):
                return await self.world.judge.operations(self.prefix) >= kill.count
            return False
        return sum(entry.kind == kill.moment for entry in self.entries) >= kill.count


async def do_round(world: World, set_up: SetUp, plan: Plan, prefix: str) -> Round:
    """Raises ProgramError where something does not come back."""
    began = time.monotonic()
    going = _Going(world, plan, prefix)
    unanswered, retries = world.client.unanswered, world.client.retries
    problems: list[Problem] = []
    try:
        await going.run()
    except TimeoutError:
        problems.append(Problem("lost", f"not all runs ended within {PATIENCE:.0f} s"))
    except RefusedError as error:
        problems.append(Problem("wrong", f"the server refused: {error}"))
    problems += await _until_calm(world)
    going.entries += world.ledger.read()
    if going.runs:
        problems += await world.judge.judge(going.runs, going.entries, world.client.acknowledged)
    problems += [Problem("wrong", death) for death in world.deaths()]
    return Round(
        number=plan.number,
        set_up=set_up,
        kills=plan.kills,
        runs=len(going.runs),
        seconds=time.monotonic() - began,
        repeated=sum(entry.kind == "repeated" for entry in going.entries),
        unanswered=world.client.unanswered - unanswered,
        retries=world.client.retries - retries,
        problems=problems,
        details=await world.judge.rows(going.runs) if problems else None,
    )


async def _until_calm(world: World) -> list[Problem]:
    """What is still on its way after some time in which nothing happens."""
    deadline = time.monotonic() + CALM
    left = [Problem("left", "the database does not answer")]
    while left and time.monotonic() < deadline:
        with suppress(AwayError):
            left = await world.judge.left()
        if left:
            await asyncio.sleep(0.02)
    return left
