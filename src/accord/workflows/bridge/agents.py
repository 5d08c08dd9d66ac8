"""Calls to agents, a cache of registered agents, and health checks of agents.

A call sends a message to the agent, stores the id that the agent gives its own task, and polls that
task until it is done. The first action of an attempt depends on the stored data:

    no task id of the agent ──▶ send the input: returns a result, a question, or a running task
    a task id ──▶ poll the agent's task, at growing intervals (after a crash too)
    a task id, and an answer to the agent's question ──▶ send the answer to the agent's task

Agents are asked to respond at once, so no connection stays open during long work.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from accord.a2a.client import Client, Trace
from accord.a2a.protocol import outcome as outcomes
from accord.a2a.protocol.addresses import AddressPolicy
from accord.a2a.protocol.calls import MAX_BODY_KEPT, ReceivedAnswer
from accord.a2a.protocol.card import encode_card
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
from accord.operations.context import utc_now
from accord.operations.logs import REDACTED, redact
from accord.store.store import Store, StoreError, StoreUnavailableError
from accord.workflows.bridge.client_pool import ClientPool, PlainClient, Secrets
from accord.workflows.bridge.task import (
    ClaimedTask,
    Outcome,
    Progress,
    Spans,
    TaskFailure,
    TaskQuestion,
    TaskSuccess,
    Terms,
    log_warning,
    message_id_of,
    span_of,
    trace_of,
)
from accord.workflows.core.retry import delay
from accord.workflows.storage.agents import (
    AGENTS_WAKE,
    ALL_ACTIVE,
    ONE_NAMED,
    SET_HEALTH,
    AgentRow,
    Health,
    agent_of,
)
from accord.workflows.storage.leases import Lease

CACHE_SECONDS: Final = 5.0
"""How long a cached agent is used before it is read again.

The cache is also notified of changes to agents; the limit helps if a notification was lost.
"""
MAX_CACHED: Final = 1_000


class AgentCache:
    """A cache of the registered agents of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cached: dict[str, tuple[float, AgentRow | None]] = {}
        self._stop: Callable[[], None] | None = None

    async def start(self) -> None:
        """Start to listen for changes of agents."""
        self._stop = await self._store.listen(AGENTS_WAKE, self.expire)

    async def close(self) -> None:
        if self._stop is not None:
            self._stop()
            self._stop = None

    def expire(self) -> None:
        """Mark all cached agents as expired, to read each again before its next use.

        An expired agent is still used while the database is unavailable.
        """
        self._cached = {name: (0.0, found) for name, (_, found) in self._cached.items()}

    async def get(self, name: str) -> AgentRow | None:
        """Return the agent of this name; None if there is no such agent.

        While the database is unavailable, return the cached agent; raise StoreError if none is
        cached.
        """
        cached = self._cached.get(name)
        now = time.monotonic()
        if cached is not None and cached[0] > now:
            return cached[1]
        try:
            rows = await self._store.fetch(ONE_NAMED, name)
        except StoreUnavailableError:
            if cached is None:
                raise
            return cached[1]
        found = agent_of(rows[0]) if rows else None
        if len(self._cached) >= MAX_CACHED:
            self._cached.clear()
        self._cached[name] = (now + CACHE_SECONDS, found)
        return found


FIRST_POLL_SECONDS: Final = 0.05

_OTHER_WIRE: Final = frozenset((ERROR_KINDS["VERSION_NOT_SUPPORTED"].code, -32601))
"""Error codes that suggest an agent uses another A2A version than its card states."""


class AgentCaller:
    """The `TaskCaller` for agents."""

    def __init__(
        self,
        agents: AgentCache,
        policy: AddressPolicy,
        secrets: Secrets,
        *,
        spans: Spans | None = None,
    ) -> None:
        self._agents = agents
        self._clients = ClientPool(policy, secrets)
        self._spans = spans

    async def close(self) -> None:
        """End all connections."""
        await self._clients.close()

    async def terms(self, target: str) -> Terms:
        agent = await self._agent(target)
        return Terms(
            retry=agent.retry, concurrency=agent.max_concurrency, follows=agent.wire != "plain"
        )

    async def call(self, task: ClaimedTask, progress: Progress) -> Outcome:
        agent = await self._agent(task.target)
        with span_of(self._spans, task) as traceparent:
            trace = trace_of(task, traceparent)
            pooled = await self._clients.take(agent)
            try:
                if isinstance(pooled.client, PlainClient):
                    outcome = await _call_plain(pooled.client, task, trace)
                else:
                    agent_call = _AgentCall(pooled.client, task, agent, trace, progress)
                    outcome = await agent_call.run()
            except CallError as error:
                if error.code in _OTHER_WIRE and agent.wire == "auto":
                    self._clients.forget(agent)
                _redact_error(error, pooled.secrets)
                raise
            else:
                return _redact_outcome(outcome, pooled.secrets)
            finally:
                await self._clients.release(pooled)

    async def cancel(self, task: ClaimedTask) -> None:
        if not task.remote_task:
            return
        agent = await self._agent(task.target)
        pooled = await self._clients.take(agent)
        try:
            if isinstance(pooled.client, Client):
                trace = trace_of(task, task.traceparent)
                await pooled.client.cancel(task.remote_task, trace=trace)
        finally:
            await self._clients.release(pooled)

    async def _agent(self, name: str) -> AgentRow:
        """Return the agent of this name. Raise RefusedError if it does not exist or is inactive."""
        agent = await self._agents.get(name)
        if agent is None:
            raise RefusedError("unknown_agent", f"there is no agent {name[:80]!r}")
        if not agent.active:
            raise RefusedError("inactive_agent", f"the agent {name!r} is not active")
        return agent


def _redact_error(error: CallError, secrets: Sequence[str]) -> None:
    """Replace an agent's credentials in the message and body of its error response."""
    for each in secrets:
        error.message = error.message.replace(each, REDACTED)
        error.body = error.body.replace(each.encode(), REDACTED.encode())


def _redact_outcome(outcome: Outcome, secrets: Sequence[str]) -> Outcome:
    """Replace an agent's credentials in a failure that the agent reported."""
    if not isinstance(outcome, TaskFailure):
        return outcome
    for each in secrets:
        outcome = replace(
            outcome,
            message=outcome.message.replace(each, REDACTED),
            body=outcome.body.replace(each.encode(), REDACTED.encode()),
        )
    return outcome


class _AgentCall:
    """One attempt at a task of a run, by an agent that uses A2A."""

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
        self._unclear: outcomes.DoneOutcome | None = None
        """The agent's latest output, if its task is in a state that A2A does not define.

        It becomes the result of the call if the state does not change or the next poll fails.
        """
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
        """Poll a task of the agent until it is done or asks for input.

        Raise CallError if a poll fails for good, or if as many consecutive polls fail as the retry
        policy allows attempts.
        """
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
        """Return the outcome in the agent's response; None if the agent may still be working."""
        match outcomes.outcome_of(received):
            case outcomes.DoneOutcome() as done:
                return self._succeeded(done)
            case outcomes.FailedOutcome(code, message):
                body = received.result[:MAX_BODY_KEPT]
                return TaskFailure(code=str(code), message=message, body=body)
            case outcomes.WaitingOutcome(task_id, context_id, _, question):
                return TaskQuestion(prompt=question, remote_task=task_id, remote_context=context_id)
            case outcomes.UnclearOutcome(done=done):
                # An unknown state may be work in progress: it gets the chance to change.
                self._unclear = done
                self._unclear_times += 1
                return self._succeeded(done) if self._unclear_times > outcomes.MAX_UNCLEAR else None
            case outcomes.WorkingOutcome():
                self._unclear, self._unclear_times = None, 0
                return None

    def _succeeded(self, done: outcomes.DoneOutcome) -> TaskSuccess:
        extracted = done.extracted
        if extracted.warning:
            log_warning(self._task, extracted.warning)
        artifacts = [msgspec.to_builtins(V10.artifact(each)) for each in extracted.artifacts]
        data = list(extracted.data)
        return TaskSuccess(output=extracted.output, data=data or None, artifacts=artifacts or None)


def _ids(received: ReceivedAnswer) -> tuple[str, str]:
    """Return the task id and context id in an agent's response about unfinished work."""
    task = received.answer
    assert isinstance(task, Task)
    return task.id, task.context_id


async def _call_plain(client: PlainClient, task: ClaimedTask, trace: Trace) -> Outcome:
    answer = await client.call(
        task.command.input, task_id=task.call_id, message_id=message_id_of(task), trace=trace
    )
    result = answer.result
    if answer.warning:
        log_warning(task, answer.warning)
    if result.error is not None:
        return TaskFailure(code=str(result.error.code), message=result.error.message)
    return TaskSuccess(output=result.output)


log = logging.getLogger("accord.bridge")

CHECK_INTERVAL_SECONDS: Final = 60.0
MAX_CONCURRENT_CHECKS: Final = 16
MAX_DETAIL: Final = 500
"""The maximum length of the reason in a health check, in characters."""


class AgentCheck(Struct, frozen=True):
    """The result of a health check: the agent's health, the reason, and its current card."""

    health: Health
    detail: str = ""
    card: str | None = None
    """The agent's card as JSON; None if it was not read."""


async def check_agent(agent: AgentRow, policy: AddressPolicy, secrets: Secrets) -> AgentCheck:
    """Check the health of an agent, and report a failed call as unhealthy."""
    clients = ClientPool(policy, secrets)
    try:
        client = (await clients.take(agent)).client
        if isinstance(client, Client):
            card = await client.card()
            return AgentCheck("healthy", card=encode_card(card).decode())
        await client.ping()
        return AgentCheck("healthy")
    except CallError as error:
        return _judged(agent, error)
    finally:
        await clients.close()


def _judged(agent: AgentRow, error: CallError) -> AgentCheck:
    # An agent that is called without a card need not have one, and an endpoint that takes POST only
    # may refuse GET: an answer of either kind shows that it works.
    if agent.wire != "auto" and error.code in ("http_404", "http_405"):
        return AgentCheck("healthy", "it answers, and has no card")
    return AgentCheck("unhealthy", redact(f"{error.message} ({error.code})")[:MAX_DETAIL])


async def store_check(store: Store, agent: AgentRow, checked: AgentCheck) -> None:
    """Store the result of a health check in the agent's row. Raise StoreError if that fails."""
    row = (agent.id, checked.health, checked.detail, utc_now(), checked.card)
    await store.write(SET_HEALTH, *row)


class HealthChecks:
    """A periodic health check of all active agents; a lease lets one process at a time run it."""

    def __init__(
        self,
        store: Store,
        policy: AddressPolicy,
        secrets: Secrets,
        *,
        every: float = CHECK_INTERVAL_SECONDS,
    ) -> None:
        self._store = store
        self._policy = policy
        self._secrets = secrets
        self._every = every
        self._lease = Lease(store, "agent_health", seconds=every * 1.5)
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._running = asyncio.create_task(self._run())

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        with suppress(StoreError):  # it expires anyway
            await self._lease.release()

    async def _run(self) -> None:
        while True:
            try:
                if await self._lease.take():
                    await self._check_all()
            except StoreError as error:
                log.warning("agents cannot be checked: %s", error)
            except Exception:
                log.exception("checking agents failed")
            await asyncio.sleep(self._every)

    async def _check_all(self) -> None:
        agents = [agent_of(row) for row in await self._store.fetch(ALL_ACTIVE)]
        for begin in range(0, len(agents), MAX_CONCURRENT_CHECKS):
            await asyncio.gather(*map(self._check, agents[begin : begin + MAX_CONCURRENT_CHECKS]))

    async def _check(self, agent: AgentRow) -> None:
        checked = await check_agent(agent, self._policy, self._secrets)
        if checked.health != agent.health:
            log.info("agent %s is %s: %s", agent.name, checked.health, checked.detail)
        await store_check(self._store, agent, checked)
