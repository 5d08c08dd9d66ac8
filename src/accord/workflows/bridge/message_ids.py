"""The id of the message that a task is sent with. It stays while the outcome of the last one is
unknown, also when the run is retried. It changes with every attempt group, answer to a question,
and retry of a step that failed or is to run again."""

from __future__ import annotations

from accord.a2a.protocol.model import message_id
from accord.workflows.bridge.claimed import ClaimedTask


def message_id_of(task: ClaimedTask) -> str:
    """The id under which a task is sent now."""
    step, bracket, rounds = task.command.step.partition("[")
    first = task.command.resumes or task.task
    retried = first.removeprefix(task.command.step)  # "@2" when the run is retried
    group = f"{task.attempt_group}{retried}"
    if task.continued:
        group = f"{group}+{task.continued}"
    return message_id(task.run_id, step, bracket + rounds, group)
