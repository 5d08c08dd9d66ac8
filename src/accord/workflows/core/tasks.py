"""Which command has somebody outside work on a step."""

from __future__ import annotations

from msgspec.structs import replace

from accord.workflows.core.commands import (
    CallAgent,
    CallMethod,
    CallOperation,
    CallPlugin,
    CallTool,
    Command,
    StartChild,
)
from accord.workflows.core.definition import AgentStep, CallStep, PluginStep, WorkflowStep
from accord.workflows.core.events import StepStarted


def command_for(
    step: AgentStep | CallStep | PluginStep | WorkflowStep,
    event: StepStarted,
    task: str,
    depth: int,
    resumes: str = "",
) -> Command:
    """The command for a step that started; a child run stands at `depth`. `resumes` is the task
    whose call is repeated, or whose child run goes on."""
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
