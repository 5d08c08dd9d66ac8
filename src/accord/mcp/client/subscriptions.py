"""Subscriptions to changes, with one interface for both eras.

In the stateless era a subscription is an open request, `subscriptions/listen`. In the handshake era
it consists of `resources/subscribe`, and of list notifications, which need no subscription.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, to_builtins

from accord.jsonrpc.protocol.errors import ConnectionClosedError, TransportError, own_error
from accord.jsonrpc.runtime.calls import decode_result
from accord.mcp.client.calls import Conversation
from accord.mcp.client.inbox import News
from accord.mcp.protocol.messages import Result, SubscriptionFilter

log = logging.getLogger("accord.mcp")

MAX_WAITING: Final = 1_000
"""The limit of unread changes; beyond it the oldest is dropped."""
MAX_ATTEMPTS: Final = 6
FIRST_DELAY: Final = 0.2

Kind: TypeAlias = Literal["tools", "prompts", "resources", "resource", "task"]

_KINDS: Final[dict[str, Kind]] = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resources",
    "notifications/resources/updated": "resource",
    "notifications/tasks": "task",
    "notifications/tasks/status": "task",
}
_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"


class Change(Struct, frozen=True):
    """A notification that something on the server has changed.

    `kind` is the list of tools, prompts or resources, or one resource or task.
    `uri` is the URI of the resource or the id of the task; it is empty for a list.
    """

    kind: Kind
    uri: str = ""


class SubscriptionRequest(Struct, frozen=True, kw_only=True):
    """The changes that a client subscribes to."""

    tools: bool = False
    prompts: bool = False
    resources: bool = False
    """True to subscribe to changes of the list of resources, as opposed to their contents."""
    uris: tuple[str, ...] = ()
    """The URIs of resources whose contents to watch."""
    tasks: tuple[str, ...] = ()

    def filter(self) -> dict[str, Any]:
        """Return the filter that `subscriptions/listen` takes in the stateless era."""
        lists = SubscriptionFilter(
            tools_list_changed=self.tools,
            prompts_list_changed=self.prompts,
            resources_list_changed=self.resources,
            resource_subscriptions=list(self.uris),
        )
        members: dict[str, Any] = to_builtins(lists)
        if self.tasks:
            members["taskIds"] = list(self.tasks)
        return members

    def changes(self) -> list[Change]:
        """Return one change for each subscribed list, resource and task.

        After a lost connection all of them are reported, as notifications may have been missed.
        """
        lists: dict[Kind, bool] = {
            "tools": self.tools,
            "prompts": self.prompts,
            "resources": self.resources,
        }
        return [
            *(Change(kind) for kind, subscribed in lists.items() if subscribed),
            *(Change("resource", uri) for uri in self.uris),
            *(Change("task", id) for id in self.tasks),
        ]

    def includes(self, change: Change) -> bool:
        if change.kind == "resource":
            # 2025-11-25, resources: the URI may be below the one that was subscribed to.
            return any(change.uri.startswith(uri) for uri in self.uris)
        return change in self.changes()


class Changes:
    """An iterator over changes, which ends when the server ends the subscription.

    Equal changes that have not been read yet are merged.
    """

    def __init__(self) -> None:
        self._waiting: dict[Change, None] = {}
        self._arrived = asyncio.Event()
        self._ended = False
        self._error: BaseException | None = None

    def __aiter__(self) -> AsyncIterator[Change]:
        return self

    async def __anext__(self) -> Change:
        while not self._waiting:
            if self._error is not None:
                raise self._error
            if self._ended:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        change = next(iter(self._waiting))
        del self._waiting[change]
        return change

    async def next(self, timeout: float | None = None) -> Change:
        """Return the next change.

        Raises TimeoutError after `timeout` seconds, and ConnectionClosedError after the end of the
        subscription.
        """
        async with asyncio.timeout(timeout):
            try:
                return await anext(self)
            except StopAsyncIteration:
                raise ConnectionClosedError("the server has ended the subscription") from None

    def put(self, change: Change) -> None:
        self._waiting.pop(change, None)
        if len(self._waiting) >= MAX_WAITING:
            del self._waiting[next(iter(self._waiting))]
        self._waiting[change] = None
        self._arrived.set()

    def end(self, error: BaseException | None = None) -> None:
        self._ended, self._error = True, error
        self._arrived.set()


class Listening:
    """A subscription, from request to end: `async with client.listen(…) as changes`.

    It opens and renews the subscription that a `SubscriptionRequest` describes, and passes the
    notifications of the server to `Changes`.
    """

    def __init__(self, conversation: Conversation, request: SubscriptionRequest) -> None:
        self._conversation = conversation
        self._wanted = request
        self._changes = Changes()
        self._task: asyncio.Task[None] | None = None
        self._id: Any = None
        self._early: list[tuple[str, News]] = []
        """Notifications that arrived before the id of the `subscriptions/listen` request was
        known."""
        self._acknowledged: asyncio.Future[None] | None = None

    async def __aenter__(self) -> Changes:
        self._conversation.inbox.add(self)
        try:
            if self._conversation.stateless:
                await self._listen()
            else:
                await self._subscribe()
                await self._conversation.wire.listening()
                self._conversation.renewed.append(self._resubscribe)
        except BaseException:
            self._conversation.inbox.discard(self)
            raise
        return self._changes

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._conversation.inbox.discard(self)
        self._changes.end()
        if self._task is not None:
            tasks = (self._task, self._answer)
            for task in tasks:
                task.cancel()  # both: a task that has not begun cancels nothing itself
            await asyncio.wait(tasks)
        elif self._resubscribe in self._conversation.renewed:
            self._conversation.renewed.remove(self._resubscribe)
            await self._unsubscribe()

    def read(self, method: str, news: News) -> None:
        """Handle a notification, if it belongs to this subscription."""
        if self._conversation.stateless:
            # 2026-07-28, subscriptions: on a shared channel the id shows the subscription.
            if self._id is None:
                self._early.append((method, news))
                return
            if news.meta.subscription != self._id:
                return
            if method == _ACKNOWLEDGED:
                if self._acknowledged is not None and not self._acknowledged.done():
                    self._acknowledged.set_result(None)
                return
        kind = _KINDS.get(method)
        if kind is None:
            return
        change = Change(kind, news.task if kind == "task" else news.uri)
        if self._conversation.stateless or self._wanted.includes(change):
            self._changes.put(change)

    # The stateless era: a request that stays open

    async def _listen(self) -> None:
        self._answer = await self._open()
        self._task = asyncio.get_running_loop().create_task(self._stay())

    async def _open(self) -> asyncio.Task[Any]:
        """Send `subscriptions/listen`, and wait for its acknowledgment.

        Returns a task that ends with the subscription: the server answers the request only then.
        """
        acknowledged = self._acknowledged = asyncio.get_running_loop().create_future()
        params = {"notifications": self._wanted.filter()}
        self._id = None
        call = self._conversation.begin("subscriptions/listen", params)
        self._id = call.id
        early, self._early = self._early, []
        for method, news in early:
            self.read(method, news)
        answer = asyncio.get_running_loop().create_task(call.answer())
        try:
            done, _ = await asyncio.wait(
                (answer, acknowledged),
                timeout=self._conversation.seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not done:
                raise own_error("timeout", "subscriptions/listen was not acknowledged in time")
            if acknowledged not in done:
                answer.result()  # raises the error, if the answer is one
                raise ConnectionClosedError("the server ended the subscription at once")
        except BaseException:
            answer.cancel()
            raise
        return answer

    async def _stay(self) -> None:
        """Keep the subscription open until the server ends it.

        After a lost connection the subscription is opened again.
        """
        try:
            while True:
                try:
                    raw = await self._answer
                except TransportError as error:
                    await self._open_again(error)
                    for change in self._wanted.changes():
                        self._changes.put(change)  # may have happened meanwhile
                else:
                    decode_result(raw, Result, "subscriptions/listen")
                    self._changes.end()
                    return
        except Exception as error:  # noqa: BLE001 - the reader of the changes gets it
            self._changes.end(error)

    async def _open_again(self, error: TransportError) -> None:
        for attempt in range(MAX_ATTEMPTS):
            if not error.recoverable:
                break
            await asyncio.sleep(FIRST_DELAY * 2**attempt * random.uniform(0.5, 1))
            try:
                self._answer = await self._open()
            except TransportError as again:
                error = again
            else:
                return
        raise error

    # The handshake era: subscriptions, and notifications that need none

    async def _subscribe(self) -> None:
        if self._wanted.uris:
            self._conversation.agreement.need_subscribing()
        for uri in self._wanted.uris:
            await self._conversation.ask("resources/subscribe", {"uri": uri})

    async def _resubscribe(self) -> None:
        await self._subscribe()
        for change in self._wanted.changes():
            self._changes.put(change)

    async def _unsubscribe(self) -> None:
        for uri in self._wanted.uris:
            try:
                await self._conversation.ask("resources/unsubscribe", {"uri": uri})
            except TransportError:
                return
