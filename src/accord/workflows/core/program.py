"""Programs, which are compiled definitions, and functions to find steps of a run.

A version of a workflow is compiled once, and all its runs share the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from accord.workflows.core.definition import (
    AGENT_TIMEOUT,
    AgentStep,
    CallStep,
    ConditionStep,
    Definition,
    LoopStep,
    ParallelStep,
    PluginStep,
    Step,
    WaitStep,
    WorkflowStep,
    handler_steps,
)
from accord.workflows.core.expressions.evaluation import Template, read_template
from accord.workflows.core.state import Frame, State, StepRun, frame_id, step_key

MAIN: Final = "main"
"""The label of a workflow's main list of steps."""
HANDLER: Final = "!error"
"""The label of error handlers. Names contain no `!`, so no branch can have this label."""
BODY: Final = "body"


class Block(Struct, frozen=True):
    """A compiled list of steps."""

    plans: tuple[Plan, ...]
    positions: dict[str, int]


class Plan(Struct, frozen=True):
    """The compiled form of one step.

    `template` has the step's expressions, evaluated when the step starts or, for `while`, before
    each round. `loops` are the names of the loops around the step, outermost first. `blocks` are
    its inner lists of steps by label.
    """

    step: Step
    loops: tuple[str, ...]
    template: Template | None
    blocks: dict[str, Block]
    handler: Block | None
    timeout: float | None


class Program(Struct, frozen=True):
    """A compiled definition."""

    definition: Definition
    main: Block
    handler: Block | None
    output: Template | None
    plans: dict[str, Plan]


def compile_program(definition: Definition) -> Program:
    """Compile a valid definition."""
    plans: dict[str, Plan] = {}
    handler = definition.on_error
    output = definition.output
    return Program(
        definition,
        _block(definition.steps, (), plans),
        None if handler is None else _block(handler, (), plans),
        None if output is None else read_template(output),
        plans,
    )


def case_label(label: str) -> str:
    """Return the label for a case, which differs from `then`, `else` and `default`."""
    return f"case:{label}"


def _block(steps: tuple[Step, ...], loops: tuple[str, ...], plans: dict[str, Plan]) -> Block:
    made = tuple(_plan(step, loops, plans) for step in steps)
    return Block(made, {plan.step.name: index for index, plan in enumerate(made)})


def _plan(step: Step, loops: tuple[str, ...], plans: dict[str, Plan]) -> Plan:
    handler = handler_steps(step)
    plan = Plan(
        step,
        loops,
        _template(step),
        _blocks(step, loops, plans),
        None if handler is None else _block(handler, loops, plans),
        _timeout(step),
    )
    plans[step.name] = plan
    return plan


def _blocks(step: Step, loops: tuple[str, ...], plans: dict[str, Plan]) -> dict[str, Block]:
    match step:
        case ParallelStep():
            lists = dict(step.branches)
        case ConditionStep():
            lists = {case_label(label): steps for label, steps in (step.cases or {}).items()}
            others = {"then": step.then, "else": step.else_, "default": step.default}
            lists.update({label: steps for label, steps in others.items() if steps is not None})
        case LoopStep():
            return {BODY: _block(step.body, (*loops, step.name), plans)}
        case _:
            return {}
    return {label: _block(steps, loops, plans) for label, steps in lists.items()}


def _template(step: Step) -> Template | None:
    match step:
        case AgentStep() | WorkflowStep() | CallStep() | PluginStep():
            value = step.input
        case ConditionStep():
            value = step.switch if step.if_ is None else step.if_
        case LoopStep():
            value = step.over if step.while_ is None else step.while_
        case WaitStep(approval=approval) if approval is not None:
            prompt = {"message": approval.message, "data": approval.data}
            value = {name: each for name, each in prompt.items() if each is not None} or None
        case WaitStep():
            value = step.until if step.for_ is None else step.for_
        case _:
            return None
    return None if value is None else read_template(value)


def _timeout(step: Step) -> float | None:
    limits = [step.timeout]
    match step:
        case AgentStep(timeout=None) | CallStep(timeout=None) | PluginStep(timeout=None):
            return AGENT_TIMEOUT
        case WaitStep(approval=approval) if approval is not None:
            limits.append(approval.timeout)
        case _:
            pass
    return min((each for each in limits if each is not None), default=None)


def block_of(program: Program, state: State, frame: Frame) -> Block:
    """Return the compiled list of steps that a frame runs."""
    if not frame.owner:
        block = program.main if frame.label == MAIN else program.handler
    else:
        plan = program.plans[state.steps[frame.owner].name]
        if frame.label == HANDLER:
            block = plan.handler
        else:
            block = plan.blocks[BODY if isinstance(plan.step, LoopStep) else frame.label]
    assert block is not None, f"{frame.id} runs a list that the definition has"
    return block


def is_lane(program: Program, state: State, frame: Frame) -> bool:
    """Return True if a jump to `end` in a frame ends just this frame.

    That holds for the main list and the workflow's error handler, for branches, and for rounds.
    """
    if not frame.owner:
        return True
    step = program.plans[state.steps[frame.owner].name].step
    return frame.label != HANDLER and not isinstance(step, ConditionStep)


def current_step(program: Program, state: State, frame: Frame) -> StepRun | None:
    """Return the current step of a frame; None if it has not started."""
    plan = block_of(program, state, frame).plans[frame.at]
    return state.steps.get(step_key(plan.step.name, frame.rounds))


def frames_in(program: Program, state: State, step: StepRun) -> Iterator[Frame]:
    """Yield the frames directly inside a step, in order, with the error handler last."""
    match program.plans[step.name].step:
        case ParallelStep(branches=branches):
            labels = list(branches)[: step.opened]
        case LoopStep():
            labels = [str(each) for each in range(step.opened)]
        case ConditionStep():
            labels = [] if step.choice is None else [step.choice]
        case _:
            labels = []
    for label in (*labels, HANDLER):
        frame = state.frames.get(frame_id(step.key, label))
        if frame is not None:
            yield frame


def root_frames(state: State) -> Iterator[Frame]:
    """Yield the frames of the main list and of the workflow's error handler, if they exist."""
    for label in (MAIN, HANDLER):
        frame = state.frames.get(frame_id("", label))
        if frame is not None:
            yield frame


def is_task(plan: Plan) -> bool:
    """Return True if the step starts a task: a call or a child run."""
    return isinstance(plan.step, AgentStep | CallStep | PluginStep | WorkflowStep)


def asks_approval(plan: Plan) -> bool:
    """Return True if the step waits for an approval."""
    return isinstance(plan.step, WaitStep) and plan.step.approval is not None


def find_active(state: State, task: str) -> StepRun | None:
    """Return the active step whose task has the name `task`; None if there is none."""
    step = state.steps.get(task.partition("@")[0])
    return step if step is not None and step.task == task and step.active else None


def tasks_in(program: Program, state: State, frames: Iterator[Frame]) -> Iterator[StepRun]:
    """Yield the active steps with tasks in running frames, at any depth."""
    for frame in frames:
        if frame.status != "running":
            continue
        step = current_step(program, state, frame)
        if step is None:
            continue
        if step.active and is_task(program.plans[step.name]):
            yield step
        yield from tasks_in(program, state, frames_in(program, state, step))
