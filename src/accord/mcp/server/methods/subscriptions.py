"""`subscriptions/listen`: an open request for notifications (2026-07-28)."""

from __future__ import annotations

from asyncio import timeout
from contextlib import suppress
from typing import Any, Final

from msgspec.structs import replace

from accord.mcp.protocol.content import SUBSCRIPTION_ID
from accord.mcp.protocol.messages import ListenParams, Result, SubscriptionFilter
from accord.mcp.server.core import STATELESS, Core, MethodRow
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.listeners import (
    PROMPTS_CHANGED,
    RESOURCES_CHANGED,
    TOOLS_CHANGED,
    ServerChange,
    params_of,
)
from accord.mcp.server.session import ClientLink, Principal
from accord.mcp.server.tasks.store import TaskRecord
from accord.mcp.server.tasks.tasks import check_extension
from accord.mcp.server.tasks.wire import heard

MAX_TASKS: Final = 1_000
"""The limit of tasks in one subscription."""


def subscription_methods(core: Core) -> dict[str, MethodRow]:
    return {"subscriptions/listen": MethodRow(ListenParams, _Subscriptions(core).listen, STATELESS)}


class _Subscriptions:
    def __init__(self, core: Core) -> None:
        self._runner = core.runner
        self._server = core.server
        self._access = core.access
        self._tasks = core.tasks

    async def listen(self, params: ListenParams, incoming: Incoming) -> Any:
        server, tasks = self._server, self._tasks
        wanted = await self._with_tasks(
            self._access.supported(params.notifications, incoming), incoming
        )
        id = incoming.context.id
        listener = SubscriptionListener(incoming.link, wanted, id)
        server.listeners.add(listener)
        tasks.listen(wanted.task_ids, listener.hear_of_task)
        try:
            # 2026-07-28, subscriptions: the acknowledgment comes before everything else.
            incoming.link.notify(
                "notifications/subscriptions/acknowledged",
                {"_meta": {SUBSCRIPTION_ID: id}, "notifications": wanted},
            )
            # An expired token gives no right to further notifications.
            principal = incoming.link.principal
            with suppress(TimeoutError):
                async with timeout(None if principal is None else principal.seconds_left):
                    await server.closing.wait()
        finally:
            server.listeners.discard(listener)
            tasks.stop_listening(wanted.task_ids, listener.hear_of_task)
        return self._runner.replies.finish(Result(meta={SUBSCRIPTION_ID: id}), incoming)

    async def _with_tasks(
        self, wanted: SubscriptionFilter, incoming: Incoming
    ) -> SubscriptionFilter:
        """Return the filter with only the tasks that the client may see.

        Raises RpcError for a client that names tasks and does not declare their extension.
        """
        if not wanted.task_ids:
            return wanted
        check_extension(incoming)
        ids = list(dict.fromkeys(wanted.task_ids))[:MAX_TASKS]
        known = await self._tasks.among(ids, incoming)
        return replace(wanted, task_ids=[record.id for record in known])


class SubscriptionListener:
    """The listener of one `subscriptions/listen`."""

    __slots__ = ("_id", "_link", "_lists", "_uris")

    def __init__(self, link: ClientLink, wanted: SubscriptionFilter, id: Any) -> None:
        self._link = link
        self._id = id
        self._uris = frozenset(wanted.resource_subscriptions)
        lists = {
            TOOLS_CHANGED: wanted.tools_list_changed,
            PROMPTS_CHANGED: wanted.prompts_list_changed,
            RESOURCES_CHANGED: wanted.resources_list_changed,
        }
        self._lists = frozenset(change for change, want in lists.items() if want)

    @property
    def principal(self) -> Principal | None:
        return self._link.principal

    def hear(self, change: ServerChange) -> None:
        if change.uri in self._uris if change.uri else change in self._lists:
            params = {"_meta": {SUBSCRIPTION_ID: self._id}, **params_of(change)}
            self._link.notify(change.method, params)

    def hear_of_task(self, record: TaskRecord) -> None:
        self._link.notify("notifications/tasks", heard(record, self._id))
