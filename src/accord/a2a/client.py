"""`Client` for one agent over HTTP, and `call`, which waits for the result.

    card (once, unless the format is given) ──▶ interface: URL and format
    send ──▶ Task or Message          get ──▶ Task          cancel ──▶ Task
    stream, subscribe ──▶ events, while they come

All methods raise `CallError`: `DefiniteError` if the agent did not do the work,
`UnknownOutcomeError` if the agent may have done the work: then repeat the call with the same
message id.

`call` is for programs that can wait: it sends a message, polls until the task has ended, and
returns the result. A program that must survive a crash stores the agent's task id and continues
with `Client.get`.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from accord.a2a.exchange import POOL, Auth, Exchanger, check_status
from accord.a2a.protocol.addresses import AddressPolicy
from accord.a2a.protocol.calls import (
    MAX_BODY_KEPT,
    ReceivedAnswer,
    ReceivedEvent,
    message_of,
    messages_in,
    push_request,
    read_answer,
    read_event,
    read_result,
    send_request,
    set_push_request,
    task_request,
)
from accord.a2a.protocol.card import WELL_KNOWN, AgentCard, read_card
from accord.a2a.protocol.errors import (
    TASK_NOT_FOUND,
    AgentError,
    CallError,
    MalformedAnswerError,
    RefusedError,
    UnknownOutcomeError,
)
from accord.a2a.protocol.fields import VERSION, Verb, Wire
from accord.a2a.protocol.formats import FORMATS
from accord.a2a.protocol.model import (
    Answer,
    Event,
    Message,
    PushConfig,
    PushQuery,
    Send,
    Task,
    TaskPush,
    TaskQuery,
    Unrecognized,
)
from accord.a2a.protocol.outcome import (
    MAX_UNCLEAR,
    DoneOutcome,
    FailedOutcome,
    TaskResult,
    UnclearOutcome,
    WaitingOutcome,
    WorkingOutcome,
    error_result,
    outcome_of,
    poll_intervals,
    success_result,
)
from accord.jsonrpc.protocol.errors import ConnectError
from accord.jsonrpc.protocol.framing import SseDecoder
from accord.transports.urls import WebAddress, parse_web_address

Direction: TypeAlias = Literal["sent", "received"]


class Trace(Struct, frozen=True, kw_only=True):
    correlation_id: str = ""
    traceparent: str = ""
    """The value of the header `traceparent` (W3C Trace Context)."""
    tell: Callable[[Direction, bytes], None] | None = None
    """A function that is called with every body sent or received, to log it."""

    @property
    def headers(self) -> dict[str, str]:
        headers = {"x-correlation-id": self.correlation_id, "traceparent": self.traceparent}
        return {name: value for name, value in headers.items() if value}


log = logging.getLogger("accord.a2a")

TIMEOUT_SECONDS: Final = 30.0
MAX_BYTES: Final = 8 * 1024 * 1024
EVENT_STREAM: Final = "text/event-stream"

_JSON: Final = {"accept": "application/json", "content-type": "application/json"}
_STREAM: Final = {"accept": EVENT_STREAM, "content-type": "application/json"}
NO_TRACE: Final = Trace()


class Reached(Struct, frozen=True):
    """The interface of an agent that requests are sent to: URL, format and tenant."""

    address: WebAddress
    wire: Wire
    tenant: str = ""


class Client:
    """A client of the agent at `url`; use it as `async with Client(url) as client`.

    With a `wire`, requests are sent to `url` in this format; without it, the URL and the format of
    requests are read from the agent's card. `timeout` is for one request, and for the silence
    between two events of a stream. At most `pool` idle connections are kept open.
    """

    def __init__(
        self,
        url: str,
        *,
        wire: Wire | None = None,
        auth: Auth | None = None,
        policy: AddressPolicy = AddressPolicy(),  # noqa: B008 - it is a frozen value
        timeout: float = TIMEOUT_SECONDS,
        max_bytes: int = MAX_BYTES,
        pool: int = POOL,
        headers: Mapping[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._address = _parse(url)
        self._wire = wire
        self._auth = {} if auth is None else auth.headers
        self._headers = {} if headers is None else dict(headers)
        self._settings: dict[str, Any] = {
            "policy": policy,
            "tls": tls,
            "timeout": timeout,
            "max_bytes": max_bytes,
            "pool": pool,
        }
        self._max_bytes = max_bytes
        self._exchanger: Exchanger
        self._card: AgentCard | None = None
        self._reached = None if wire is None else Reached(self._address, wire)
        self._asked = 0
        self._asking_card = asyncio.Lock()

    async def __aenter__(self) -> Client:
        self._exchanger = Exchanger(**self._settings)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._exchanger.close()

    # Who the agent is

    async def card(self, *, trace: Trace = NO_TRACE) -> AgentCard:
        """Return the agent's card, fetched once."""
        async with self._asking_card:
            if self._card is None:
                self._card = await self._find_card(trace)
            return self._card

    async def reached(self, *, trace: Trace = NO_TRACE) -> Reached:
        """Return the interface of the agent that requests are sent to.

        The interface is read from the card, unless `wire` was given.
        """
        if self._reached is None:
            found = (await self.card(trace=trace)).interface()
            if found is None:
                raise RefusedError("card", "the agent's card names no interface of JSON-RPC")
            interface, wire = found
            self._reached = Reached(_parse(interface.url), wire, interface.tenant)
        return self._reached

    async def _find_card(self, trace: Trace) -> AgentCard:
        places = _card_urls(self._address)
        for place in places[:-1]:
            try:
                return await self._get_card(place, trace)
            except RefusedError as error:
                if error.code != "http_404":
                    raise
        return await self._get_card(places[-1], trace)

    async def _get_card(self, place: WebAddress, trace: Trace) -> AgentCard:
        headers = {**self._headers, **self._auth, **trace.headers, "accept": "application/json"}
        body = await self._exchanger.ask("GET", place, headers)
        try:
            return read_card(body)
        except ValueError as error:
            raise MalformedAnswerError(str(error), body=body[:MAX_BODY_KEPT]) from None

    # Messages

    async def send(
        self,
        input: Any,
        *,
        id: str,
        message_id: str,
        blocking: bool = True,
        context_id: str = "",
        task_id: str = "",
        history_length: int | None = None,
        push: PushConfig | None = None,
        trace: Trace = NO_TRACE,
    ) -> Answer | Unrecognized:
        """Have the agent work on `input`, a value or a `Message`.

        `id` is the id of the request, `task_id` the id of an agent's task to continue. Unless
        `blocking`, the agent is asked to answer at once, with a task to `get` later.
        """
        received = await self.send_message(
            input,
            id=id,
            message_id=message_id,
            blocking=blocking,
            context_id=context_id,
            task_id=task_id,
            history_length=history_length,
            push=push,
            trace=trace,
        )
        return received.answer

    async def send_message(
        self,
        input: Any,
        *,
        id: str,
        message_id: str,
        blocking: bool = True,
        context_id: str = "",
        task_id: str = "",
        history_length: int | None = None,
        push: PushConfig | None = None,
        trace: Trace = NO_TRACE,
    ) -> ReceivedAnswer:
        """Send as `send` does. Return the answer with its raw result and warnings."""
        message = _message(input, message_id, context_id, task_id)
        send = Send(message=message, blocking=blocking, history_length=history_length, push=push)
        reached = await self.reached(trace=trace)
        request = send_request(reached.wire, id, _for(reached, send))
        body = await self._post(reached, request, id, trace)
        return read_answer(body, id, reached.wire)

    async def stream(
        self,
        input: Any,
        *,
        id: str,
        message_id: str,
        context_id: str = "",
        task_id: str = "",
        trace: Trace = NO_TRACE,
    ) -> AsyncIterator[Event | Unrecognized]:
        """Send a message and yield its events.

        An event outside the protocol is yielded as `Unrecognized`.
        """
        message = _message(input, message_id, context_id, task_id)
        reached = await self.reached(trace=trace)
        request = send_request(reached.wire, id, _for(reached, Send(message=message)), stream=True)
        async for event in self._follow(reached, request, id, trace):
            yield event

    # Tasks

    async def get(
        self, task_id: str, *, history_length: int | None = None, trace: Trace = NO_TRACE
    ) -> Task:
        """Return a task.

        Raises UnknownOutcomeError if the agent no longer knows it.
        """
        received = await self.get_task(task_id, history_length=history_length, trace=trace)
        return _task(received)

    async def get_task(
        self, task_id: str, *, history_length: int | None = None, trace: Trace = NO_TRACE
    ) -> ReceivedAnswer:
        """Return a task as `get` does, with its raw result and warnings.

        An agent may answer with a message instead of its task.
        """
        reached = await self.reached(trace=trace)
        query = TaskQuery(id=task_id, history_length=history_length, tenant=reached.tenant)
        try:
            return await self._ask_task(reached, Verb.GET, query, trace)
        except AgentError as error:
            if error.code != TASK_NOT_FOUND:
                raise
            why = f"the agent does not know its task any more: {error.message}"
            raise UnknownOutcomeError(error.code, why) from error

    async def cancel(self, task_id: str, *, trace: Trace = NO_TRACE) -> Task:
        """Cancel a task. Return the task, which may have ended otherwise."""
        reached = await self.reached(trace=trace)
        query = TaskQuery(id=task_id, tenant=reached.tenant)
        return _task(await self._ask_task(reached, Verb.CANCEL, query, trace))

    async def subscribe(
        self, task_id: str, *, trace: Trace = NO_TRACE
    ) -> AsyncIterator[Event | Unrecognized]:
        """Yield the current state of a task, then its events."""
        reached = await self.reached(trace=trace)
        id = self._next_id()
        query = TaskQuery(id=task_id, tenant=reached.tenant)
        request = task_request(reached.wire, id, Verb.SUBSCRIBE, query)
        async for event in self._follow(reached, request, id, trace):
            yield event

    # Webhooks. What arrives there is a hint to `get` the task, and nothing more: agents send it
    # in either format, late, twice, or not at all, and anybody could.

    async def set_push(
        self, task_id: str, config: PushConfig, *, trace: Trace = NO_TRACE
    ) -> PushConfig:
        """Register a webhook for the events of a task."""
        reached = await self.reached(trace=trace)
        id = self._next_id()
        request = set_push_request(reached.wire, id, TaskPush(task_id=task_id, config=config))
        body = await self._post(reached, request, id, trace)
        return read_result(body, id, FORMATS[reached.wire].read_push)

    async def delete_push(self, task_id: str, config_id: str, *, trace: Trace = NO_TRACE) -> None:
        reached = await self.reached(trace=trace)
        id = self._next_id()
        query = PushQuery(task_id=task_id, config_id=config_id)
        request = push_request(reached.wire, id, Verb.DELETE_PUSH, query)
        body = await self._post(reached, request, id, trace)
        read_result(body, id, lambda _: None)

    # Requests

    def _next_id(self) -> str:
        self._asked += 1
        return str(self._asked)

    async def _ask_task(
        self, reached: Reached, verb: Verb, query: TaskQuery, trace: Trace
    ) -> ReceivedAnswer:
        id = self._next_id()
        request = task_request(reached.wire, id, verb, query)
        body = await self._post(reached, request, id, trace)
        return read_answer(body, id, reached.wire, task=True)

    async def _post(self, reached: Reached, request: bytes, id: str, trace: Trace) -> bytes:
        headers = self._sent(reached, trace, _JSON)
        if trace.tell is None:
            return await self._exchanger.ask("POST", reached.address, headers, request, id=id)
        trace.tell("sent", request)
        body = await self._exchanger.ask("POST", reached.address, headers, request, id=id)
        trace.tell("received", body)
        return body

    async def _follow(
        self, reached: Reached, request: bytes, id: str, trace: Trace
    ) -> AsyncIterator[Event | Unrecognized]:
        headers = self._sent(reached, trace, _STREAM)
        async with self._exchanger.open(reached.address, headers, request) as response:
            if response.status != 200 or response.content_type != EVENT_STREAM:
                body = await self._exchanger.read(response)
                check_status(response, body, id)
                yield _parse_event(read_event(body, id, reached.wire))  # usually an error
                return
            decoder = SseDecoder(self._max_bytes)
            while chunk := await self._exchanger.receive(response):
                for event in decoder.feed(chunk):
                    for message in messages_in(event.data):
                        yield _parse_event(read_event(message, id, reached.wire))
            # Some agents leave out the blank line that ends the last event.
            for event in decoder.feed(b"\n\n"):
                for message in messages_in(event.data):
                    try:
                        last = read_event(message, id, reached.wire)
                    except MalformedAnswerError:
                        log.warning("a stream ended within an event")
                        return
                    log.warning("an event of a stream: no blank line ends it")
                    yield _parse_event(last)

    def _sent(self, reached: Reached, trace: Trace, headers: Mapping[str, str]) -> dict[str, str]:
        version = {VERSION: reached.wire.value} if reached.wire is not Wire.V03 else {}
        sent = {**self._headers, **trace.headers, **headers, **version}
        if not self._auth:
            return sent
        # The card is the agent's word: it must not redirect credentials to another origin.
        if _origin(reached.address) != _origin(self._address):
            raise RefusedError(
                "card",
                f"the agent's card sends requests to {reached.address}, elsewhere than where "
                "its credentials are for: register that URL",
            )
        return {**sent, **self._auth}


def _for(reached: Reached, send: Send) -> Send:
    if not reached.tenant:
        return send
    return Send(
        message=send.message,
        blocking=send.blocking,
        history_length=send.history_length,
        push=send.push,
        tenant=reached.tenant,
    )


def _task(received: ReceivedAnswer) -> Task:
    if not isinstance(received.answer, Task):
        raise MalformedAnswerError(
            "the agent was asked for its task, and answered something else",
            body=received.result[:MAX_BODY_KEPT],
        )
    return received.answer


def _parse_event(received: ReceivedEvent) -> Event | Unrecognized:
    for warning in received.warnings:
        log.warning("an event of a stream: %s", warning)
    return received.event


def _message(input: Any, message_id: str, context_id: str, task_id: str) -> Message:
    if isinstance(input, Message):
        return input
    return message_of(input, message_id=message_id, context_id=context_id, task_id=task_id)


def _parse(url: str) -> WebAddress:
    try:
        address = parse_web_address(url)
    except ConnectError as error:
        raise RefusedError("url", error.message) from error
    if address.scheme not in ("http", "https"):
        raise RefusedError("url", f"agents are reached by http or https, not {address.scheme}")
    return address


def _card_urls(address: WebAddress) -> list[WebAddress]:
    """Return the URLs at which an agent's card may be, in order of trial.

    For a URL that ends in `.json` this is the URL itself, otherwise the well-known path below the
    URL and at the root of the host.
    """
    if address.path.endswith(".json"):
        return [address]
    paths = dict.fromkeys((address.path.rstrip("/") + WELL_KNOWN, WELL_KNOWN))
    return [WebAddress(address.scheme, address.host, address.port, path) for path in paths]


def _origin(address: WebAddress) -> tuple[str, str, int]:
    return address.scheme, address.host, address.port


WITHIN_SECONDS: Final = 3600.0


async def call(
    client: Client,
    input: Any,
    *,
    task_id: str,
    message_id: str,
    within: float = WITHIN_SECONDS,
    polls: Iterator[float] | None = None,
    trace: Trace = NO_TRACE,
) -> TaskResult:
    """Have an agent work on `input`; return its output or error as a result.

    A failed call raises no CallError: the result contains the error, which is also logged. `polls`
    yields the seconds to wait before each poll of the task. After `within` seconds the task is
    cancelled.
    """
    known: list[str] = []
    try:
        async with asyncio.timeout(within):
            return await _follow(client, input, task_id, message_id, polls, trace, known)
    except CallError as failed:
        return _failed(task_id, failed)
    except TimeoutError:
        await _stop(client, known, trace)
        return _failed(
            task_id, FailedOutcome("timeout", f"the agent was not done within {within:g} s")
        )


async def _follow(
    client: Client,
    input: Any,
    task_id: str,
    message_id: str,
    polls: Iterator[float] | None,
    trace: Trace,
    known: list[str],
) -> TaskResult:
    received = await client.send_message(
        input, id=task_id, message_id=message_id, blocking=False, trace=trace
    )
    polls = poll_intervals() if polls is None else polls
    unclear: DoneOutcome | None = None
    polls_done, remote = 0, ""
    while True:
        match outcome_of(received):
            case DoneOutcome() as done:
                return _done(task_id, done)
            case FailedOutcome() as failed:
                return _failed(task_id, failed)
            case WaitingOutcome(state=state, question=question):
                return error_result(task_id, FailedOutcome(state.name.lower(), question))
            case UnclearOutcome(task_id=remote, done=done):
                if polls_done == MAX_UNCLEAR:
                    return _done(task_id, done)
                polls_done, unclear = polls_done + 1, done
            case WorkingOutcome() as working:
                remote, polls_done, unclear = working.task_id, 0, None
        known[:] = [remote]  # for `call`, which cancels this task when time runs out
        await asyncio.sleep(next(polls))
        try:
            received = await client.get_task(remote, trace=trace)
        except CallError:
            if unclear is None:
                raise
            return _done(task_id, unclear)


def _done(task_id: str, done: DoneOutcome) -> TaskResult:
    if done.extracted.warning:
        log.warning("task %s: %s", task_id, done.extracted.warning)
    return success_result(task_id, done.extracted.output)


def _failed(task_id: str, failed: FailedOutcome | CallError) -> TaskResult:
    log.error("task %s: failed: %s (%s)", task_id, failed.message, failed.code)
    return error_result(task_id, failed)


async def _stop(client: Client, known: list[str], trace: Trace) -> None:
    for remote in known:
        try:
            await client.cancel(remote, trace=trace)
        except CallError as failed:
            log.info("the agent did not stop its task: %s", failed)
