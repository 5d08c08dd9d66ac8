"""The checks of tasks: asking for one, cancelling one, and those that are not there."""

from __future__ import annotations

from typing import Final
from uuid import uuid4

from accord.a2a.checker.conversation import Conversation
from accord.a2a.checker.envelope import Fault, Result, Said
from accord.a2a.checker.sending import Sending
from accord.a2a.protocol.errors import FAULTS, TASK_NOT_FOUND
from accord.a2a.protocol.formats import FORMATS, UNREADABLE
from accord.a2a.protocol.params import TaskQuery
from accord.a2a.protocol.states import TERMINAL, TaskState
from accord.a2a.protocol.task import Answer, Task
from accord.a2a.protocol.versions import Verb

NOT_CANCELABLE: Final = FAULTS["TASK_NOT_CANCELABLE"].code
_NO_TASKS: Final = "the agent answers with messages, and has no tasks"


async def check_tasks(
    talk: Conversation, sending: Sending, answer: Answer | None, long: str
) -> None:
    """`answer` is what a message was answered with; `long` a text that takes a while, if any."""
    task = answer if isinstance(answer, Task) and answer.id else None
    if task is None:
        for rule in ("task-get", "cancel-over", "cancel-running"):
            talk.skipped(rule, _NO_TASKS if answer is not None else "there is no task")
    else:
        await _check_get(talk, task)
        await _check_over(talk, task)
        await _check_running(talk, sending, long)
    await _check_unknown(talk, "task-unknown", Verb.GET)
    await _check_unknown(talk, "cancel-unknown", Verb.CANCEL)


async def _ask(talk: Conversation, verb: Verb, task_id: str) -> Said:
    return await talk.ask(verb, FORMATS[talk.wire].task_params(TaskQuery(id=task_id)))


async def _check_get(talk: Conversation, task: Task) -> None:
    said = await _ask(talk, Verb.GET, task.id)
    if not isinstance(said, Result):
        talk.failed("task-get", f"it was {said}")
        return
    try:
        got = FORMATS[talk.wire].read_task(said.raw)
    except UNREADABLE as error:
        talk.failed("task-get", str(error))
        return
    if got.id != task.id:
        talk.failed("task-get", f"the id was {task.id[:80]!r}, and is {got.id[:80]!r}")
    elif task.status.state in TERMINAL and got.status.state != task.status.state:
        talk.failed("task-get", f"it was {task.status.state}, and is {got.status.state}")
    else:
        talk.passed("task-get")


async def _check_over(talk: Conversation, task: Task) -> None:
    if task.status.state not in TERMINAL:
        talk.skipped("cancel-over", "the task is not over")
        return
    said = await _ask(talk, Verb.CANCEL, task.id)
    if isinstance(said, Fault) and said.code == NOT_CANCELABLE:
        talk.passed("cancel-over")
    else:
        talk.failed("cancel-over", f"it was {_named(said)}")


async def _check_running(talk: Conversation, sending: Sending, long: str) -> None:
    if not long:
        talk.skipped("cancel-running", "no text was given that takes a while (--long TEXT)")
        return
    task = await sending.begin(long)
    if task is None or task.status.state in TERMINAL:
        talk.skipped("cancel-running", "the task of --long was over at once")
        return
    said = await _ask(talk, Verb.CANCEL, task.id)
    try:
        if isinstance(said, Result):
            state = FORMATS[talk.wire].read_task(said.raw).status.state
            if state is TaskState.CANCELED:
                talk.passed("cancel-running")
            else:
                talk.failed("cancel-running", f"the task is {state}")
            return
        talk.failed("cancel-running", f"it was {said}")
    except UNREADABLE as error:
        talk.failed("cancel-running", str(error))


async def _check_unknown(talk: Conversation, rule: str, verb: Verb) -> None:
    said = await _ask(talk, verb, str(uuid4()))
    if isinstance(said, Fault) and said.code == TASK_NOT_FOUND:
        talk.passed(rule)
    else:
        talk.failed(rule, f"it was {_named(said)}")


def _named(said: Said) -> str:
    return "a result" if isinstance(said, Result) else str(said)
