"""Decides on a run's next events and commands, from its state and the time.

Commands make calls, start child runs, request approvals, or cancel tasks. Each decision is an
event with its commands; the event is applied to the state before the next decision is made. The
state's agenda lists the pending decisions in order; timers fire only when the agenda is empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from accord.workflows.core.definition import (
    AgentStep,
    CallStep,
    ConditionStep,
    LoopStep,
    PluginStep,
    WaitStep,
    WorkflowStep,
)
from accord.workflows.core.errors import (
    MAX_CHILD_DEPTH,
    MAX_DECISION_EVENTS,
    MAX_RUN_BYTES,
    MAX_SECONDS,
    MAX_SHOWN_BYTES,
    MAX_STEP_RUNS,
    EvaluationError,
)
from accord.workflows.core.events import (
    CallAgent,
    CallMethod,
    CallOperation,
    CallPlugin,
    CallTool,
    CancelChild,
    CancelTask,
    Command,
    ContinueTask,
    Decided,
    RequestApproval,
    RoundStarted,
    RunFinished,
    StartChild,
    StepFailed,
    StepSettled,
    StepStarted,
    TaskContinued,
    TimerFired,
)
from accord.workflows.core.expressions.evaluation import render, render_truth
from accord.workflows.core.expressions.functions import Budget, as_text, is_number, type_name
from accord.workflows.core.outputs import (
    RunScope,
    WhileScope,
    composed,
    failure_of,
    frame_output,
    size_problem,
)
from accord.workflows.core.program import (
    MAIN,
    Plan,
    Program,
    block_of,
    case_label,
    frames_in,
    is_task,
    root_frames,
    tasks_in,
)
from accord.workflows.core.state import Failure, Frame, State, StepRun, frame_id, step_key
from accord.workflows.core.transitions import CANCELLED, apply
from accord.workflows.core.triggers import read_time


def command_for(
    step: AgentStep | CallStep | PluginStep | WorkflowStep,
    event: StepStarted,
    task: str,
    depth: int,
    resumes: str = "",
) -> Command:
    """Return the command that carries out a started step.

    `depth` is the nesting depth of a child run that the step starts. In a retried run, `resumes` is
    the earlier task whose call is repeated or whose child run is continued.
    """
    if isinstance(step, WorkflowStep):
        name, _, version = step.workflow.partition("@")
        number = int(version) if version else None
        return StartChild(
            task=task,
            step=event.key,
            workflow=name,
            version=number,
            input=event.input,
            depth=depth,
            resumes=resumes,
        )
    made = _call(step, task, event.key)
    return replace(
        made, input=event.input, retry=step.retry, deadline=event.deadline, resumes=resumes
    )


def _call(step: AgentStep | CallStep | PluginStep, task: str, key: str) -> Command:
    if isinstance(step, AgentStep):
        return CallAgent(task=task, step=key, agent=step.agent)
    if isinstance(step, PluginStep):
        return CallPlugin(task=task, step=key, plugin=step.plugin)
    if step.mcp is not None:
        return CallTool(task=task, step=key, target=step.mcp)
    if step.rpc is not None:
        return CallMethod(task=task, step=key, target=step.rpc)
    return CallOperation(task=task, step=key, operation=step.operation or "")


_Decided: TypeAlias = tuple[Decided, list[Command]]


class Decision(Struct, frozen=True):
    """The events to record and the commands to send, in one transaction.

    If `more` is true, the limit of events was reached, and the caller must decide again at once.
    """

    events: tuple[Decided, ...]
    commands: tuple[Command, ...]
    more: bool = False


def decide(program: Program, state: State, now: float) -> Decision:
    """Make all decisions that are possible now, and apply their events to `state`."""
    events: list[Decided] = []
    commands: list[Command] = []
    while (decided := _next(program, state, now)) is not None:
        if len(events) == MAX_DECISION_EVENTS:
            return Decision((*events,), (*commands,), more=True)
        event, sent = decided
        apply(program, state, event)
        events.append(event)
        commands.extend(sent)
    return Decision((*events,), (*commands,))


def _next(program: Program, state: State, now: float) -> _Decided | None:
    """Return the next event with its commands; None if nothing can be decided now."""
    if state.phase != "running":
        return None
    decider = _Decider(program, state, now)
    # The end of a run comes before a pause: a paused run can be cancelled.
    if state.ending is not None:
        return decider.stop(state.ending)
    if state.bytes > MAX_RUN_BYTES:
        message = f"the outputs of the run are over the limit of {MAX_RUN_BYTES:,} bytes"
        return decider.stop(Failure("run_too_large", message))
    if state.paused:
        return None
    if state.agenda:
        todo, id = state.agenda[0]
        match todo:
            case "start":
                return decider.start(state.frames[id])
            case "settle":
                return decider.settle(state.steps[id])
            case "round":
                return decider.round(state.steps[id])
            case "continue":
                return decider.continue_task(state.steps[id])
            case _:
                return decider.end()
    return decider.fire()


class _StepError(Exception):
    """A step cannot start; `failure` has the reason, without the key of the step."""

    def __init__(self, code: str, message: str) -> None:
        self.failure = Failure(code, message)


class _Decider:
    """The maker of decisions on the state of one run.

    Each public method makes one decision, an event with its commands, but does not apply the event.
    """

    __slots__ = ("now", "program", "state")

    def __init__(self, program: Program, state: State, now: float) -> None:
        self.program = program
        self.state = state
        self.now = now

    # The run

    def stop(self, failure: Failure) -> _Decided:
        """End the run as failed or cancelled, and cancel its running tasks."""
        commands = self._cancelling(root_frames(self.state))
        if failure.code == CANCELLED:
            return RunFinished(at=self.now, status="cancelled", error=failure), commands
        return RunFinished(at=self.now, status="failed", error=failure), commands

    def end(self) -> _Decided:
        """End the run after its last step: completed with an output, or failed with an error."""
        if self.state.error is not None:
            return RunFinished(at=self.now, status="failed", error=self.state.error), []
        main = self.state.frames[frame_id("", MAIN)]
        try:
            if self.program.output is None:
                output = frame_output(self.program, self.state, main)
            else:
                scope = RunScope(self.program, self.state, None, ())
                output = render(self.program.output, scope, Budget())
            self._check_size("output", output)
        except EvaluationError as error:
            return self.stop(Failure("expression_failed", f"output: {error}"))
        except _StepError as error:
            return self.stop(error.failure)
        return RunFinished(at=self.now, status="completed", output=output), []

    def fire(self) -> _Decided | None:
        """Fire the earliest timer if it is due; return None if no timer is due."""
        state = self.state
        due = min(
            (
                *((at, key, "wake") for key, at in state.wakes.items() if at <= self.now),
                *((at, key, "deadline") for key, at in state.deadlines.items() if at <= self.now),
            ),
            default=None,
        )
        if due is None:
            return None
        _, key, kind = due
        commands = self._cancelling_step(state.steps[key]) if kind == "deadline" else []
        return TimerFired(at=self.now, key=key, kind=kind), commands  # type: ignore[arg-type]

    # Steps

    def start(self, frame: Frame) -> _Decided:
        """Start the current step of a frame, which is one execution of a list of steps.

        If the step cannot start, the decision is the failure of the step or of the run.
        """
        if len(self.state.steps) >= MAX_STEP_RUNS:
            message = f"the run started more than {MAX_STEP_RUNS:,} steps"
            return self.stop(Failure("too_many_steps", message))
        plan = block_of(self.program, self.state, frame).plans[frame.at]
        key = step_key(plan.step.name, frame.rounds)
        try:
            return self._started(plan, key, frame)
        except EvaluationError as error:
            failure = Failure("expression_failed", str(error), key)
        except _StepError as error:
            failure = Failure(error.failure.code, error.failure.message, key)
        return StepFailed(at=self.now, key=key, frame=frame.id, error=failure), []

    def _started(self, plan: Plan, key: str, frame: Frame) -> _Decided:
        deadline = None if plan.timeout is None else self.now + plan.timeout
        event = StepStarted(at=self.now, key=key, frame=frame.id, deadline=deadline)
        value = self._value(plan, frame)
        match plan.step:
            case AgentStep() | CallStep() | PluginStep() | WorkflowStep():
                self._check_size("input", value)
                event = replace(event, input=value)
                return event, [self._command(plan.step, event)]
            case ConditionStep():
                return replace(event, choice=_choice(plan.step, value)), []
            case LoopStep(while_=None):
                items = _items(plan.step, value)
                self._check_size("input", items)
                return replace(event, items=items), []
            case WaitStep():
                if plan.step.approval is not None:
                    event = replace(event, input=_approval_prompt(value))
                else:
                    event = replace(event, wake=self._wake(plan.step, value))
                return event, self._requests(plan.step, event)
            case _:
                return event, []

    def _value(self, plan: Plan, frame: Frame) -> Any:
        """Return the values of a starting step's expressions; None if it has none.

        The condition of a `while` loop is not evaluated here, but by `round`.
        """
        if plan.template is None or (isinstance(plan.step, LoopStep) and plan.step.while_):
            return None
        scope = RunScope(self.program, self.state, frame, plan.loops)
        return render(plan.template, scope, Budget())

    def _command(
        self, step: AgentStep | CallStep | PluginStep | WorkflowStep, event: StepStarted
    ) -> Command:
        depth = self.state.depth + 1
        if isinstance(step, WorkflowStep) and depth > MAX_CHILD_DEPTH:
            message = f"runs that start runs are over the limit of {MAX_CHILD_DEPTH}"
            raise _StepError("too_deep", message)
        resumes = self.state.resumed.get(event.key, "")
        return command_for(step, event, self._task_name(event.key), depth, resumes)

    def _wake(self, step: WaitStep, value: Any) -> float | None:
        if step.for_ is not None:
            if not is_number(value) or not 0 <= value <= MAX_SECONDS:
                raise _StepError(
                    "bad_duration", f"for is {as_text(value)[:80]}, no number of seconds"
                )
            return self.now + float(value)
        if step.until is None:
            return None
        time = read_time(value) if isinstance(value, str) else None
        if time is None:
            raise _StepError("bad_time", f"until is {as_text(value)[:80]}, no time")
        return time

    def _requests(self, step: WaitStep, event: StepStarted) -> list[Command]:
        if step.approval is None:
            return []
        task, by = self._task_name(event.key), step.approval.by
        prompt = event.input or {}
        return [
            RequestApproval(
                task=task,
                step=event.key,
                by=by,
                deadline=event.deadline,
                message=prompt.get("message", ""),
                data=prompt.get("data"),
            )
        ]

    def _task_name(self, key: str) -> str:
        return StepRun(key, "", "", "running", self.now, self.state.round).task

    def _check_size(self, what: str, value: Any) -> None:
        _, problem = size_problem(what, value)
        if problem is not None:
            raise _StepError(problem.code, problem.message)

    # Parallel steps, loops, input for agents

    def settle(self, step: StepRun) -> _Decided:
        """End a parallel step or a loop, and cancel the tasks still running in it."""
        failure = failure_of(self.program, self.state, step)
        commands = self._cancelling(frames_in(self.program, self.state, step))
        if failure is None:
            failure = self._output_problem(step)
        return StepSettled(at=self.now, key=step.key, error=failure), commands

    def _output_problem(self, step: StepRun) -> Failure | None:
        return size_problem("output", composed(self.program, self.state, step))[1]

    def round(self, step: StepRun) -> _Decided:
        """Evaluate the `while` condition of a loop; start its next round, or end the loop."""
        plan = self.program.plans[step.name]
        assert isinstance(plan.step, LoopStep), f"{step.key} has rounds"
        assert plan.template is not None, f"{step.key} has a condition"
        frame = self.state.frames[step.frame]
        scope = WhileScope(self.program, self.state, frame, step)
        try:
            is_true = render_truth(plan.template, scope, Budget())
        except EvaluationError as error:
            failure = Failure("expression_failed", f"while: {error}", step.key)
            return StepFailed(at=self.now, key=step.key, frame=step.frame, error=failure), []
        if not is_true:
            problem = self._output_problem(step)
            return StepSettled(at=self.now, key=step.key, error=problem), []
        if step.opened >= plan.step.max_iterations:
            message = f"another round is over max_iterations, which is {plan.step.max_iterations:,}"
            failure = Failure("too_many_iterations", message, step.key)
            return StepFailed(at=self.now, key=step.key, frame=step.frame, error=failure), []
        return RoundStarted(at=self.now, key=step.key), []

    def continue_task(self, step: StepRun) -> _Decided:
        """Send an agent the input that it asked for, from the signal that arrived."""
        payload = self.state.signals[step.key][0]
        command = ContinueTask(task=step.task, payload=payload)
        return TaskContinued(at=self.now, key=step.key), [command]

    # Cancelling

    def _cancelling(self, frames: Iterator[Frame]) -> list[Command]:
        tasks = tasks_in(self.program, self.state, frames)
        return [self._cancelling_task(step) for step in tasks]

    def _cancelling_step(self, step: StepRun) -> list[Command]:
        inside = self._cancelling(frames_in(self.program, self.state, step))
        is_leaf = is_task(self.program.plans[step.name])
        return [self._cancelling_task(step)] if is_leaf else inside

    def _cancelling_task(self, step: StepRun) -> Command:
        if isinstance(self.program.plans[step.name].step, WorkflowStep):
            return CancelChild(task=step.task, resumes=step.resumes)
        return CancelTask(task=step.task)


def _choice(step: ConditionStep, value: Any) -> str | None:
    """Return the label of the list that a condition selects; None if it selects none."""
    if step.switch is None:
        if not isinstance(value, bool):
            raise EvaluationError(f"if is {as_text(value)[:80]}, not true or false")
        label = "then" if value else "else"
        return label if value or step.else_ is not None else None
    text = as_text(value)
    if text in (step.cases or {}):
        return case_label(text)
    return "default" if step.default is not None else None


def _approval_prompt(value: Any) -> Any:
    """Return the message and data of an approval. Raise _StepError if they are too large."""
    if value is None:
        return None
    prompt = dict(value)
    if "message" in prompt:
        prompt["message"] = as_text(prompt["message"])
    size, problem = size_problem("data", prompt)
    if problem is None and size > MAX_SHOWN_BYTES:
        message = f"message and data of {size:,} bytes are over the limit of {MAX_SHOWN_BYTES:,}"
        raise _StepError("data_too_large", f"approval: {message}")
    if problem is not None:
        raise _StepError(problem.code, f"approval: {problem.message}")
    return prompt


def _items(step: LoopStep, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _StepError("not_a_list", f"over is {type_name(value)}, no list")
    if len(value) > step.max_iterations:
        message = f"{len(value):,} rounds are over max_iterations, which is {step.max_iterations:,}"
        raise _StepError("too_many_iterations", message)
    return value
