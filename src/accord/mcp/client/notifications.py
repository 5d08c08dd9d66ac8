"""The inbox of a client: progress, log messages, changes and questions of the server.

The inbox is the same in both eras. Messages that the server must not send in its era are ignored or
refused.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import count
from typing import Any, Protocol, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from accord.jsonrpc.methods.call_plan import Plan
from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.methods.method import raw_method
from accord.jsonrpc.methods.msgspec_types import REFUSALS
from accord.jsonrpc.methods.params_errors import check_members
from accord.jsonrpc.methods.router import RequestFault, Router
from accord.jsonrpc.protocol.errors import RpcError, log_line, own_error
from accord.jsonrpc.runtime.calls import Call
from accord.mcp.client.input_requests import InputHandlers
from accord.mcp.protocol.content import SUBSCRIPTION_ID, ProgressToken
from accord.mcp.protocol.input_requests import InputRequest
from accord.mcp.protocol.messages import CancelledParams, LogParams, ProgressParams, request_error
from accord.mcp.protocol.versions import Era

log = logging.getLogger("accord.mcp")

ProgressHandler: TypeAlias = Callable[[ProgressParams], Any]
LogHandler: TypeAlias = Callable[[LogParams], Any]

LIST_CHANGES = (
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
)
TASK_CHANGES = ("notifications/tasks", "notifications/tasks/status")


class NewsMeta(Struct, frozen=True):
    subscription: int | str | UnsetType = field(name=SUBSCRIPTION_ID, default=UNSET)


class News(Struct, frozen=True):
    """The members of change notifications that show the change and its subscription."""

    uri: str = ""
    task: str = field(name="taskId", default="")
    status: str = ""
    notifications: Raw | UnsetType = UNSET
    meta: NewsMeta = field(name="_meta", default=NewsMeta())


class NotificationReader(Protocol):
    """A receiver of change notifications."""

    def read(self, method: str, news: News) -> None:
        """Handle a notification. Never raises."""


class _TrackedCall:
    """A request with progress reports."""

    __slots__ = ("call", "handler", "last")

    def __init__(self, handler: ProgressHandler | None) -> None:
        self.handler = handler
        self.call: Call | None = None
        self.last = float("-inf")


_decode_progress = msgspec.json.Decoder(ProgressParams).decode
_decode_log = msgspec.json.Decoder(LogParams).decode
_decode_news = msgspec.json.Decoder(News).decode
_decode_cancelled = msgspec.json.Decoder(CancelledParams).decode


class Inbox:
    """The receiver of the server's requests and notifications."""

    def __init__(
        self,
        asked: InputHandlers,
        *,
        logging: LogHandler | None = None,
        progress: ProgressHandler | None = None,
    ) -> None:
        self._asked = asked
        self._logging = logging
        self._progress = progress
        self._tokens = count(1)
        self._tracked: dict[ProgressToken, _TrackedCall] = {}
        self._readers: dict[NotificationReader, None] = {}

    @property
    def follows_progress(self) -> bool:
        """True if the progress of every request is reported to the application."""
        return self._progress is not None

    def router(self) -> Router:
        """Return a router with the methods that the server can call."""
        router = Router(request_errors=_request_error)
        plans: dict[str, Plan] = {
            "ping": lambda params, context: {},
            "notifications/progress": self._progressed,
            "notifications/message": self._logged,
            "notifications/cancelled": self._cancelled,
            "notifications/resources/updated": self._told,
            "notifications/subscriptions/acknowledged": self._told,
            "notifications/elicitation/complete": self._told,
        }
        plans.update(dict.fromkeys((*LIST_CHANGES, *TASK_CHANGES), self._told))
        plans.update(dict.fromkeys(self._asked.methods, self._asked_for))
        for name, plan in plans.items():
            router.put(raw_method(_checked(plan), name))
        return router

    # Progress

    def track(self, handler: ProgressHandler | None) -> ProgressToken:
        """Return a progress token for a request.

        2026-07-28, progress: it is unique among the requests in flight.
        """
        token = next(self._tokens)
        self._tracked[token] = _TrackedCall(handler or self._progress)
        return token

    def sent(self, token: ProgressToken, call: Call) -> None:
        """Register the call with this token: each progress report extends its timeout."""
        self._tracked[token].call = call

    def untrack(self, token: ProgressToken) -> None:
        self._tracked.pop(token, None)

    def _progressed(self, params: Any, context: Context | None) -> Any:
        progress = _read(_decode_progress, params)
        tracked = None if progress is None else self._tracked.get(progress.progress_token)
        # 2026-07-28, progress: it must grow. A report without growth shows no work.
        if progress is None or tracked is None or progress.progress <= tracked.last:
            return None
        tracked.last = progress.progress
        if tracked.call is not None:
            tracked.call.extend()
        return None if tracked.handler is None else tracked.handler(progress)

    # Changes and log messages

    def add(self, reader: NotificationReader) -> None:
        self._readers[reader] = None

    def discard(self, reader: NotificationReader) -> None:
        self._readers.pop(reader, None)

    def _told(self, params: Any, context: Context | None) -> None:
        assert context is not None
        news = _read(_decode_news, params)
        if news is not None:
            for reader in tuple(self._readers):
                reader.read(context.method, news)

    def _logged(self, params: Any, context: Context | None) -> Any:
        message = _read(_decode_log, params)
        return None if message is None or self._logging is None else self._logging(message)

    # Questions

    def _asked_for(self, params: Any, context: Context | None) -> Any:
        assert context is not None
        has_none = params is UNSET or bytes(params) == b"null"
        method = context.method
        request = InputRequest(method) if has_none else InputRequest(method, params)
        return self._asked.answer(request)

    def _cancelled(self, params: Any, context: Context | None) -> None:
        cancelled = _read(_decode_cancelled, params)
        if cancelled is None or cancelled.request_id is UNSET or context is None:
            return
        log.debug("the server cancels: %s", log_line(cancelled.reason))
        if context.peer is not None:
            context.peer.cancel_incoming(cancelled.request_id)


def _request_error(fault: RequestFault, params: Any, context: Context) -> RpcError:
    of = params if isinstance(params, RpcError) else None
    return request_error(fault, era=Era.HANDSHAKE, profile="standard", of=of)


def _checked(plan: Plan) -> Plan:
    """Return a plan that refuses params with duplicate members in one object."""

    def call(params: Any, context: Context | None) -> Any:
        if params is not UNSET:
            try:
                check_members(params)
            except REFUSALS as error:
                raise own_error("invalid_params", f"Invalid params: {error}") from None
        return plan(params, context)

    return call


def _read(decode: Callable[[Any], Any], params: Any) -> Any:
    """Return the params of a notification; None for malformed ones, which are logged."""
    try:
        return decode(b"{}" if params is UNSET or bytes(params) == b"null" else params)
    except REFUSALS as error:
        log.warning("a malformed notification is dropped: %s", log_line(str(error)))
        return None
