"""A `Backend` in memory, which runs the skills of an agent and notifies webhooks.

Each task's events are posted to its webhooks in order, with a few retries and bounded queues.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final
from uuid import uuid4

from msgspec.structs import replace

from accord.a2a.exchange import AddressGuard, AddressRefusedError, Exchanger
from accord.a2a.protocol.addresses import AddressPolicy
from accord.a2a.protocol.errors import CallError, failure
from accord.a2a.protocol.formats import V10
from accord.a2a.protocol.model import (
    Answer,
    ArtifactUpdate,
    Event,
    ListQuery,
    Message,
    PushConfig,
    PushQuery,
    Send,
    StatusUpdate,
    Task,
    TaskPush,
    TaskState,
)
from accord.a2a.server.backend import MAX_PUSHES, MAX_TASKS, Board, Entry, TaskPage
from accord.a2a.server.skills import (
    FailedError,
    RejectedError,
    SkillFunction,
    TaskContext,
    agent_message,
)
from accord.jsonrpc.protocol.errors import ConnectError, InvalidParamsError
from accord.jsonrpc.protocol.messages import encode
from accord.transports.http.web_app import Underway
from accord.transports.urls import WebAddress, parse_web_address

log = logging.getLogger("accord.a2a")

TIMEOUT_SECONDS: Final = 10.0
RETRY_DELAYS: Final = (0.0, 1.0, 5.0)
"""Seconds to wait before each attempt to deliver an event to a webhook."""
MAX_QUEUED: Final = 1_000
MAX_RESPONSE_BYTES: Final = 64 * 1024
TOKEN_HEADER: Final = "X-A2A-Notification-Token"


class WebhookSender:
    """Delivers events to webhooks. Bound to one event loop."""

    def __init__(self, policy: AddressPolicy) -> None:
        self._policy = policy
        self._exchanger: Exchanger | None = None
        self._queues: dict[str, deque[tuple[PushConfig, bytes]]] = {}
        self._queued = 0
        self._underway = Underway()

    async def check(self, config: PushConfig) -> None:
        """Raise InvalidParamsError for a forbidden URL, or a token with line breaks."""
        try:
            await AddressGuard(self._policy).resolve(_parse(config.url))
        except (AddressRefusedError, ConnectError) as error:
            raise InvalidParamsError(error.message) from error
        except OSError:
            log.info("the host of the webhook %s is unknown, so far", _parse(config.url))
        if "\r" in config.token + config.credentials or "\n" in config.token + config.credentials:
            raise InvalidParamsError("a token has no line breaks")

    def notify(
        self, task_id: str, config: PushConfig, event: StatusUpdate | ArtifactUpdate
    ) -> None:
        """Queue an event of a task for delivery to a webhook."""
        if self._queued >= MAX_QUEUED:
            log.warning("too many webhooks wait to be told: %s is not", config.url)
            return
        self._queued += 1
        # 1.0, section 4.3.3: the event of a stream, whatever format registered the webhook
        payload = encode(V10.event(event))
        queue = self._queues.get(task_id)
        if queue is not None:
            queue.append((config, payload))
            return
        self._queues[task_id] = deque([(config, payload)])
        self._underway.begin(self._deliver(task_id))

    async def close(self, drain: float) -> None:
        await self._underway.close(drain)
        if self._exchanger is not None:
            self._exchanger.close()

    async def _deliver(self, task_id: str) -> None:
        queue = self._queues[task_id]
        try:
            while queue:
                config, payload = queue.popleft()
                self._queued -= 1
                await self._post(config, payload)
        finally:
            # No await before the `del`, or `notify` could add to a queue that is lost.
            self._queued -= len(queue)
            del self._queues[task_id]

    async def _post(self, config: PushConfig, payload: bytes) -> None:
        headers = {"content-type": "application/a2a+json"}
        if config.token:
            headers[TOKEN_HEADER] = config.token
        if config.scheme:
            headers["authorization"] = f"{config.scheme} {config.credentials}"
        for delay in RETRY_DELAYS:
            await asyncio.sleep(delay)
            try:
                await self._sender().ask("POST", _parse(config.url), headers, payload)
            except CallError as error:
                log.info("the webhook %s was not told: %s", _parse(config.url), error)
            else:
                return

    def _sender(self) -> Exchanger:
        if self._exchanger is None:
            self._exchanger = Exchanger(
                policy=self._policy, tls=None, timeout=TIMEOUT_SECONDS, max_bytes=MAX_RESPONSE_BYTES
            )
        return self._exchanger


def _parse(url: str) -> WebAddress:
    address = parse_web_address(url)
    if address.scheme not in ("http", "https"):
        raise ConnectError(f"webhooks are reached by http or https, not {address.scheme}")
    return address


SKILL_MEMBER: Final = "skill"
"""The member of a message's or request's metadata that names the skill."""
MAX_REMEMBERED_MESSAGES: Final = 10_000
"""The number of messages that are remembered, to recognize repeated messages."""


class MemoryBackend:
    """A backend that runs skills. Bound to one event loop; `close` ends running tasks."""

    def __init__(
        self,
        skills: Mapping[str, SkillFunction],
        *,
        choose: Callable[[Message], str | None] | None = None,
        once: bool = True,
        input_modes: Sequence[str],
        webhooks: AddressPolicy | None,
        max_tasks: int = MAX_TASKS,
    ) -> None:
        self._skills = skills
        self._chosen = choose
        self._once = once
        self._input_modes = frozenset(input_modes)
        self._webhooks = None if webhooks is None else WebhookSender(webhooks)
        self._board = Board(max_tasks=max_tasks, on_event=self._notify)
        self._contexts: dict[str, TaskContext] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._known: OrderedDict[tuple[str, bytes], str] = OrderedDict()
        """The ids of started tasks, each under the key of the message that started the task."""

    # Messages

    async def send(self, send: Send, caller: str) -> Answer:
        message = send.message
        self._check(message)
        if send.push is not None:
            await self._check_push(send.push)
        if message.task_id:
            return self._continue(message, caller)
        skill = self._choose(message, send.metadata)
        if skill.direct:
            return await self._answer(skill, message)
        # No await from here to the end of `_begin`: two equal messages must not start two tasks.
        known = self._known.get(_message_key(caller, message)) if self._once else None
        if known is not None and self._board.knows(known):
            return self._board.find(known, caller).task
        return self._begin(skill, send, caller)

    def _check(self, message: Message) -> None:
        if not message.message_id:
            raise InvalidParamsError("message.messageId must not be empty")
        if not message.parts:
            raise InvalidParamsError("message.parts must not be empty")
        for part in message.parts:
            if part.media_type and not self._understands(part.media_type):
                raise failure("CONTENT_TYPE_NOT_SUPPORTED", mediaType=part.media_type[:100])

    def _understands(self, media_type: str) -> bool:
        media_type = media_type.partition(";")[0].strip().lower()
        kind = media_type.partition("/")[0]
        return bool(self._input_modes & {media_type, f"{kind}/*", "*/*"})

    def _choose(self, message: Message, metadata: Mapping[str, Any]) -> SkillFunction:
        skill_id: Any = None if self._chosen is None else self._chosen(message)
        if skill_id is None:
            skill_id = message.metadata.get(SKILL_MEMBER, metadata.get(SKILL_MEMBER))
        if skill_id is None:
            return next(iter(self._skills.values()))
        skill = self._skills.get(skill_id) if isinstance(skill_id, str) else None
        if skill is None:
            names = ", ".join(self._skills)
            raise InvalidParamsError(f"message.metadata.{SKILL_MEMBER} must be one of: {names}")
        return skill

    async def _answer(self, skill: SkillFunction, message: Message) -> Message:
        context_id = message.context_id or str(uuid4())
        try:
            result = await skill.call(message, None)
        except RejectedError as error:
            raise InvalidParamsError(str(error)) from error
        return agent_message(result, context_id)

    def _begin(self, skill: SkillFunction, send: Send, caller: str) -> Task:
        entry = self._board.begin(send.message, caller)
        task_id = entry.task.id
        self._remember(caller, send.message, task_id)
        if send.push is not None:
            _add_push(entry, send.push)
        context = self._contexts[task_id] = TaskContext(self._board, entry, entry.task.history[0])
        running = asyncio.get_running_loop().create_task(self._run(skill, context))
        self._running[task_id] = running
        running.add_done_callback(lambda _: self._ended(task_id))
        return entry.task

    def _remember(self, caller: str, message: Message, task_id: str) -> None:
        self._known[_message_key(caller, message)] = task_id
        if len(self._known) > MAX_REMEMBERED_MESSAGES:
            self._known.popitem(last=False)

    def _continue(self, message: Message, caller: str) -> Task:
        entry = self._board.find(message.task_id, caller)
        if message.context_id not in ("", entry.task.context_id):
            # 1.0, section 3.4.3: mismatching ids are rejected.
            raise InvalidParamsError("message.contextId is not that of the task")
        context = self._contexts.get(message.task_id)
        if context is None or not context.is_asking:
            if message.message_id in (each.message_id for each in entry.task.history):
                return entry.task  # a repeated message
            raise failure(
                "UNSUPPORTED_OPERATION",
                "The task does not wait for a message",
                taskId=entry.task.id,
            )
        context.hear(message)
        return entry.task

    # Work

    async def _run(self, skill: SkillFunction, context: TaskContext) -> None:
        try:
            context.set_state(TaskState.WORKING)
            result = await skill.call(context.message, context)
            if hasattr(result, "__aiter__"):
                await _add_pieces(result, skill, context)
            elif result is not None:
                context.add(result, name=skill.card.name, last=True)
            context.set_state(TaskState.COMPLETED)
        except RejectedError as error:
            context.set_state(TaskState.REJECTED, str(error))
        except FailedError as error:
            context.set_state(TaskState.FAILED, str(error))
        except asyncio.CancelledError:
            context.set_state(TaskState.CANCELED)
            raise
        except Exception:
            log.exception("the skill %s failed on task %s", skill.card.id, context.task.id)
            context.set_state(TaskState.FAILED, "the agent failed; its log says why")

    def _ended(self, task_id: str) -> None:
        del self._running[task_id]
        del self._contexts[task_id]

    # Tasks

    async def get(self, task_id: str, caller: str) -> Task:
        return self._board.find(task_id, caller).task

    async def cancel(self, task_id: str, caller: str) -> Task:
        entry = self._board.find(task_id, caller)
        running = self._running.get(task_id)
        if entry.is_over or running is None:
            raise failure("TASK_NOT_CANCELABLE", "The task is over", taskId=task_id)
        context = self._contexts[task_id]
        running.cancel()
        await asyncio.wait([running])
        # A task cancelled before its first step never gets to its `except`; else this does nothing.
        context.set_state(TaskState.CANCELED)
        return entry.task

    async def list(self, query: ListQuery, caller: str) -> TaskPage:
        return self._board.page(query, caller)

    async def follow(
        self, task_id: str, caller: str, until: frozenset[TaskState]
    ) -> AsyncGenerator[Event, None]:
        async for event in self._board.follow(self._board.find(task_id, caller), until):
            yield event

    # Webhooks

    async def set_push(self, push: TaskPush, caller: str) -> TaskPush:
        await self._check_push(push.config)
        entry = self._board.find(push.task_id, caller)
        return TaskPush(task_id=push.task_id, config=_add_push(entry, push.config))

    async def list_push(self, query: PushQuery, caller: str) -> Sequence[TaskPush]:
        entry = self._board.find(query.task_id, caller)
        return [
            TaskPush(task_id=query.task_id, config=config)
            for config in entry.pushes.values()
            if query.config_id in ("", config.id)
        ]

    async def delete_push(self, query: PushQuery, caller: str) -> None:
        self._board.find(query.task_id, caller).pushes.pop(query.config_id, None)

    @property
    def takes_webhooks(self) -> bool:
        return self._webhooks is not None

    async def _check_push(self, config: PushConfig) -> None:
        if self._webhooks is None:
            raise failure("PUSH_NOTIFICATION_NOT_SUPPORTED")
        await self._webhooks.check(config)

    def _notify(self, entry: Entry, event: StatusUpdate | ArtifactUpdate) -> None:
        if self._webhooks is not None:
            for config in entry.pushes.values():
                self._webhooks.notify(entry.task.id, config, event)

    async def close(self, drain: float) -> None:
        if self._running:
            _, late = await asyncio.wait(self._running.values(), timeout=drain)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        if self._webhooks is not None:
            await self._webhooks.close(drain)


async def _add_pieces(pieces: Any, skill: SkillFunction, context: TaskContext) -> None:
    """Add the values of a generator to one artifact, piece by piece."""
    artifact_id = str(uuid4())
    first = True
    async for piece in pieces:
        context.add(
            piece, artifact_id=artifact_id, name=skill.card.name if first else "", append=not first
        )
        first = False


def _add_push(entry: Entry, config: PushConfig) -> PushConfig:
    config = replace(config, id=config.id or str(uuid4()))
    if config.id not in entry.pushes and len(entry.pushes) >= MAX_PUSHES:
        raise InvalidParamsError(f"a task has {MAX_PUSHES} webhooks at most")
    entry.pushes[config.id] = config
    return config


def _message_key(caller: str, message: Message) -> tuple[str, bytes]:
    """Return a key made of the caller and the whole message.

    The id of the message is not enough: clients may reuse it.
    """
    return caller, sha256(encode(V10.message(message))).digest()
