"""Applies events to the state of a run; nothing else changes the state.

Nothing here evaluates an expression, applies a limit or reads the clock. So the same history always
leads to the same state, even after a limit or a function of expressions has changed.

    start a step          StepStarted    -> a task runs, a wait waits, frames open inside
    end of a step         TaskSucceeded… -> its frame moves to the next step, or closes
    end of a frame        (no own event) -> the step around it completes, or goes on the agenda
    failure of a step     TaskFailed…    -> continues, opens its handler, or fails its frame
    end of the run        RunFinished    -> all active steps are cancelled
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec import json
from msgspec.structs import replace

from accord.workflows.core.definition import ConditionStep, LoopStep, ParallelStep, WaitStep
from accord.workflows.core.events import (
    ApprovalGiven,
    CancelRequested,
    Event,
    PauseRequested,
    ResumeRequested,
    RetryRequested,
    RoundStarted,
    RunFinished,
    RunStarted,
    SignalReceived,
    StepFailed,
    StepSettled,
    StepStarted,
    TaskAsked,
    TaskContinued,
    TaskFailed,
    TaskSucceeded,
    TimerFired,
)
from accord.workflows.core.outputs import is_over, most_at_once
from accord.workflows.core.program import (
    HANDLER,
    MAIN,
    Plan,
    Program,
    asks_approval,
    block_of,
    current_step,
    find_active,
    frames_in,
    is_lane,
    is_task,
    root_frames,
)
from accord.workflows.core.retry import RunRetry, retry
from accord.workflows.core.rules import END
from accord.workflows.core.state import (
    TIMEOUT,
    Failure,
    Frame,
    State,
    StepRun,
    Todo,
    frame_id,
)

CANCELLED: Final = "cancelled"
"""The failure code of a cancelled run."""


def apply(program: Program, state: State, event: Event) -> None:
    """Apply one event to `state`.

    A late, duplicate or meaningless event changes nothing, and is counted as ignored.
    """
    state.applied += 1
    change = _Change(program, state, event.at)
    _CHANGES[type(event)](change, event)


class _Change:
    """One event being applied to a state; each public method applies one type."""

    __slots__ = ("at", "program", "state")

    def __init__(self, program: Program, state: State, at: float) -> None:
        self.program = program
        self.state = state
        self.at = at

    # The run

    def run_started(self, event: RunStarted) -> None:
        state = self.state
        if state.phase != "pending":
            state.ignored += 1
            return
        state.phase, state.started_at = "running", event.at
        state.input, state.depth = event.input, event.depth
        self._open("", MAIN, ())

    def paused(self, event: PauseRequested) -> None:
        if self._running():
            self.state.paused = True

    def resumed(self, event: ResumeRequested) -> None:
        if self._running():
            self.state.paused = False

    def cancelled(self, event: CancelRequested) -> None:
        if self._running():
            by = f" by {event.by}" if event.by else ""
            reason = f": {event.reason}" if event.reason else ""
            self.state.ending = Failure(CANCELLED, f"cancelled{by}{reason}")

    def _running(self) -> bool:
        if self.state.phase == "running":
            return True
        self.state.ignored += 1
        return False

    def run_finished(self, event: RunFinished) -> None:
        state = self.state
        for frame in root_frames(state):
            self._cancel_frame(frame)
        state.agenda.clear()
        state.phase, state.finished_at = event.status, event.at
        state.output, state.error = event.output, event.error
        state.paused, state.ending = False, None

    # Steps

    def step_started(self, event: StepStarted) -> None:
        step, plan = self._create(event.key, event.frame)
        if event.deadline is not None:
            self.state.deadlines[step.key] = event.deadline
        if event.wake is not None:
            self.state.wakes[step.key] = event.wake
        frame = self.state.frames[event.frame]
        match plan.step:
            case WaitStep(signal=signal):
                step.status = "waiting"
                self.state.idle += 1
                self._set_prompt(step, event.input)
                self._await(step, signal)
            case ConditionStep():
                step.choice = event.choice
                if step.choice is None:
                    self._complete(step)
                else:
                    self._open(step.key, step.choice, frame.rounds)
            case ParallelStep(branches=branches):
                step.total = len(branches)
                self._advance(step, plan.step)
            case LoopStep():
                step.items = event.items
                step.total = len(event.items or ())
                self._advance(step, plan.step)
            case _:
                self.state.busy += 1

    def step_failed(self, event: StepFailed) -> None:
        step = self.state.steps.get(event.key)
        if step is None:
            step, _ = self._create(event.key, event.frame)
        else:
            self._done("round", event.key)
        self._fail(step, event.error)

    def _create(self, key: str, frame: str) -> tuple[StepRun, Plan]:
        self._done("start", frame)
        place = self.state.frames[frame]
        plan = block_of(self.program, self.state, place).plans[place.at]
        step = StepRun(key, plan.step.name, frame, "running", self.at, self.state.round)
        step.resumes = self.state.resumed.pop(key, "")
        self.state.steps[key] = step
        return step, plan

    def _complete(self, step: StepRun, jump: str | None = None) -> None:
        self._stop(step, "completed")
        self._proceed(step, jump)

    def _fail(self, step: StepRun, error: Failure) -> None:
        self._stop(step, "failed")
        step.error = replace(error, step=error.step or step.key)
        plan = self.program.plans[step.name]
        frame = self.state.frames[step.frame]
        if plan.handler is not None:
            self._open(step.key, HANDLER, frame.rounds)
        elif plan.step.on_error == "continue" and not isinstance(plan.step, LoopStep):
            self._proceed(step, None)
        else:
            self._close(frame, step.error)

    def _stop(self, step: StepRun, status: Any) -> None:
        """Mark a step as ended, and remove its timers and its wait for a signal."""
        state, plan = self.state, self.program.plans[step.name]
        if step.active and (is_task(plan) or isinstance(plan.step, WaitStep)):
            if step.status == "running":
                state.busy -= 1
            else:
                state.idle -= 1
                self._forget_waiter(step, plan)
                self._done("continue", step.key)
            self._set_prompt(step, None)
        step.status, step.finished_at = status, self.at
        state.wakes.pop(step.key, None)
        state.deadlines.pop(step.key, None)

    def _set_prompt(self, step: StepRun, prompt: Any) -> None:
        """Store the message and data of a step's open approval; None removes them."""
        if step.shown is not None:
            self.state.bytes -= step.size
            step.size = 0
        step.shown = prompt
        if prompt is not None:
            step.size = len(json.encode(prompt))
            self.state.bytes += step.size

    # Frames

    def _open(self, owner: str, label: str, rounds: tuple[int, ...]) -> None:
        frame = Frame(owner, label, rounds)
        self.state.frames[frame.id] = frame
        self.state.agenda.append(("start", frame.id))

    def _proceed(self, step: StepRun, jump: str | None) -> None:
        """Move on from an ended step: to the next step, to a jump's target, or out of the frame."""
        frame = self.state.frames[step.frame]
        frame.last = step.key
        block = block_of(self.program, self.state, frame)
        target = jump or self.program.plans[step.name].step.next
        if target is None:
            frame.at += 1
        elif target in block.positions:
            frame.at = block.positions[target]
        else:
            frame.at = len(block.plans)
            leaves = target != END or not is_lane(self.program, self.state, frame)
            self._close(frame, None, target if leaves else None)
            return
        if frame.at < len(block.plans):
            self.state.agenda.append(("start", frame.id))
        else:
            self._close(frame, None)

    def _close(self, frame: Frame, error: Failure | None, jump: str | None = None) -> None:
        """End a frame, and continue with the step around it or with the end of the run."""
        frame.status = "completed" if error is None else "failed"
        frame.error = error
        if not frame.owner:
            self._close_root(frame, error)
            return
        owner = self.state.steps[frame.owner]
        definition = self.program.plans[owner.name].step
        if frame.label == HANDLER:
            if error is None:
                self._proceed(owner, jump)
            else:
                self._close(self.state.frames[owner.frame], error)
        elif isinstance(definition, ParallelStep | LoopStep):
            owner.succeeded += error is None
            owner.failed += error is not None
            self._advance(owner, definition)
        elif error is None:
            self._complete(owner, jump)
        else:
            self._fail(owner, error)

    def _close_root(self, frame: Frame, error: Failure | None) -> None:
        if frame.label == MAIN:
            self.state.error = error
            if error is not None and self.program.handler is not None:
                handler = self.state.frames.get(frame_id("", HANDLER))
                if handler is None:
                    self._open("", HANDLER, ())
                    return
                # The run was retried and failed again; completed steps of the handler stay.
                if handler.status != "completed":
                    self._resume(handler)
                    return
        self.state.agenda.append(("end", ""))

    # Parallel steps and loops

    def _advance(self, step: StepRun, definition: ParallelStep | LoopStep) -> None:
        """Open more branches or rounds of a step, or put it on the agenda if it is over."""
        if step.settling:
            return
        if is_over(definition, step):
            # Later ends of other lists must not put the step on the agenda a second time.
            step.settling = True
            self.state.agenda.append(("settle", step.key))
        elif isinstance(definition, LoopStep) and definition.while_ is not None and not step.halted:
            self.state.agenda.append(("round", step.key))
        else:
            self._open_more(step, definition)

    def _open_more(self, step: StepRun, definition: ParallelStep | LoopStep) -> None:
        most = most_at_once(definition)
        room = step.total if most is None else most
        labels = None if isinstance(definition, LoopStep) else list(definition.branches)
        rounds = self.state.frames[step.frame].rounds
        over = step.succeeded + step.failed
        while step.halted and step.opened - over - len(step.halted) < room:
            self._resume(self.state.frames[frame_id(step.key, step.halted.pop(0))])
        while step.opened < step.total and step.opened - over < room:
            if labels is None:
                self._open(step.key, str(step.opened), (*rounds, step.opened))
            else:
                self._open(step.key, labels[step.opened], rounds)
            step.opened += 1

    def _resume(self, frame: Frame) -> None:
        """Continue an unfinished frame of a retried run."""
        RunRetry(self.program, self.state, self.at, self._advance).resume(frame)

    def retried(self, event: RetryRequested) -> None:
        retry(self.program, self.state, event, self._advance)

    def round_started(self, event: RoundStarted) -> None:
        self._done("round", event.key)
        step = self.state.steps[event.key]
        rounds = self.state.frames[step.frame].rounds
        self._open(step.key, str(step.opened), (*rounds, step.opened))
        step.opened += 1

    def settled(self, event: StepSettled) -> None:
        step = self.state.steps[event.key]
        self._done("settle" if step.settling else "round", event.key)
        step.settling = False
        self._cancel_inside(step)
        if event.error is None:
            self._complete(step)
        else:
            self._fail(step, event.error)

    def _cancel_inside(self, step: StepRun) -> None:
        for frame in frames_in(self.program, self.state, step):
            self._cancel_frame(frame)

    def _cancel_frame(self, frame: Frame) -> None:
        if frame.status != "running":
            return
        frame.status = "cancelled"
        self._done("start", frame.id)
        step = current_step(self.program, self.state, frame)
        if step is None:
            return
        if step.active:
            self._stop(step, "cancelled")
        self._cancel_inside(step)
        self._done("settle", step.key)
        self._done("round", step.key)

    def _done(self, todo: Todo, id: str) -> None:
        """Remove an entry from the agenda, if present."""
        if (todo, id) in self.state.agenda:
            self.state.agenda.remove((todo, id))

    # Tasks

    def _task(self, task: str) -> StepRun | None:
        """Return the active step with this task.

        If there is none, return None, and count the event as ignored.
        """
        step = find_active(self.state, task)
        if step is not None and is_task(self.program.plans[step.name]):
            return step
        self.state.ignored += 1
        return None

    def task_succeeded(self, event: TaskSucceeded) -> None:
        step = self._task(event.task)
        if step is None:
            return
        step.attempts, step.size = event.attempts, event.size
        step.output, step.data, step.artifacts = event.output, event.data, event.artifacts
        self.state.bytes += event.size
        self._complete(step)

    def task_failed(self, event: TaskFailed) -> None:
        step = self._task(event.task)
        if step is None:
            return
        step.attempts = event.attempts
        self._fail(step, replace(event.error, step=step.key))

    def task_asked(self, event: TaskAsked) -> None:
        step = self._task(event.task)
        if step is None or step.status == "waiting":
            self.state.ignored += step is not None
            return
        step.status, step.prompt = "waiting", event.prompt
        self.state.busy -= 1
        self.state.idle += 1
        self._await(step, step.key)

    def task_continued(self, event: TaskContinued) -> None:
        self._done("continue", event.key)
        step = self.state.steps[event.key]
        self._take_signal(event.key)
        step.status, step.prompt = "running", None
        self.state.busy += 1
        self.state.idle -= 1

    # Waits

    def _await(self, step: StepRun, signal: str | None) -> None:
        """Make a step wait for the signal named `signal`, if any.

        A signal that has arrived already is delivered at once.
        """
        if signal is None:
            return
        if self.state.signals.get(signal):
            self._deliver(step, signal)
        else:
            self.state.waiters.setdefault(signal, []).append(step.key)

    def _deliver(self, step: StepRun, signal: str) -> None:
        if is_task(self.program.plans[step.name]):
            self.state.agenda.append(("continue", step.key))
            return
        step.output = self._take_signal(signal)
        self._complete(step)

    def _take_signal(self, name: str) -> Any:
        queue = self.state.signals[name]
        payload = queue.pop(0)
        if not queue:
            del self.state.signals[name]
        return payload

    def _forget_waiter(self, step: StepRun, plan: Plan) -> None:
        signal = plan.step.signal if isinstance(plan.step, WaitStep) else step.key
        waiting = self.state.waiters.get(signal or "", [])
        if step.key in waiting:
            waiting.remove(step.key)
        if signal is not None and not waiting:
            self.state.waiters.pop(signal, None)

    def signal_received(self, event: SignalReceived) -> None:
        state = self.state
        if event.id in state.signal_ids or state.phase != "running":
            state.ignored += 1
            return
        state.signal_ids[event.id] = state.applied
        state.signals.setdefault(event.name, []).append(event.payload)
        state.bytes += event.size
        waiting = state.waiters.get(event.name)
        if waiting:
            step = state.steps[waiting.pop(0)]
            if not waiting:
                del state.waiters[event.name]
            self._deliver(step, event.name)

    def approval_given(self, event: ApprovalGiven) -> None:
        step = find_active(self.state, event.task)
        if step is None or not asks_approval(self.program.plans[step.name]):
            self.state.ignored += 1
            return
        decision = {"approved": event.approved, "by": event.by, "reason": event.reason}
        if event.approved:
            step.output = decision
            self._complete(step)
        else:
            because = f": {event.reason}" if event.reason else ""
            self._fail(step, Failure("rejected", f"{event.by} rejected it{because}", "", decision))

    def timer_fired(self, event: TimerFired) -> None:
        step = self.state.steps[event.key]
        if event.kind == "wake":
            self._complete(step)
            return
        self._cancel_inside(step)
        self._done("settle", step.key)
        self._done("round", step.key)
        step.settling = False
        seconds = self.at - step.started_at
        self._fail(step, Failure(TIMEOUT, f"{step.key} was not done after {seconds:,.3f} seconds"))


_CHANGES: Final[dict[type, Callable[[_Change, Any], None]]] = {
    RunStarted: _Change.run_started,
    TaskSucceeded: _Change.task_succeeded,
    TaskFailed: _Change.task_failed,
    TaskAsked: _Change.task_asked,
    SignalReceived: _Change.signal_received,
    ApprovalGiven: _Change.approval_given,
    PauseRequested: _Change.paused,
    ResumeRequested: _Change.resumed,
    CancelRequested: _Change.cancelled,
    RetryRequested: _Change.retried,
    StepStarted: _Change.step_started,
    StepFailed: _Change.step_failed,
    RoundStarted: _Change.round_started,
    StepSettled: _Change.settled,
    TaskContinued: _Change.task_continued,
    TimerFired: _Change.timer_fired,
    RunFinished: _Change.run_finished,
}
