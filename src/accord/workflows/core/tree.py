"""Finding one's way in the tree of steps and frames of a run."""

from __future__ import annotations

from collections.abc import Iterator

from accord.workflows.core.definition import (
    AgentStep,
    CallStep,
    ConditionStep,
    LoopStep,
    ParallelStep,
    PluginStep,
    WaitStep,
    WorkflowStep,
)
from accord.workflows.core.program import BODY, HANDLER, MAIN, Block, Plan, Program
from accord.workflows.core.state import Frame, State, StepRun, frame_id, step_key


def block_of(program: Program, state: State, frame: Frame) -> Block:
    """The list of steps that a frame runs."""
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
    """Whether `end` ends this list: the main one, a branch, a round; not a choice or a handler."""
    if not frame.owner:
        return True
    step = program.plans[state.steps[frame.owner].name].step
    return frame.label != HANDLER and not isinstance(step, ConditionStep)


def current_step(program: Program, state: State, frame: Frame) -> StepRun | None:
    """The step that a running frame is at, if it started."""
    plan = block_of(program, state, frame).plans[frame.at]
    return state.steps.get(step_key(plan.step.name, frame.rounds))


def frames_in(program: Program, state: State, step: StepRun) -> Iterator[Frame]:
    """The frames right inside a step, in order; its handler last."""
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
    """The main list, and the workflow's handler."""
    for label in (MAIN, HANDLER):
        frame = state.frames.get(frame_id("", label))
        if frame is not None:
            yield frame


def is_task(plan: Plan) -> bool:
    """Whether somebody outside works on a step."""
    return isinstance(plan.step, AgentStep | CallStep | PluginStep | WorkflowStep)


def asks_approval(plan: Plan) -> bool:
    """Whether a step waits for somebody's decision."""
    return isinstance(plan.step, WaitStep) and plan.step.approval is not None


def find_active(state: State, task: str) -> StepRun | None:
    """The step that is called `task` outside, if it is not over."""
    step = state.steps.get(task.partition("@")[0])
    return step if step is not None and step.task == task and step.active else None


def tasks_in(program: Program, state: State, frames: Iterator[Frame]) -> Iterator[StepRun]:
    """The steps in frames that somebody outside works on."""
    for frame in frames:
        if frame.status != "running":
            continue
        step = current_step(program, state, frame)
        if step is None:
            continue
        if step.active and is_task(program.plans[step.name]):
            yield step
        yield from tasks_in(program, state, frames_in(program, state, step))
