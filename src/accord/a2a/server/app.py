"""`AgentApp`: an agent as a web application, in both wire formats at one URL.

    head ──▶ gate ──▶ body: a request of JSON-RPC ──▶ the format of its version
      ├─ one answer                    send, get, cancel, webhooks
      └─ a stream of events            stream, subscribe

The gate decides by the head alone: the card, a refusal, or an admitted request. `Authenticate` is
provided by the application, and must depend on the headers only. The backend runs the tasks.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs
from uuid import uuid4

from msgspec import UNSET, Struct
from msgspec.structs import replace

from accord.a2a.protocol.card import WELL_KNOWN, AgentCard, card_wire, encode_card
from accord.a2a.protocol.errors import DOMAIN, ERROR_INFO, failure
from accord.a2a.protocol.fields import METHODS, VERBS, VERSION, Verb, Wire, wire_asked
from accord.a2a.protocol.formats import FORMATS, UNREADABLE, V10
from accord.a2a.protocol.model import RESTING, TERMINAL, Answer, Event, Message, PushQuery, Task
from accord.a2a.protocol.wire import WireFormat
from accord.a2a.server.backend import Backend
from accord.jsonrpc.protocol.codec import decode
from accord.jsonrpc.protocol.errors import (
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotFoundError,
    RpcError,
)
from accord.jsonrpc.protocol.framing import KEEP_ALIVE, encode_event
from accord.jsonrpc.protocol.messages import (
    ErrorObject,
    Failure,
    Id,
    Invalid,
    Notification,
    Request,
    Success,
    encode,
)
from accord.transports.http.heads import WebRequest
from accord.transports.http.replies import Reply, failure_reply, page_reply, text_reply
from accord.transports.http.web_app import JSON, Exchange, LivingApp, Stream
from accord.transports.pages import Page, etag_of
from accord.transports.urls import names_server, origin_allowed

Authenticate: TypeAlias = Callable[[Mapping[str, str]], str | None]
"""A function that returns the caller for the headers of a request; None refuses the request."""
MakeCard: TypeAlias = Callable[[str], AgentCard]
"""A function that returns the agent's card for clients that reach the agent at one origin.

The argument is the origin (scheme, host and port). The origin is empty if the card has a URL of its
own.
"""

CARD_SECONDS: Final = 300
MISDIRECTED: Final = text_reply(
    421,
    "this server does not know the host that was asked for: ask by the address that it listens on, "
    "or configure the URL that clients use",
)
"""The answer to a request for the card whose host name is not an address of this server."""
_CONTENT_TYPES: Final = frozenset(("application/json", "application/a2a+json"))
CHALLENGE: Final = b'www-authenticate: Bearer realm="agent"\r\n'


class AdmittedCall(Struct, frozen=True):
    """The facts about an admitted request."""

    version: str
    """The protocol version that the client names."""
    caller: str
    correlation_id: str


class RequestGate:
    """A gate that admits or refuses requests by their heads."""

    def __init__(
        self, cards: MakeCard, authenticate: Authenticate | None, *, has_url: bool = False
    ) -> None:
        """Create the gate; `has_url` is true if all cards name the same fixed URL."""
        self._cards = cards
        self._has_url = has_url
        self._authenticate = authenticate

    def judge(self, request: WebRequest) -> Reply | AdmittedCall:
        host = request.fields.get("host", "")
        origin = request.fields.get("origin")
        if not origin_allowed(origin, host=host, allowed=None, loopback=request.loopback):
            return text_reply(403, "web pages of others may not ask this agent")
        if request.path == WELL_KNOWN or f"/{request.place}" == WELL_KNOWN:
            if not self._has_url and not names_server(host, bound=request.bound):
                return MISDIRECTED
            return self._card(request, "" if self._has_url else request.bound)
        if request.place != "":
            return text_reply(404, f"the agent is not here; its card is at {WELL_KNOWN}")
        return self._enter(request)

    def _card(self, request: WebRequest, bound: str) -> Reply:
        if request.method not in ("GET", "HEAD"):
            return text_reply(405, "the card can be read", b"allow: GET, HEAD\r\n")
        card = self._cards(bound)
        body = encode_card(card, card_wire(card, version_of(request)))
        page = Page(
            body=body,
            media_type="application/json",
            etag=etag_of(body),
            headers=(
                ("cache-control", f"public, max-age={CARD_SECONDS}"),
                ("vary", VERSION.lower()),
            ),
        )
        reply = page_reply(page, request.fields.get("if-none-match"))
        return replace(reply, head_only=request.method == "HEAD")

    def _enter(self, request: WebRequest) -> Reply | AdmittedCall:
        if request.method != "POST":
            return text_reply(405, "requests are sent by POST", b"allow: POST\r\n")
        media_type = request.fields.get("content-type", "").partition(";")[0].strip().lower()
        if media_type not in _CONTENT_TYPES:
            return text_reply(415, "the body of a request is application/json")
        caller = "" if self._authenticate is None else self._authenticate(request.fields)
        if caller is None:
            return text_reply(401, "credentials are missing or wrong", CHALLENGE)
        return AdmittedCall(
            version=version_of(request),
            caller=caller,
            correlation_id=request.fields.get("x-correlation-id", "")[:128],
        )


def version_of(request: WebRequest) -> str:
    """Return the version of the protocol that a request asks for."""
    # 1.0, section 3.6.1: the header, or a parameter of the same name
    version = request.fields.get(VERSION, "")
    return version or parse_qs(request.query).get(VERSION, [""])[0]


def by_token(token: str) -> Authenticate:
    """Return an `Authenticate` that admits requests with this bearer token."""
    expected = f"Bearer {token}".encode()

    def authenticate(headers: Mapping[str, str]) -> str | None:
        presented = headers.get("authorization", "").encode("latin-1", "replace")
        return "token" if hmac.compare_digest(presented, expected) else None

    return authenticate


log = logging.getLogger("accord.a2a")

MAX_IN_FLIGHT: Final = 1_000
"""The limit of requests in flight; further requests are answered 503."""
KEEP_ALIVE_SECONDS: Final = 15.0
_STREAM_HEADERS: Final = b"content-type: text/event-stream\r\ncache-control: no-store\r\n"
BUSY: Final = text_reply(503, "too many requests are being answered", b"retry-after: 1\r\n")
_STREAMS: Final = frozenset((Verb.STREAM, Verb.SUBSCRIBE))
_PUSHES: Final = frozenset((Verb.SET_PUSH, Verb.GET_PUSH, Verb.LIST_PUSH, Verb.DELETE_PUSH))
_OWN_CODES: Final = frozenset((-32700, -32600, -32601, -32602, -32603))


class AgentApp(LivingApp[AdmittedCall]):
    """A web application that serves a backend; implements `LivingApp`."""

    def __init__(
        self,
        backend: Backend,
        cards: MakeCard,
        *,
        wires: Sequence[Wire] = tuple(Wire),
        authenticate: Authenticate | None = None,
        has_url: bool = False,
    ) -> None:
        """Create the app; `has_url` is true if all cards name the same fixed URL."""
        self._backend = backend
        self._gate = RequestGate(cards, authenticate, has_url=has_url)
        self._answering = RequestRunner(wires)

    # The methods of `LivingApp`

    def judge(self, request: WebRequest) -> Reply | AdmittedCall:
        return self._gate.judge(request)

    def too_large(self, request: WebRequest, most: int) -> Reply:
        why = f"the message is over the limit of {most:,} bytes"
        return failure_reply(413, InvalidRequestError(why))

    def handle(self, judged: AdmittedCall, body: bytes, exchange: Exchange) -> None:
        self._answering.answer(self._backend, judged, body, exchange)

    async def start(self) -> None:
        """Do nothing: there is nothing to start."""

    async def close(self, drain: float) -> None:
        """End tasks first, which ends their streams, then the requests in flight."""
        await self._backend.close(drain)
        await self._answering.close()


class RequestRunner:
    """A runner of JSON-RPC requests to a backend; it tracks requests in flight."""

    def __init__(self, wires: Sequence[Wire] = tuple(Wire)) -> None:
        self._wires = wires
        self._in_flight: set[asyncio.Task[None]] = set()

    def answer(
        self,
        backend: Backend,
        entered: AdmittedCall,
        body: bytes,
        exchange: Exchange,
        lines: Callable[[], bytes] = bytes,
    ) -> None:
        """Answer a request; `lines` returns additional header lines for the answer."""
        message = decode(body, max_items=0)
        handler = AgentExchange(backend, self._wires, entered, exchange, lines)
        match message:
            case Request() | Notification():
                if len(self._in_flight) >= MAX_IN_FLIGHT:
                    exchange.reply(BUSY.body, status=BUSY.status, headers=BUSY.headers)
                    return
                task = asyncio.get_running_loop().create_task(handler.serve(message))
                self._track(task, exchange)
            case Invalid(oversized=True):
                handler.fail(None, InvalidRequestError("batches are not taken here"))
            case Invalid(error=error, id=id, response=False):
                handler.fail(id, error)
            case _:
                handler.fail(None, InvalidRequestError("a response is not asked for here"))

    def _track(self, task: asyncio.Task[None], exchange: Exchange) -> None:
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)

        def gone() -> None:
            task.cancel()

        exchange.on_gone = gone

    async def close(self) -> None:
        """Wait briefly for requests in flight, then cancel them."""
        if self._in_flight:
            _, late = await asyncio.wait(self._in_flight, timeout=1.0)
            for task in late:
                task.cancel()


class AgentExchange:
    """One request: reading its body, running it, writing the answer or stream."""

    def __init__(
        self,
        backend: Backend,
        wires: Sequence[Wire],
        entered: AdmittedCall,
        exchange: Exchange,
        lines: Callable[[], bytes],
    ) -> None:
        self._more_lines = lines
        self._backend = backend
        self._wires = wires
        self._caller = entered.caller
        self._version = entered.version
        self._exchange = exchange
        self._correlation_id = _printable(entered.correlation_id) or str(uuid4())

    async def serve(self, request: Request | Notification) -> None:
        # A2A has no notifications: a request without an id is answered with id null.
        id = request.id if isinstance(request, Request) else None
        try:
            wire, verb = self._format_and_verb(request.method)
            params = b"{}" if request.params is UNSET else bytes(request.params)
            if verb in _STREAMS:
                await self._stream(id, wire, verb, params)
            else:
                result = await self._result(wire, verb, params)
                self._reply(encode(Success(id, result)))
        except UNREADABLE as error:
            self.fail(id, InvalidParamsError(f"Invalid params: {error}"))
        except Exception as error:  # noqa: BLE001 - the backend is foreign code
            self.fail(id, error)

    def _format_and_verb(self, method: str) -> tuple[Wire, Verb]:
        """Return the format of a request, and the verb of its method.

        Raises RpcError if the version or the method is not supported.
        """
        wire = wire_asked(self._version)
        if wire is None or wire not in self._wires:
            raise failure(
                "VERSION_NOT_SUPPORTED",
                f"{VERSION} must be one of: {', '.join(self._wires)}",
                requested=self._version[:40],
            )
        verb = VERBS[wire].get(method)
        if verb is not None:
            return wire, verb
        if wire is Wire.V03 and Wire.V10 in self._wires and method in VERBS[Wire.V10]:
            raise failure(
                "VERSION_NOT_SUPPORTED", f"{method} needs the header {VERSION}: {Wire.V10.value}"
            )
        names = ", ".join(METHODS[wire].values())
        raise MethodNotFoundError(f"Method not found: {method[:100]!r}; there are: {names}")

    # One answer

    async def _result(self, wire: Wire, verb: Verb, params: bytes) -> Any:
        form, backend, caller = FORMATS[wire], self._backend, self._caller
        if verb in _PUSHES and not backend.takes_webhooks:
            raise failure("PUSH_NOTIFICATION_NOT_SUPPORTED")
        match verb:
            case Verb.SEND:
                return await self._send(form, params)
            case Verb.GET:
                query = form.read_task_query(params)
                task = await backend.get(query.id, caller)
                return form.task(task.with_history(query.history_length))
            case Verb.CANCEL:
                return form.task(await backend.cancel(form.read_task_query(params).id, caller))
            case Verb.LIST:
                return await self._list(params)
            case Verb.SET_PUSH:
                push = form.read_push_params(params)
                return form.push(await backend.set_push(push, caller))
            case Verb.GET_PUSH:
                return await self._get_push(form, form.read_push_query(params))
            case Verb.LIST_PUSH:
                return form.pushes(await backend.list_push(form.read_push_query(params), caller))
            case Verb.DELETE_PUSH:
                await backend.delete_push(form.read_push_query(params), caller)
                return form.nothing()
            case _:
                raise _no_extended_card(wire)

    async def _send(self, form: WireFormat, params: bytes) -> Any:
        send = form.read_send(params)
        answer = await self._backend.send(send, self._caller)
        if isinstance(answer, Message):
            return form.answer(answer)
        if send.blocking:
            answer = await self._await_rest(answer)
        return form.answer(answer.with_history(send.history_length))

    async def _await_rest(self, task: Task) -> Task:
        async with aclosing(self._backend.follow(task.id, self._caller, RESTING)) as events:
            async for _ in events:
                pass
        return await self._backend.get(task.id, self._caller)

    async def _list(self, params: bytes) -> Any:
        query = V10.read_list_query(params)
        page = await self._backend.list(query, self._caller)
        return V10.tasks(
            page.tasks, next_page=page.next_page, size=len(page.tasks), total=page.total
        )

    async def _get_push(self, form: WireFormat, query: PushQuery) -> Any:
        for push in await self._backend.list_push(query, self._caller):
            return form.push(push)
        raise failure("TASK_NOT_FOUND", "The task has no such webhook")

    # A stream of events

    async def _stream(self, id: Id, wire: Wire, verb: Verb, params: bytes) -> None:
        form = FORMATS[wire]
        async with aclosing(await self._events(wire, verb, form, params)) as events:
            # Before the stream starts: an error up to here is still an ordinary answer.
            first = await anext(events)
            stream = self._exchange.stream(headers=_STREAM_HEADERS + self._lines())
            alive = _KeepAlive(stream)
            try:
                stream.write(encode_event(encode(Success(id, form.event(first)))))
                async for event in events:
                    stream.write(encode_event(encode(Success(id, form.event(event)))))
            finally:
                alive.stop()
                stream.close()

    async def _events(
        self, wire: Wire, verb: Verb, form: WireFormat, params: bytes
    ) -> AsyncGenerator[Event, None]:
        if verb is Verb.STREAM:
            # a stream ends when the task rests
            send = replace(form.read_send(params), blocking=True)
            answer = await self._backend.send(send, self._caller)
            if isinstance(answer, Message):
                return _single_event(answer)
            events = self._backend.follow(answer.id, self._caller, RESTING)
            return _with_history(events, send.history_length)
        task = await self._backend.get(form.read_task_query(params).id, self._caller)
        if task.status.state in TERMINAL:
            # 1.0, section 3.1.6: a task that is over cannot be subscribed to.
            raise failure("UNSUPPORTED_OPERATION", "The task is over", taskId=task.id)
        # 0.3 marks the last event as final, and a waiting task counts as final.
        until = RESTING if wire is Wire.V03 else TERMINAL
        return self._backend.follow(task.id, self._caller, until)

    # Answers

    def fail(self, id: Id, error: Exception) -> None:
        sent_error = self._wire_error(error)
        data = sent_error.data if isinstance(sent_error.data, list) else UNSET
        self._reply(encode(Failure(id, ErrorObject(sent_error.code, sent_error.message, data))))

    def _wire_error(self, error: Exception) -> RpcError:
        """Return the error to send to the client.

        Errors that neither JSON-RPC nor A2A defines become internal errors: Accord's own codes have
        other meanings in A2A.
        """
        if isinstance(error, RpcError):
            if error.code in _OWN_CODES or isinstance(error.data, list):
                return error
            return InternalError(error.message, data=self._details("INTERNAL"))
        log.error(
            "a request could not be served",
            exc_info=error,
            extra={"correlation_id": self._correlation_id},
        )
        return InternalError(data=self._details("INTERNAL"))

    def _details(self, reason: str) -> list[dict[str, Any]]:
        metadata = {"correlationId": self._correlation_id}
        return [{"@type": ERROR_INFO, "reason": reason, "domain": DOMAIN, "metadata": metadata}]

    def _reply(self, body: bytes) -> None:
        self._exchange.reply(body, headers=JSON + self._lines())

    def _lines(self) -> bytes:
        line = b"x-correlation-id: %b\r\n" % self._correlation_id.encode("ascii")
        return line + self._more_lines()


class _KeepAlive:
    """A keep-alive: sends a comment on a stream every `KEEP_ALIVE_SECONDS`."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(KEEP_ALIVE_SECONDS, self._beat)

    def _beat(self) -> None:
        self._stream.write(KEEP_ALIVE)
        self._timer = self._loop.call_later(KEEP_ALIVE_SECONDS, self._beat)

    def stop(self) -> None:
        self._timer.cancel()


async def _single_event(answer: Answer) -> AsyncGenerator[Event, None]:
    yield answer


async def _with_history(
    events: AsyncGenerator[Event, None], length: int | None
) -> AsyncGenerator[Event, None]:
    """Limit the history of the tasks in a stream to `length` messages."""
    async with aclosing(events):
        async for event in events:
            yield event.with_history(length) if isinstance(event, Task) else event


def _no_extended_card(wire: Wire) -> RpcError:
    # 1.0, section 3.3.4: an agent that does not declare one cannot do this; 0.3 has a code for it.
    if wire is Wire.V03:
        return failure("EXTENDED_AGENT_CARD_NOT_CONFIGURED")
    return failure("UNSUPPORTED_OPERATION", "There is no extended agent card")


def _printable(text: str) -> str:
    return text if text.isascii() and text.isprintable() else ""
