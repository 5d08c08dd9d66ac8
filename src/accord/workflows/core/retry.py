"""Retries of failed tasks, and of runs that failed or were cancelled.

A task is retried by the policy of its step; see `next_attempt`.

A retried run continues with the steps that did not complete. Steps that failed or were cancelled
start again, in all branches and rounds, and the steps around them are reopened. These keep their
results: completed steps, failures with `on_error: continue`, failed rounds of a loop with
`on_error: continue` or `collect`, and cancelled branches of a parallel step that succeeded. An
error handler that did not complete continues. Completed steps of the workflow's own `on_error` do
not run a second time if the run fails again.

A retry that names a step runs that step again, and the steps that depend on it: those after it in
its list, and those after the steps around it. All other steps continue as above.

A call of unknown outcome is repeated with the same message id, so that the target can recognise it;
other steps that start again make new calls.

In old histories, retry events with schema version 1 reset the run to one step. The function
`rewind` still applies them in that way; new retry events have a later version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import Struct

from accord.workflows.core.definition import LoopStep, ParallelStep, Retry, Step, WorkflowStep
from accord.workflows.core.events import RetryRequested
from accord.workflows.core.outputs import is_over, stops
from accord.workflows.core.program import (
    HANDLER,
    MAIN,
    Plan,
    Program,
    block_of,
    current_step,
    frames_in,
    is_task,
)
from accord.workflows.core.state import (
    FIRST_SCHEMA,
    TIMEOUT,
    Frame,
    State,
    StepRun,
    decode_state,
    encode_state,
    frame_id,
    step_key,
)

Outcome: TypeAlias = Literal["unknown", "definite"]
"""The outcome of a failed attempt.

`unknown`: the call may have taken effect; `definite`: the target is known to have failed.
"""


class Attempt(Struct, frozen=True):
    """An attempt at a task.

    `number` counts all attempts. Attempts of the same `group` send the same message id, so that the
    target recognises a repeated message.
    """

    number: int = 1
    group: int = 1
    at: float = 0.0


def delay(policy: Retry, tried: int, random: float) -> float:
    """Return the delay before the next attempt after `tried` attempts.

    It grows exponentially up to `max_delay`. Jitter reduces it to a value between half and all of
    it, depending on `random`, which is between 0 and 1.
    """
    exponent = min(tried - 1, 1_000)
    try:
        grown = policy.initial_delay * policy.multiplier**exponent
    except OverflowError:
        grown = policy.max_delay
    bounded = min(grown, policy.max_delay)
    return bounded * (0.5 + 0.5 * random) if policy.jitter else bounded


def next_attempt(
    policy: Retry,
    made: Attempt,
    outcome: Outcome,
    *,
    now: float,
    random: float,
    deadline: float | None = None,
    retry_after: float = 0.0,
) -> Attempt | None:
    """Return the next attempt of a failed task; None if no attempt is allowed.

    `made` is the failed attempt. The policy limits the number of attempts, and `deadline` their
    time. After a definite failure the attempt gets a new group, and thus a new message id; after an
    unknown outcome it keeps the group.
    """
    if made.number >= policy.attempts or (outcome == "definite" and policy.failures != "all"):
        return None
    at = now + max(delay(policy, made.number, random), retry_after)
    if deadline is not None and at >= deadline:
        return None
    group = made.group + 1 if outcome == "definite" else made.group
    return Attempt(made.number + 1, group, at)


def rewind(program: Program, state: State, key: str, at: float) -> None:
    """Reset an ended run to the start of a step, as retries of schema 1 do."""
    _Rewinder(program, state, at).start(state.steps[key])


class _Rewinder:
    """The reset of one run to an earlier step, for retries of schema 1."""

    def __init__(self, program: Program, state: State, at: float) -> None:
        self._program = program
        self._state = state
        self._at = at

    def start(self, step: StepRun) -> None:
        state = self._state
        state.phase, state.round = "running", state.round + 1
        state.finished_at = state.error = state.output = None
        handler = state.frames.get(frame_id("", HANDLER))
        if handler is not None:
            self._drop_frame(handler)
        frame = state.frames[step.frame]
        self._restart(frame, step.name)
        while frame.owner:
            owner = state.steps[frame.owner]
            around = state.frames[owner.frame]
            self._rewind(around, owner.name, keep=True)
            if frame.label != HANDLER:
                self._resume(owner, frame)
            frame = around

    def _restart(self, frame: Frame, name: str) -> None:
        """Reset a frame to one of its steps, and put that step on the agenda."""
        self._rewind(frame, name, keep=False)
        self._state.agenda.append(("start", frame.id))

    def _rewind(self, frame: Frame, name: str, *, keep: bool) -> None:
        """Make one of a frame's steps its current step.

        Drop the later steps; if `keep` is False, drop this step too.
        """
        block = block_of(self._program, self._state, frame)
        frame.at, frame.status, frame.error = block.positions[name], "running", None
        keys = [step_key(plan.step.name, frame.rounds) for plan in block.plans]
        for key in keys[frame.at + keep :]:
            self._drop(key)
        before = [key for key in keys[: frame.at] if key in self._state.steps]
        frame.last = before[-1] if before else None

    def _resume(self, owner: StepRun, frame: Frame) -> None:
        """Mark the step around `frame` as running again."""
        plan = self._program.plans[owner.name]
        owner.status, owner.finished_at, owner.error = "running", None, None
        if plan.timeout is not None:
            self._state.deadlines[owner.key] = self._at + plan.timeout
        handler = self._state.frames.get(frame_id(owner.key, HANDLER))
        if handler is not None:
            self._drop_frame(handler)
        if isinstance(plan.step, ParallelStep | LoopStep):
            self._resume_others(owner, frame, plan)

    def _resume_others(self, owner: StepRun, frame: Frame, plan: Plan) -> None:
        """Restart unfinished branches or rounds except `frame`, and recount the finished ones."""
        is_tolerant = isinstance(plan.step, LoopStep) and not stops(plan.step)
        owner.succeeded = owner.failed = 0
        owner.settling = False
        for each in frames_in(self._program, self._state, owner):
            if each is frame:
                continue
            if each.status == "completed":
                owner.succeeded += 1
            elif each.status == "failed" and is_tolerant:
                owner.failed += 1
            else:
                block = block_of(self._program, self._state, each)
                self._restart(each, block.plans[each.at].step.name)

    def _drop(self, key: str) -> None:
        step = self._state.steps.get(key)
        if step is None:
            return
        for frame in list(frames_in(self._program, self._state, step)):
            self._drop_frame(frame)
        self._state.bytes -= step.size
        del self._state.steps[key]

    def _drop_frame(self, frame: Frame) -> None:
        for plan in block_of(self._program, self._state, frame).plans:
            self._drop(step_key(plan.step.name, frame.rounds))
        del self._state.frames[frame.id]


Advance: TypeAlias = Callable[[StepRun, ParallelStep | LoopStep], None]
"""The type of a function that starts branches or rounds of a step.

The function starts as many of them as may run now. If the step is over, the function instead puts
the step on the agenda, to be ended.
"""


def retry(program: Program, state: State, event: RetryRequested, advance: Advance) -> None:
    """Apply a retry request: continue the run, or run it again from `event.step`.

    If the state of the run does not allow a retry, ignore the request.
    """
    is_possible = retry_problem(program, state, event.step) is None
    if event.parent_task is not None:
        state.schema = max(state.schema, event.schema)
        state.parent_task = event.parent_task
    elif not is_possible:
        state.ignored += 1
    if not is_possible:
        return
    if event.schema == FIRST_SCHEMA:
        assert event.step is not None, "requests of schema 1 name a step"
        rewind(program, state, event.step, event.at)
        return
    state.schema = max(state.schema, event.schema)
    run_retry = RunRetry(program, state, event.at, advance)
    run_retry.start(None if event.step is None else state.steps[event.step])


def retry_problem(
    program: Program,  # noqa: ARG001 - a published signature
    state: State,
    key: str | None,
) -> str | None:
    """Return the reason why a run cannot be retried; None if it can be retried.

    `key` is the key of the step that the retry names; None if the retry names no step.
    """
    if state.phase not in ("failed", "cancelled"):
        return f"a run that is {state.status} has nothing to retry"
    if key is None:
        return None
    step = state.steps.get(key)
    if step is None:
        return f"no step {key[:80]!r} was started in this run"
    frame = state.frames[step.frame]
    while frame.owner:
        frame = state.frames[state.steps[frame.owner].frame]
    if frame.label == HANDLER:
        return f"{key!r} belongs to the workflow's on_error"
    return None


class RunRetry:
    """The retry of one run.

    If the retry names a step, that step and the steps after it are dropped first. The steps around
    it are then unfinished, like all others that did not complete.
    """

    def __init__(self, program: Program, state: State, at: float, advance: Advance) -> None:
        self._program = program
        self._state = state
        self._at = at
        self._advance = advance
        self._named: set[str] = set()
        """The ids of the frames that contain the named step, at any depth."""
        self._forgot = False
        """True if a completed step was dropped and will therefore run again."""

    def start(self, named: StepRun | None) -> None:
        state = self._state
        state.phase, state.round = "running", state.round + 1
        state.finished_at = state.error = state.output = None
        if named is not None:
            self._rerun(named)
        handler = state.frames.get(frame_id("", HANDLER))
        if handler is not None and self._forgot:
            self._drop_frame(handler)
        main = state.frames[frame_id("", MAIN)]
        if main.status == "completed":  # only the output of the run failed
            state.agenda.append(("end", ""))
        else:
            self.resume(main)

    # The named step

    def _rerun(self, step: StepRun) -> None:
        """Drop a step, the steps after it, and the steps after those around it."""
        frame = self._state.frames[step.frame]
        # A task that did not complete starts again like all others that did not.
        is_kept = step.status != "completed" and is_task(self._program.plans[step.name])
        self._leave(frame, step.name, keep=is_kept)
        if is_kept:
            self._drop_inside(step)
        while frame.owner:
            owner = self._state.steps[frame.owner]
            handler = self._state.frames.get(frame_id(owner.key, HANDLER))
            if handler is not None and handler is not frame:
                self._drop_frame(handler)
            frame = self._state.frames[owner.frame]
            self._leave(frame, owner.name, keep=True)

    def _leave(self, frame: Frame, name: str, *, keep: bool) -> None:
        """Mark a frame as unfinished, to continue from one of its steps.

        Drop the later steps; if `keep` is False, drop this step too.
        """
        block = block_of(self._program, self._state, frame)
        frame.at, frame.status = block.positions[name], "cancelled"
        self._named.add(frame.id)
        keys = [step_key(plan.step.name, frame.rounds) for plan in block.plans]
        for key in keys[frame.at + keep :]:
            self._drop(key)
        before = [key for key in keys[: frame.at] if key in self._state.steps]
        frame.last = before[-1] if before else None

    def _drop(self, key: str) -> None:
        self._state.resumed.pop(key, None)
        step = self._state.steps.get(key)
        if step is None:
            return
        self._forgot |= step.status == "completed"
        self._drop_inside(step)
        self._state.bytes -= step.size
        del self._state.steps[key]

    def _drop_inside(self, step: StepRun) -> None:
        for frame in list(frames_in(self._program, self._state, step)):
            self._drop_frame(frame)

    def _drop_frame(self, frame: Frame) -> None:
        for plan in block_of(self._program, self._state, frame).plans:
            self._drop(step_key(plan.step.name, frame.rounds))
        del self._state.frames[frame.id]

    # Unfinished steps

    def resume(self, frame: Frame) -> None:
        """Continue a frame that did not complete."""
        frame.status, frame.error = "running", None
        step = current_step(self._program, self._state, frame)
        if step is None:
            self._state.agenda.append(("start", frame.id))
            return
        handler = self._state.frames.get(frame_id(step.key, HANDLER))
        if handler is not None:
            self.resume(handler)
        elif _was_opened(self._program.plans[step.name].step, step):
            self._reopen(step)
        else:
            self._restart(frame, step)

    def _restart(self, frame: Frame, step: StepRun) -> None:
        """Drop a step that did not complete, and put its new start on the agenda."""
        call = self._repeated(step)
        if call:
            self._state.resumed[step.key] = call
        del self._state.steps[step.key]
        self._state.agenda.append(("start", frame.id))

    def _repeated(self, step: StepRun) -> str:
        """Return the task whose call a restarted step repeats; empty for a new call.

        For a step with a child run, it is the task that started the child, so that the child run is
        continued.
        """
        plan = self._program.plans[step.name]
        if not is_task(plan):
            return ""
        if isinstance(plan.step, WorkflowStep) or step.status == "cancelled":
            return step.call
        assert step.error is not None, f"{step.key} failed"
        if step.error.unknown:
            return step.call
        if step.attempts:  # the other side said that it failed
            return ""
        # No attempt was answered: a timeout leaves the outcome unknown; otherwise the call of this
        # round never began, and only the call that it repeats may have.
        return step.call if step.error.code == TIMEOUT else step.resumes

    def _reopen(self, step: StepRun) -> None:
        """Mark a step as running again, and continue its unfinished inner lists of steps."""
        plan = self._program.plans[step.name]
        step.status, step.finished_at, step.error = "running", None, None
        if plan.timeout is not None:
            self._state.deadlines[step.key] = self._at + plan.timeout
        if isinstance(plan.step, ParallelStep | LoopStep):
            self._reopen_lists(step, plan.step)
        else:
            assert step.choice is not None, f"{step.key} chose a list"
            self.resume(self._state.frames[frame_id(step.key, step.choice)])

    def _reopen_lists(self, step: StepRun, definition: ParallelStep | LoopStep) -> None:
        is_tolerant = isinstance(definition, LoopStep) and not stops(definition)
        step.succeeded = step.failed = 0
        step.settling = False
        unfinished: list[Frame] = []
        for frame in frames_in(self._program, self._state, step):
            if frame.status == "completed":
                step.succeeded += 1
            elif frame.status == "failed" and is_tolerant:
                step.failed += 1
            else:
                frame.status, frame.error = "cancelled", None
                unfinished.append(frame)
        named = [frame for frame in unfinished if frame.id in self._named]
        others = [frame.label for frame in unfinished if frame not in named]
        if named and is_over(definition, step):  # no other list can change its outcome
            self.resume(named[0])
            return
        step.halted = [*(frame.label for frame in named), *others]
        self._advance(step, definition)


def _was_opened(definition: Step, step: StepRun) -> bool:
    """Return True if a step got as far as opening its inner lists of steps."""
    match definition:
        case ParallelStep():
            return True
        case LoopStep(while_=None):
            return step.items is not None
        case LoopStep():
            return True
        case _:
            return step.choice is not None


def will_restart(program: Program, state: State, key: str) -> bool:
    """Return True if a retry of the ended run, without a named step, starts this step again."""
    copy = decode_state(encode_state(state))

    def advance(step: StepRun, definition: ParallelStep | LoopStep) -> None:
        while step.halted and not is_over(definition, step):
            run_retry.resume(copy.frames[frame_id(step.key, step.halted.pop())])

    run_retry = RunRetry(program, copy, 0.0, advance)
    run_retry.start(None)
    return key in state.steps and key not in copy.steps
