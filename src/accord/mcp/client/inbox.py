"""The inbox of a client, which receives the messages that the server begins.

The messages are progress reports, log messages, change notifications and input requests.

The inbox is the same in both eras. Messages that the server must not send in its era are ignored or
refused. Input requests (sampling, elicitation, roots) arrive as JSON-RPC requests in the handshake
era, and inside results in the stateless era. A feature without a handler is not declared in the
capabilities, and requests for it are refused.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from itertools import count
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field
from msgspec.structs import replace

from accord.jsonrpc.methods.call_plan import Plan
from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.methods.method import raw_method
from accord.jsonrpc.methods.param_values import REFUSALS, check_members
from accord.jsonrpc.methods.router import RequestFault, Router
from accord.jsonrpc.protocol.errors import RpcError, log_line, own_error
from accord.jsonrpc.runtime.calls import Call
from accord.mcp.protocol.content import SUBSCRIPTION_ID, ProgressToken, TextContent
from accord.mcp.protocol.definitions import (
    ClientCapabilities,
    Elicitation,
    ListFeature,
    SamplingCapability,
)
from accord.mcp.protocol.input_requests import (
    CreateMessage,
    CreateMessageResult,
    ElicitForm,
    ElicitResult,
    ElicitUrlParams,
    InputRequest,
    ListRootsResult,
    Root,
)
from accord.mcp.protocol.messages import CancelledParams, LogParams, ProgressParams, request_error
from accord.mcp.protocol.tasks import EXTENSION as TASKS_EXTENSION
from accord.mcp.protocol.versions import Era

T = TypeVar("T")

MaybeAwaitable: TypeAlias = T | Awaitable[T]
ElicitationMode: TypeAlias = Literal["form", "url"]

SamplingHandler: TypeAlias = Callable[[CreateMessage], MaybeAwaitable[CreateMessageResult | str]]
"""Runs a model for the server; a returned string becomes an assistant message."""
ElicitationHandler: TypeAlias = Callable[
    [ElicitForm | ElicitUrlParams], MaybeAwaitable[ElicitResult | dict[str, Any] | None]
]
"""Asks the user for the server; a returned dict is the content of the completed form, None
declines."""
RootsHandler: TypeAlias = Callable[[], MaybeAwaitable[Sequence[Root | str | Path]]]

UNNAMED_MODEL = "unknown"


class _Mode(Struct):
    mode: str = "form"


class InputHandlers:
    """The application's handlers of input requests."""

    def __init__(
        self,
        *,
        sampling: SamplingHandler | None = None,
        sampling_tools: bool = False,
        elicitation: ElicitationHandler | None = None,
        elicitation_modes: Sequence[ElicitationMode] = ("form", "url"),
        roots: RootsHandler | Sequence[Root | str | Path] | None = None,
    ) -> None:
        self._sampling = sampling
        self._sampling_tools = sampling_tools
        self._elicitation = elicitation
        self._modes = frozenset(elicitation_modes)
        self._roots = roots
        self._answers: dict[str, Callable[[Any], Awaitable[Any]]] = {}
        if sampling is not None:
            self._answers["sampling/createMessage"] = self._sample
        if elicitation is not None:
            self._answers["elicitation/create"] = self._elicit
        if roots is not None:
            self._answers["roots/list"] = self._list_roots

    @property
    def methods(self) -> list[str]:
        """Return the methods of input requests for which the application has a handler."""
        return list(self._answers)

    @property
    def capabilities(self) -> ClientCapabilities:
        return ClientCapabilities(
            roots=None if self._roots is None else ListFeature(list_changed=callable(self._roots)),
            sampling=None
            if self._sampling is None
            else SamplingCapability(tools={} if self._sampling_tools else None),
            elicitation=None
            if self._elicitation is None
            else Elicitation(
                form={} if "form" in self._modes else None,
                url={} if "url" in self._modes else None,
            ),
            extensions={TASKS_EXTENSION: {}},
        )

    async def answer(self, request: InputRequest) -> Any:
        """Return the result of an input request. Raise RpcError if it has no handler."""
        answer = self._answers.get(request.method)
        if answer is None:
            raise own_error("method_not_found", f"Method not found: {request.method[:100]}")
        return await answer(request.params)

    async def _sample(self, params: Any) -> CreateMessageResult:
        assert self._sampling is not None
        request = _read(params, CreateMessage)
        if not self._sampling_tools and (request.tools or request.tool_choice):
            # 2025-11-25, sampling: tools for a client without `sampling.tools` are an error.
            raise own_error("invalid_params", "Invalid params: tools are not declared here")
        result: CreateMessageResult | str = await _settled(self._sampling(request))
        if isinstance(result, str):
            content = TextContent(text=result)
            return CreateMessageResult(role="assistant", content=content, model=UNNAMED_MODEL)
        return result

    async def _elicit(self, params: Any) -> ElicitResult:
        assert self._elicitation is not None
        mode = _read(params, _Mode).mode
        if mode not in self._modes:
            # 2025-11-25, elicitation: -32602 for a mode that was not declared.
            raise own_error("invalid_params", f"Invalid params: no elicitation by {mode[:40]}")
        request: ElicitForm | ElicitUrlParams
        request = _read(params, ElicitUrlParams) if mode == "url" else _read(params, ElicitForm)
        result: ElicitResult | dict[str, Any] | None
        result = await _settled(self._elicitation(request))
        if result is None:
            return ElicitResult(action="decline")
        if isinstance(result, dict):
            result = ElicitResult(action="accept", content=result)
        if result.action != "accept" or isinstance(request, ElicitUrlParams):
            return replace(result, content=None)
        return replace(result, content={**defaults_in(request), **(result.content or {})})

    async def _list_roots(self, params: Any) -> ListRootsResult:
        roots = await _settled(self._roots()) if callable(self._roots) else self._roots
        return ListRootsResult(roots=[_root(each) for each in roots or ()])


def defaults_in(form: ElicitForm) -> dict[str, Any]:
    """Return the default values of a form's fields (2025-11-25, elicitation)."""
    properties = form.requested_schema.get("properties")
    if not isinstance(properties, dict):
        return {}
    return {
        name: field["default"]
        for name, field in properties.items()
        if isinstance(field, dict) and "default" in field
    }


def _root(root: Root | str | Path) -> Root:
    if isinstance(root, Root):
        return root
    if isinstance(root, Path):
        return Root(uri=root.absolute().as_uri(), name=root.name)
    return Root(uri=root)


async def _settled(value: Any) -> Any:
    return await value if isawaitable(value) else value


def _read(params: Any, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(b"{}" if params is UNSET else params, type=kind)
    except REFUSALS as error:
        raise own_error("invalid_params", f"Invalid params: {error}") from None


log = logging.getLogger("accord.mcp")

ProgressHandler: TypeAlias = Callable[[ProgressParams], Any]
LogHandler: TypeAlias = Callable[[LogParams], Any]

LIST_CHANGES = (
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
)
TASK_CHANGES = ("notifications/tasks", "notifications/tasks/status")


class NotificationMeta(Struct, frozen=True):
    subscription: int | str | UnsetType = field(name=SUBSCRIPTION_ID, default=UNSET)


class News(Struct, frozen=True):
    """The params of a change notification: the change, and its subscription."""

    uri: str = ""
    task: str = field(name="taskId", default="")
    status: str = ""
    notifications: Raw | UnsetType = UNSET
    meta: NotificationMeta = field(name="_meta", default=NotificationMeta())


class NotificationReader(Protocol):
    """A receiver of change notifications."""

    def read(self, method: str, news: News) -> None:
        """Handle a notification. Must not raise."""


class _TrackedCall:
    """A request in flight whose progress the server may report."""

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
            "ping": lambda _params, _context: {},
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

        The token is unique among the requests in flight (2026-07-28, progress).
        """
        token = next(self._tokens)
        self._tracked[token] = _TrackedCall(handler or self._progress)
        return token

    def sent(self, token: ProgressToken, call: Call) -> None:
        """Register the call that was sent with the progress token `token`.

        Each progress report with this token then extends the timeout of the call.
        """
        self._tracked[token].call = call

    def untrack(self, token: ProgressToken) -> None:
        self._tracked.pop(token, None)

    def _progressed(self, params: Any, context: Context | None) -> Any:
        progress = _decode_notification(_decode_progress, params)
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
        news = _decode_notification(_decode_news, params)
        if news is not None:
            for reader in tuple(self._readers):
                reader.read(context.method, news)

    def _logged(self, params: Any, context: Context | None) -> Any:
        message = _decode_notification(_decode_log, params)
        return None if message is None or self._logging is None else self._logging(message)

    # Questions

    def _asked_for(self, params: Any, context: Context | None) -> Any:
        assert context is not None
        has_none = params is UNSET or bytes(params) == b"null"
        method = context.method
        request = InputRequest(method) if has_none else InputRequest(method, params)
        return self._asked.answer(request)

    def _cancelled(self, params: Any, context: Context | None) -> None:
        cancelled = _decode_notification(_decode_cancelled, params)
        if cancelled is None or cancelled.request_id is UNSET or context is None:
            return
        log.debug("the server cancels: %s", log_line(cancelled.reason))
        if context.peer is not None:
            context.peer.cancel_incoming(cancelled.request_id)


def _request_error(fault: RequestFault, params: Any, _context: Context) -> RpcError:
    of = params if isinstance(params, RpcError) else None
    return request_error(fault, era=Era.HANDSHAKE, profile="standard", of=of)


def _checked(plan: Plan) -> Plan:
    """Wrap a plan (the handler of a method), to refuse params with duplicate members."""

    def call(params: Any, context: Context | None) -> Any:
        if params is not UNSET:
            try:
                check_members(params)
            except REFUSALS as error:
                raise own_error("invalid_params", f"Invalid params: {error}") from None
        return plan(params, context)

    return call


def _decode_notification(decode: Callable[[Any], Any], params: Any) -> Any:
    """Return the params of a notification; None for malformed ones, which are logged."""
    try:
        return decode(b"{}" if params is UNSET or bytes(params) == b"null" else params)
    except REFUSALS as error:
        log.warning("a malformed notification is dropped: %s", log_line(str(error)))
        return None
