"""Calls agents: sends a task, keeps what the agent calls it, and asks until it is done.

    nothing known of the agent's side ──▶ send: a result, a question, or a task that goes on
    a task of the agent is known ──▶ get, at growing intervals (after a crash too)
    an answer to its question is there ──▶ send that, to the same task

The agent is always asked for an answer at once; however long its work takes, no connection waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from accord.a2a.client.client import Client, Trace
from accord.a2a.protocol import outcome as told
from accord.a2a.protocol.addresses import AddressPolicy
from accord.a2a.protocol.answers import MAX_BODY_KEPT, ReceivedAnswer
from accord.a2a.protocol.errors import (
    ERROR_KINDS,
    TASK_NOT_FOUND,
    CallError,
    RefusedError,
    UnknownOutcomeError,
)
from accord.a2a.protocol.formats import V10
from accord.a2a.protocol.model import Task
from accord.a2a.protocol.outcome import poll_intervals
from accord.operations.logs.redaction import REDACTED
from accord.workflows.bridge import logs
from accord.workflows.bridge.caller import Asked, Failed, Outcome, Progress, Succeeded, Terms
from accord.workflows.bridge.claimed import ClaimedTask
from accord.workflows.bridge.lines import Lines
from accord.workflows.bridge.message_ids import message_id_of
from accord.workflows.bridge.plain import PlainClient
from accord.workflows.bridge.registry import Agents
from accord.workflows.bridge.secrets import Secrets
from accord.workflows.bridge.spans import Spans, span_of
from accord.workflows.core.retry import delay
from accord.workflows.storage.agents import AgentRow

FIRST_POLL_SECONDS: Final = 0.05

_OTHER_WIRE: Final = frozenset((ERROR_KINDS["VERSION_NOT_SUPPORTED"].code, -32601))
"""What an agent answers that speaks another format than its card said."""


class AgentCaller:
    """Does the tasks of kind agent; implements `TaskCaller`."""

    def __init__(
        self,
        agents: Agents,
        policy: AddressPolicy,
        secrets: Secrets,
        *,
        spans: Spans | None = None,
    ) -> None:
        self._agents = agents
        self._lines = Lines(policy, secrets)
        self._spans = spans

    async def close(self) -> None:
        """End all connections."""
        await self._lines.close()

    async def terms(self, target: str) -> Terms:
        agent = await self._agent(target)
        return Terms(
            retry=agent.retry, concurrency=agent.max_concurrency, follows=agent.wire != "plain"
        )

    async def call(self, task: ClaimedTask, progress: Progress) -> Outcome:
        agent = await self._agent(task.target)
        with span_of(self._spans, task) as traceparent:
            trace = logs.trace_of(task, traceparent)
            line = await self._lines.take(agent)
            try:
                if isinstance(line.client, PlainClient):
                    outcome = await _call_plain(line.client, task, trace)
                else:
                    talk = _Conversation(line.client, task, agent, trace, progress)
                    outcome = await talk.run()
            except CallError as error:
                if error.code in _OTHER_WIRE and agent.wire == "auto":
                    self._lines.forget(agent)
                _hide(error, line.secrets)
                raise
            else:
                return _without(outcome, line.secrets)
            finally:
                await self._lines.let_go(line)

    async def cancel(self, task: ClaimedTask) -> None:
        if not task.remote_task:
            return
        agent = await self._agent(task.target)
        line = await self._lines.take(agent)
        try:
            if isinstance(line.client, Client):
                trace = logs.trace_of(task, task.traceparent)
                await line.client.cancel(task.remote_task, trace=trace)
        finally:
            await self._lines.let_go(line)

    async def _agent(self, name: str) -> AgentRow:
        """Raises RefusedError for an agent that is not there, or not to be called."""
        agent = await self._agents.get(name)
        if agent is None:
            raise RefusedError("unknown_agent", f"there is no agent {name[:80]!r}")
        if not agent.active:
            raise RefusedError("inactive_agent", f"the agent {name!r} is not active")
        return agent


def _hide(error: CallError, secrets: Sequence[str]) -> None:
    """Take the agent's own secrets out of what it answered."""
    for each in secrets:
        error.message = error.message.replace(each, REDACTED)
        error.body = error.body.replace(each.encode(), REDACTED.encode())


def _without(outcome: Outcome, secrets: Sequence[str]) -> Outcome:
    """The same of a failure that the agent told."""
    if not isinstance(outcome, Failed):
        return outcome
    for each in secrets:
        outcome = replace(
            outcome,
            message=outcome.message.replace(each, REDACTED),
            body=outcome.body.replace(each.encode(), REDACTED.encode()),
        )
    return outcome


class _Conversation:
    """One task with one agent."""

    def __init__(
        self,
        client: Client,
        task: ClaimedTask,
        agent: AgentRow,
        trace: Trace,
        progress: Progress,
    ) -> None:
        self._client = client
        self._task = task
        self._policy = task.retry or agent.retry
        self._trace = trace
        self._progress = progress
        self._unclear: told.DoneOutcome | None = None
        """What the task has made so far, while its state is not known."""
        self._unclear_times = 0

    async def run(self) -> Outcome:
        task = self._task
        if task.remote_task and not task.continues:
            return await self._follow(task.remote_task)
        received = await self._send()
        settled = self._settled(received)
        if settled is not None:
            return settled
        remote, context = _ids(received)
        await self._progress(remote, context)
        return await self._follow(remote, wait=True)

    async def _send(self) -> ReceivedAnswer:
        task = self._task
        return await self._client.send_message(
            task.continuation if task.continues else task.command.input,
            id=task.call_id,
            message_id=message_id_of(task),
            blocking=False,
            context_id=task.remote_context,
            task_id=task.remote_task,
            trace=self._trace,
        )

    async def _follow(self, remote: str, *, wait: bool = False) -> Outcome:
        """Ask for a task of the agent until it rests. Some questions may stay unanswered, as
        many in a row as the policy has attempts."""
        polls = poll_intervals(FIRST_POLL_SECONDS)
        failures = 0
        if wait:
            await asyncio.sleep(next(polls))
        while True:
            try:
                received = await self._client.get_task(remote, trace=self._trace)
            except CallError as error:
                if self._unclear is not None:
                    return self._succeeded(self._unclear)
                failures += 1
                if (
                    not isinstance(error, UnknownOutcomeError)
                    or error.code == TASK_NOT_FOUND
                    or failures >= self._policy.attempts
                ):
                    raise
                pause = max(delay(self._policy, failures, 0.5), error.retry_after or 0.0)
                await asyncio.sleep(max(pause, next(polls)))
                continue
            failures = 0
            settled = self._settled(received)
            if settled is not None:
                return settled
            await asyncio.sleep(next(polls))

    def _settled(self, received: ReceivedAnswer) -> Outcome | None:
        """What an answer means; None where the agent is still at work, or may be."""
        match told.outcome_of(received):
            case told.DoneOutcome() as done:
                return self._succeeded(done)
            case told.FailedOutcome(code, message):
                body = received.result[:MAX_BODY_KEPT]
                return Failed(code=str(code), message=message, body=body)
            case told.WaitingOutcome(task_id, context_id, _, question):
                return Asked(prompt=question, remote_task=task_id, remote_context=context_id)
            case told.UnclearOutcome(done=done):
                # An unknown state may be work in progress: it gets the chance to change.
                self._unclear = done
                self._unclear_times += 1
                return self._succeeded(done) if self._unclear_times > told.MAX_UNCLEAR else None
            case told.WorkingOutcome():
                self._unclear, self._unclear_times = None, 0
                return None

    def _succeeded(self, done: told.DoneOutcome) -> Succeeded:
        extracted = done.extracted
        if extracted.warning:
            logs.warned(self._task, extracted.warning)
        artifacts = [msgspec.to_builtins(V10.artifact(each)) for each in extracted.artifacts]
        data = list(extracted.data)
        return Succeeded(output=extracted.output, data=data or None, artifacts=artifacts or None)


def _ids(received: ReceivedAnswer) -> tuple[str, str]:
    """Of a task of the agent that goes on."""
    task = received.answer
    assert isinstance(task, Task)
    return task.id, task.context_id


async def _call_plain(client: PlainClient, task: ClaimedTask, trace: Trace) -> Outcome:
    answer = await client.call(
        task.command.input, task_id=task.call_id, message_id=message_id_of(task), trace=trace
    )
    result = answer.result
    if answer.warning:
        logs.warned(task, answer.warning)
    if result.error is not None:
        return Failed(code=str(result.error.code), message=result.error.message)
    return Succeeded(output=result.output)
