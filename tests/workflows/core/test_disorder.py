"""Whatever arrives, in whatever order and however many at once, with people pausing, cancelling and
retrying in between: nothing breaks, and the books are right."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, assume, given, settings, strategies as st

from accord.workflows.core.decisions import decide
from accord.workflows.core.events import (
    ApprovalGiven,
    Arrival,
    CancelChild,
    CancelRequested,
    CancelTask,
    Command,
    Event,
    PauseRequested,
    RequestApproval,
    ResumeRequested,
    RetryRequested,
    RunStarted,
    SignalReceived,
    TaskAsked,
    TaskFailed,
    TaskSucceeded,
)
from accord.workflows.core.machine import fold, receive
from accord.workflows.core.outputs import view_steps
from accord.workflows.core.program import compile_program, is_task
from accord.workflows.core.reading import read_definition
from accord.workflows.core.state import FINAL, Failure, State, decode_state, encode_state
from tests.workflows.core.any_definition import Generated, generated
from tests.workflows.core.simulation import Simulation, World

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(generated(), st.data())
def test_nothing_that_arrives_breaks_a_run(case: Generated, data: st.DataObject) -> None:
    run = _Disorder(case, data)
    run.receive(RunStarted(at=0.0, input=case.input))
    for _ in range(data.draw(st.integers(0, 25))):
        run.something()
    run.end()


class _Disorder:
    def __init__(self, case: Generated, data: st.DataObject) -> None:
        self._program = compile_program(read_definition(case.definition))
        self._names = [*self._program.plans, "nobody"]
        self._signals = case.signals
        self._data = data
        self._state = State()
        self._history: list[Event] = []
        self._open: dict[str, Command] = {}
        self._seen: list[str] = ["nobody", "x@2"]
        self._now = 0.0
        self._count = 0

    def something(self) -> None:
        """A few things arrive, and then somebody decides, or not."""
        self._now += self._data.draw(st.sampled_from([0.0, 0.5, 20.0]))
        for _ in range(self._data.draw(st.integers(1, 3))):
            self.receive(self._arrival())
        if self._data.draw(st.integers(0, 3)):
            self._decide()

    def receive(self, event: Arrival) -> None:
        self._history.append(receive(self._program, self._state, event))
        self._check()

    def _arrival(self) -> Arrival:
        task = self._data.draw(st.sampled_from([*self._open, *self._open, *self._seen[-8:]]))
        at, kind = self._now, self._data.draw(st.integers(0, 14))
        self._count += 1
        match kind:
            case 0 | 1:
                return TaskFailed(at=at, task=task, error=Failure("broken", "it broke"))
            case 2:
                return TaskAsked(at=at, task=task)
            case 3:
                return PauseRequested(at=at)
            case 4 | 5:
                return ResumeRequested(at=at)
            case 6:
                return CancelRequested(at=at)
            case 7 | 8:
                started = [*self._state.steps, "nobody"]
                return RetryRequested(at=at, step=self._data.draw(st.sampled_from(started)))
            case 9:
                name = self._data.draw(st.sampled_from([*self._signals, task]))
                id = str(self._count - self._data.draw(st.integers(0, 1)))
                return SignalReceived(at=at, name=name, id=id)
            case 10:
                return ApprovalGiven(at=at, task=task, approved=True, by="ann")
            case _:
                return self._answer(task)

    def _answer(self, task: str) -> Arrival:
        if isinstance(self._open.get(task), RequestApproval):
            return ApprovalGiven(at=self._now, task=task, approved=True, by="ann")
        return TaskSucceeded(at=self._now, task=task, output=1)

    def _decide(self) -> None:
        decision = decide(self._program, self._state, self._now)
        self._history.extend(decision.events)
        for command in decision.commands:
            self._seen.append(command.task)
            if isinstance(command, CancelTask | CancelChild):
                self._open.pop(command.task, None)
            else:
                self._open[command.task] = command
        self._check()
        assert decide(self._program, self._state, self._now).events == ()

    def end(self) -> None:
        """Everybody answers from now on: the run ends, and nobody is forgotten."""
        self.receive(ResumeRequested(at=self._now))
        for name in self._signals:
            for copy in range(3):
                id = f"{name} {copy}"
                self.receive(SignalReceived(at=self._now, name=name, id=id))
        self._decide()
        rounds = 0
        while self._state.phase == "running":
            rounds += 1
            assert rounds < 1_000, "the run does not end"
            self._now = max(self._now, self._state.next_timer or self._now)
            for step in [step for step in self._state.steps.values() if step.active]:
                if is_task(self._program.plans[step.name]) or step.task in self._open:
                    self.receive(self._answer(step.task))
            self._decide()
        self._check()
        assert fold(self._program, self._history) == self._state
        assert decode_state(encode_state(self._state)) == self._state
        assert (self._state.busy, self._state.idle, self._state.agenda) == (0, 0, [])
        assert not self._state.wakes
        assert not self._state.deadlines
        assert not self._state.waiters

    def _check(self) -> None:
        """What the state counts is what there is."""
        leaves = [
            step
            for step in self._state.steps.values()
            if step.active and not self._program.plans[step.name].blocks
        ]
        assert self._state.busy == sum(step.status == "running" for step in leaves)
        assert self._state.idle == sum(step.status == "waiting" for step in leaves)
        active = {step.key for step in self._state.steps.values() if step.active}
        assert {*self._state.wakes, *self._state.deadlines} <= active
        assert len(set(self._state.agenda)) == len(self._state.agenda)
        assert self._state.bytes >= 0
        assert (self._state.finished_at is not None) == (self._state.phase in FINAL)
        assert {view.key for view in view_steps(self._program, self._state)} >= {*self._state.steps}


@settings(max_examples=80, deadline=None, suppress_health_check=SLOW)
@given(generated(), st.integers(0, 10_000), st.data())
def test_a_run_that_is_retried_comes_to_what_it_would_have_come_to(
    case: Generated, seed: int, data: st.DataObject
) -> None:
    # A signal is taken once, and a step that waited for it waits again when it is retried.
    assume(not case.signals)
    definition = read_definition(_patient(case.definition))
    whole = Simulation(definition, World(seed, failing=0.0))
    whole.run(case.input)
    assume(whole.inputs)
    broken = data.draw(st.sampled_from(sorted(whole.inputs)))
    again = Simulation(definition, World(seed, failing=0.0, broken=frozenset({broken})))
    state = again.run(case.input)
    if state.phase == "failed":
        assert state.finished_at is not None
        again.arrive(RetryRequested(at=state.finished_at, step=broken))
        again.go_on()
        assert (state.phase, state.output) == (whole.state.phase, whole.state.output)
        done = {key for key in whole.state.steps if state.steps[key].status == "completed"}
        assert done == {k for k, step in whole.state.steps.items() if step.status == "completed"}


def _patient(value: Any) -> Any:
    """The same definition without what depends on who is first."""
    match value:
        case dict():
            kept = {key: _patient(each) for key, each in value.items() if key != "timeout"}
            return kept | ({"join": "all"} if "branches" in value else {})
        case list():
            return [_patient(each) for each in value]
        case _:
            return value
