"""A world for runs: agents that take a while, people who decide, a clock. Nothing waits: time is a
number. What happens to a task follows from the seed and the task's name alone."""

from __future__ import annotations

import heapq
from random import Random
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from accord.workflows.core.decisions import decide
from accord.workflows.core.definition import Definition
from accord.workflows.core.events import (
    ApprovalGiven,
    Arrival,
    CancelChild,
    CancelTask,
    Command,
    ContinueTask,
    Event,
    RequestApproval,
    RunStarted,
    SignalReceived,
    TaskFailed,
    TaskSucceeded,
)
from accord.workflows.core.machine import receive
from accord.workflows.core.program import compile_program
from accord.workflows.core.state import Failure, State


class Fate(Struct, frozen=True):
    """What happens to a task: after some seconds an output, or a failure."""

    seconds: float
    output: Any = None
    code: str | None = None


class World(Struct, frozen=True):
    """Decides what happens to tasks, approvals and signals. A task that is tried again has the
    same fate, unless it is among the broken ones, which are broken once."""

    seed: int
    failing: float = 0.2
    noise: float = 0.0
    broken: frozenset[str] = frozenset()

    def task(self, task: str) -> Fate:
        random = Random(f"{self.seed}/{task.partition('@')[0]}")
        seconds = 1.0 + random.random() * 9.0
        if random.random() < self.failing or task in self.broken:
            return Fate(seconds, code=f"broken-{random.randrange(3)}")
        return Fate(seconds, output=random.randrange(3))

    def signal(self, name: str) -> float:
        """When the signal of this name arrives; most of them early."""
        return Random(f"{self.seed}/signal/{name}").random() * 30.0


class Simulation:
    """One run in a world. `history` is everything that happened, `inputs` what each task was
    given."""

    def __init__(self, definition: Definition, world: World) -> None:
        self.program = compile_program(definition)
        self.state = State()
        self.history: list[Event] = []
        self.inputs: dict[str, Any] = {}
        self.commands: list[Command] = []
        self._world = world
        self._noise = Random(f"{world.seed}/noise")
        self._coming: list[tuple[float, int, Arrival]] = []
        self._count = 0
        self._cancelled: set[str] = set()

    def run(self, input: Any, signals: tuple[str, ...] = ()) -> State:
        for name in signals:
            at = self._world.signal(name)
            self._expect(SignalReceived(at=at, name=name, id=name, payload=f"signal {name}"))
        self.arrive(RunStarted(at=0.0, input=input))
        self.go_on()
        return self.state

    def go_on(self) -> None:
        """Lets time pass until nothing more can happen."""
        while self.state.phase == "running":
            timer = self.state.next_timer
            if self._coming and (timer is None or self._coming[0][0] <= timer):
                _, _, event = heapq.heappop(self._coming)
                self.arrive(event)
            elif timer is not None:
                self._decide(timer)
            else:
                return

    def arrive(self, event: Arrival) -> None:
        self.history.append(receive(self.program, self.state, event))
        self._decide(event.at)

    def _decide(self, now: float) -> None:
        more = True
        while more:
            decision = decide(self.program, self.state, now)
            self.history.extend(decision.events)
            for command in decision.commands:
                self.commands.append(command)
                self._obey(command, now)
            more = decision.more

    def _obey(self, command: Command, now: float) -> None:
        match command:
            case CancelTask(task=task) | CancelChild(task=task):
                self._cancelled.add(task)
            case RequestApproval(task=task):
                fate = self._world.task(task)
                approved = fate.code is None
                at = now + fate.seconds
                self._expect(ApprovalGiven(at=at, task=task, approved=approved, by="ann"))
            case ContinueTask():
                raise AssertionError("no agent of this world asks for anything")
            case _:
                self.inputs[command.task] = command.input
                self._expect(self._answer(command.task, now))

    def _answer(self, task: str, now: float) -> Arrival:
        fate = self._world.task(task)
        at = now + fate.seconds
        if fate.code is not None:
            return TaskFailed(at=at, task=task, error=Failure(fate.code, "it broke"))
        return TaskSucceeded(at=at, task=task, output=fate.output)

    def _expect(self, event: Arrival) -> None:
        copies = 1 + (self._noise.random() < self._world.noise)
        for copy in range(copies):
            self._count += 1
            at = event.at + copy * self._noise.random() * 5.0
            heapq.heappush(self._coming, (at, self._count, _moved(event, at)))


def _moved(event: Arrival, at: float) -> Arrival:
    return replace(event, at=at)
