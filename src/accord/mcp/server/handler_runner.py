"""Running handlers: contexts, deadlines, errors, and results encoded for each era.

All deadlines of an event loop share one timer, however many handlers run.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from threading import get_ident
from typing import Any, Final, TypeVar

from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from accord.jsonrpc.protocol.catalogue import CATALOGUE
from accord.jsonrpc.protocol.errors import RpcError, is_expected
from accord.jsonrpc.protocol.messages import encode
from accord.jsonrpc.runtime.threads import DeadlineTimer
from accord.mcp.protocol.content import SERVER_INFO
from accord.mcp.protocol.definitions import Implementation
from accord.mcp.protocol.messages import (
    COMPLETE,
    AnswerableParams,
    CallToolResult,
    GetPromptResult,
    Profile,
    ReadResourceResult,
    Result,
    failure,
)
from accord.mcp.protocol.versioned import result_in
from accord.mcp.protocol.versions import Era
from accord.mcp.server.components.content import error_result
from accord.mcp.server.components.resources import ResourceNotFoundError
from accord.mcp.server.context import Context
from accord.mcp.server.server_state import ServerState
from accord.mcp.server.session import Incoming

T = TypeVar("T")


class Deadlines:
    """The deadlines of all handlers that one server runs."""

    def __init__(self) -> None:
        self._watch: _Watch | None = None

    async def keep(
        self,
        work: Awaitable[T],
        seconds: float | None,
        late: Callable[[float], T],
        waits: Callable[[], bool],
    ) -> T:
        """Await `work` for at most `seconds`; after a timeout return `late(seconds)`.

        If `waits` returns true when the time is up, because the work waits for an answer of the
        client, it gets the same time again, because people are slow.
        """
        if seconds is None:
            return await work
        deadline = self.begin(seconds, waits)
        try:
            return await work
        except asyncio.CancelledError:
            if deadline.has_passed():
                return late(seconds)
            raise
        finally:
            deadline.end()

    def begin(self, seconds: float, waits: Callable[[], bool]) -> Deadline:
        """Return a deadline that cancels the current asyncio task after `seconds`.

        Nothing is cancelled if the deadline is ended earlier, by its `end`.
        """
        watch = self._watch
        # Asking for the running loop is slow; a current task on the known loop shows that it runs.
        task = None
        if watch is not None and watch.thread == get_ident():
            task = asyncio.current_task(watch.loop)
        if watch is None or task is None:
            watch = self._watch = _Watch(asyncio.get_running_loop())
            task = asyncio.current_task(watch.loop)
            assert task is not None
        when = watch.time() + seconds
        deadline = Deadline(task, when, seconds, waits, watch.running)
        watch.running.add(deadline)
        if when < watch.alarm.when:
            watch.alarm.set(when)
        return deadline


class Deadline(Struct, eq=False):
    """The deadline of one asyncio task."""

    task: asyncio.Task[Any]
    when: float
    seconds: float
    waits: Callable[[], bool]
    _among: set[Deadline]
    rung: bool = False

    def has_passed(self) -> bool:
        """Return whether only this deadline has cancelled the task, and undo that.

        If something else has cancelled the task too, it stays cancelled.
        """
        return self.rung and self.task.uncancel() == 0

    def end(self) -> None:
        self._among.discard(self)


class _Watch:
    """The tasks with deadlines on one event loop, and the alarm that they share."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.thread = get_ident()
        self.time = loop.time
        self.running: set[Deadline] = set()
        self.alarm = DeadlineTimer(loop, self._ring)

    def _ring(self) -> None:
        now = self.time()
        for each in self.running:
            if each.when > now or each.rung:
                continue
            if each.waits():
                each.when = now + each.seconds
            else:
                each.rung = True
                each.task.cancel()
        waiting = [each.when for each in self.running if not each.rung]
        if waiting:
            self.alarm.set(min(waiting))


def never() -> bool:
    """Return False; this is `waits` for work that never waits for the client."""
    return False


def too_large(result: Result, size: int, most: int, incoming: Incoming, profile: Profile) -> Result:
    """Return the replacement of a result that is larger than `most` bytes.

    The result of a tool is replaced by an error for the model. Raises RpcError for a resource or a
    prompt. Results of other methods are returned unchanged. `size` is the size of the result.
    """
    message = f"The result of {size:,} bytes is over the limit of {most:,}"
    if isinstance(result, CallToolResult):
        return error_result(f"{message}. Ask for less.")
    if isinstance(result, ReadResourceResult | GetPromptResult):
        raise failure("content_too_large", message, era=incoming.era, profile=profile, maxSize=most)
    return result


_COMPLETE: Final = b'"resultType":"complete",'


class ResultEncoder:
    """The encoder of one server's results, for clients of both eras."""

    def __init__(
        self,
        info: Implementation,
        *,
        max_bytes: int | None = None,
        profile: Profile = "standard",
    ) -> None:
        self._info = info
        self._max_bytes = max_bytes
        self._profile: Profile = profile
        self._meta = b'"_meta":{"%b":%b}' % (SERVER_INFO.encode(), encode(info))
        self._start = b"{" + _COMPLETE + self._meta
        self._more = self._start + b","

    def finish(self, result: Result, incoming: Incoming) -> Any:
        """Return the encoded result of this request.

        Raises RpcError if the contents of a resource or prompt are too large. While middleware is
        running, the result is returned unencoded.
        """
        if incoming.unfinished:
            return result
        is_usual = incoming.era is Era.STATELESS and result.result_type is COMPLETE
        if not is_usual:
            result = result_in(incoming.version, result)
        body = encode(result)
        most = self._max_bytes
        if most is not None and len(body) > most:
            result = too_large(result, len(body), most, incoming, self._profile)
            body = encode(result)
        if is_usual and result.meta is None and body != b"{}":
            return Raw(self._more + body[1:])  # as `_stateless` does
        return Raw(body if incoming.era is Era.HANDSHAKE else self._stateless(result, body))

    def _stateless(self, result: Result, body: bytes) -> bytes:
        """Add the members that the stateless era requires to an encoded result.

        These are the result type and the server's name (2026-07-28, overview).
        """
        is_complete = result.result_type == COMPLETE
        if result.meta is not None:
            body = encode(replace(result, meta={SERVER_INFO: self._info, **result.meta}))
            return b"{" + (_COMPLETE if is_complete else b"") + body[1:]
        if is_complete and body != b"{}":
            return self._more + body[1:]
        start = self._start if is_complete else b"{" + self._meta
        return start + (b"}" if body == b"{}" else b"," + body[1:])

    def finish_list(self, body: bytes) -> bytes:
        """Add the same members as `finish` to an encoded list."""
        return self._more + body[1:]


log = logging.getLogger("accord.mcp")


class HandlerRunner:
    """The runner of one server's handlers: contexts, deadlines, errors and results."""

    def __init__(self, server: ServerState) -> None:
        self.server = server
        self._asker = server.asker
        self.replies = ResultEncoder(
            server.info, max_bytes=server.limits.max_result_bytes, profile=server.codes
        )
        self.deadlines = Deadlines()

    def context(self, incoming: Incoming, params: AnswerableParams | None = None) -> Context:
        """Return the context of a handler; with `params` the handler may ask the client.

        Raises RpcError if the params carry the answers of another request.
        """
        if incoming.shared is not None:
            shared: Context = incoming.shared
            return shared
        context = Context(incoming, self.server.lifespan_value, self._asker, params)
        if params is not None and params.request_state is not UNSET:
            context.prepare_asking()  # state that is not the request's own is refused, used or not
        return context

    async def answer(
        self,
        work: Awaitable[Any],
        context: Context,
        incoming: Incoming,
        make: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Return the encoded result of a handler; `make` encodes it, if given.

        If the handler has asked questions that are unanswered, return those instead. The context
        ends in any case.
        """
        try:
            result = await work
        except BaseException as error:
            if context.asking is None or _must_leave(error):
                raise
            required = await context.asking.required()
            if required is None:
                raise
            return self.replies.finish(required, incoming)
        else:
            required = None if context.asking is None else await context.asking.required()
            if required is None and make is not None:
                return make(result)
            return self.replies.finish(result if required is None else required, incoming)
        finally:
            context.end()

    def unforeseen(self, error: Exception, case: str, incoming: Incoming) -> RpcError | None:
        """Return the error that the extended error codes have for a function's failure.

        `case` names the error. Return None for an error that is sent unchanged, and for a server
        with the standard error codes (`Server.codes`), which have one internal error for all
        failures.
        """
        extended = self.server.codes == "extended" and incoming.era is Era.HANDSHAKE
        if not extended or is_expected(error) or isinstance(error, ResourceNotFoundError):
            return None
        correlation_id = secrets.token_hex(8)
        log.error("%s failed [%s]", incoming.method, correlation_id, exc_info=error)
        message = CATALOGUE.named(case).message
        return failure(
            case,
            message,
            era=incoming.era,
            profile=self.server.codes,
            correlationId=correlation_id,
        )


def _must_leave(error: BaseException) -> bool:
    """Return whether the error means that no caller waits for a result any more."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | SystemExit)
