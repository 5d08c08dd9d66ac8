"""Requests in progress: cancellation, observation, and answers within a batch.

JSON-RPC 2.0, section 6: the answers to a batch are one array, in any order (here that of the
requests); if there is no answer at all, nothing is sent rather than an empty array. An exception of
an observer is logged and does not affect the call.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import sys
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Final, Protocol

from msgspec import UNSET, Raw, Struct, UnsetType

from accord.jsonrpc.methods.context import CANCELLED, Context, Observation, Observer, Outcome
from accord.jsonrpc.methods.method import Method
from accord.jsonrpc.protocol.errors import RpcError, own_error
from accord.jsonrpc.protocol.messages import (
    Failure,
    Id,
    Invalid,
    Success,
    encode,
    encode_failure,
    id_key,
)

log = logging.getLogger("accord.jsonrpc")


def notify_ended(
    seen: Observation | None, outcome: Outcome, error: BaseException | None = None
) -> None:
    if seen is not None:
        try:
            seen.ended(outcome, error)
        except Exception as failure:  # noqa: BLE001 - an observer may raise anything
            log_failure(failure)


def notify_batch(observer: Observer, size: int) -> None:
    try:
        observer.batch_received(size)
    except Exception as failure:  # noqa: BLE001 - an observer may raise anything
        log_failure(failure)


def notify_refused(observer: Observer | None, error: RpcError) -> None:
    if observer is not None:
        try:
            observer.refused(error)
        except Exception as failure:  # noqa: BLE001 - an observer may raise anything
            log_failure(failure)


def log_failure(failure: Exception) -> None:
    log.error("an observer of calls failed", exc_info=failure)


class Cancellable(Protocol):
    """A running piece of work that is cancelled when the caller disconnects."""

    def cancel(self) -> None: ...


class RequestSource(Protocol):
    """The source of requests: it makes their contexts and takes their answers."""

    def context(self, method: str, id: Id | UnsetType) -> Context:
        """Return the context of a call for its handler."""

    def answer(self, data: bytes | None) -> None:
        """Send an answer that was not ready at once; None if there is none to send."""

    def settle(self, response: Success | Failure | Invalid) -> None:
        """Handle a response, or an invalid message that was meant as a response."""


class RunningRequest(Struct, eq=False):
    """A request whose handler has not finished."""

    method: Method
    id: Id | UnsetType
    source: RequestSource
    _among: RunningRequests
    seen: Observation | None
    """The observation to notify when the request ends; None if the request is not observed, or once
    the observation has been notified."""
    work: Awaitable[Any] | None
    """The handler's awaitable, until the task begins to await it; then None."""
    key: object = None
    """The key of the request in `RunningRequests`; None if the request itself is the key."""
    deadline: float | None = None
    task: asyncio.Task[None] | None = None
    answered: bool = False
    ended: bool = False
    answer: bytes | None = None

    def take_seen(self) -> Observation | None:
        seen, self.seen = self.seen, None
        return seen

    def cancel(self) -> None:
        """Stop the handler; its caller is gone and is not answered."""
        self.answered = True
        notify_ended(self.take_seen(), CANCELLED)
        if self.task is not None:
            self.task.cancel()
        if self.work is not None:  # a task cancelled before its first step runs no line of its own
            self.leave()
            if isinstance(self.work, Coroutine):
                self.work.close()

    def leave(self) -> None:
        """Remove the request from `RunningRequests`."""
        self.ended = True
        self._among.pop(self if self.key is None else self.key, None)


class RunningRequests(dict[object, RunningRequest]):
    """Requests whose handlers are running, by id or by the request itself.

    The keys are ids where ids are unique.
    """

    __slots__ = ()

    def cancel(self, id: Id, source: RequestSource) -> bool:
        """Stop the handler of one request without an answer; return True if it was running."""
        key = id_key(id)
        for running in self.values():
            if running.id is UNSET or id_key(running.id) != key:
                continue
            if origin(running.source) is source:
                running.cancel()
                if isinstance(running.source, BatchSlot):  # the others of its batch are answered
                    running.source.answer(None)
                return True
        return False

    def free(self, id: Id) -> None:
        """Release the id of a cancelled request whose handler still runs.

        Another request can then have this id.
        """
        older = self.pop(id)
        older.key = None
        self[older] = older


def origin(source: RequestSource) -> RequestSource:
    """Return the source of the message that contained a request.

    For a `BatchSlot`, the source of a request in a batch, this is the source of the batch.
    """
    return getattr(source, "batch_source", source)


CHUNK: Final = 16
"""Number of results of a batch that are encoded together. Results are held in memory before their
bytes are counted, so this bounds how far a batch exceeds the limit on its answer."""

Failed = Callable[[Id, object, Exception], bytes]
"""Returns the encoded answer for a result that cannot be encoded."""


def encode_together(results: list[Success | Raw], room: int) -> bytes | None:
    """Encode all results as one array.

    Returns None if a result cannot be encoded or the array exceeds `room` bytes.
    """
    try:
        answer = encode(results)
    except Exception:  # noqa: BLE001 - the encoder of a foreign object may raise anything
        return None
    return answer if len(answer) <= room else None


class DirectRun:
    """A collector of the answers to the calls at the beginning of a batch, served inline."""

    __slots__ = ("_failed", "max_bytes", "pieces", "room")

    def __init__(self, max_bytes: int, failed: Failed) -> None:
        self._failed = failed
        self.max_bytes = max_bytes
        self.room = max_bytes
        """Bytes that are left for the answer to the whole batch."""
        self.pieces: list[bytes] = []
        """Encoded answers, one or several in a piece, to be joined by commas."""

    def add(self, results: list[Success | Raw]) -> None:
        """Encode the results of the next calls, and add them to the answer."""
        together = encode_together(results, self.room)
        if together is not None:
            self.room -= len(together)
            self.pieces.append(together[1:-1])
        else:
            for result in results:
                self._add_one(result)

    def answer(self) -> bytes:
        return b"[" + b",".join(self.pieces) + b"]"

    def _add_one(self, result: Success | Raw) -> None:
        if isinstance(result, Raw):
            answer = bytes(result)
        else:
            try:
                answer = encode(result)
            except Exception as error:  # noqa: BLE001 - a foreign object's encoder may raise anything
                answer = self._failed(result.id, "a method in a batch", error)
            if len(answer) > self.room:
                answer = _too_large(result.id, self.max_bytes)
        self.room -= len(answer)
        self.pieces.append(answer)


class BatchRun:
    """A batch in progress, for the messages that were not served by a `DirectRun`.

    When all messages of the batch have ended, it sends the joint answer to the batch's source.
    """

    __slots__ = ("_answers", "_complete", "_max_bytes", "_room", "_waiting", "ids", "source")

    def __init__(self, source: RequestSource, begun: DirectRun) -> None:
        self.source = source
        self.ids: set[Id] = set()
        """The ids of the batch's requests so far, if ids must be unique."""
        self._complete = False
        """True once every message of the batch has been started; some may still be running."""
        self._answers: list[bytes | None] = [*begun.pieces]
        self._max_bytes = begun.max_bytes
        self._room = begun.room
        self._waiting: dict[int, RunningRequest] = {}

    def slot(self, id: Id | UnsetType) -> BatchSlot:
        """Reserve a place for the answer to the next message."""
        self._answers.append(None)
        return BatchSlot(self, len(self._answers) - 1, id)

    def fill(self, slot: BatchSlot, answer: bytes | None | RunningRequest) -> None:
        if isinstance(answer, RunningRequest):
            self._waiting[slot.place] = answer
        elif answer is not None:
            if len(answer) > self._room and slot.id is not UNSET:
                answer = _too_large(slot.id, self._max_bytes)
            self._room -= len(answer)
            self._answers[slot.place] = answer

    def answer_or_run(self) -> bytes | None | BatchRun:
        """Return the answer to the batch if nothing is running, else this batch.

        Called once every message has been started.
        """
        self._complete = True
        return self if self._waiting else self._joined()

    def finish(self, slot: BatchSlot, answer: bytes | None) -> None:
        """Take the answer of a request that has ended; after the last one, answer the batch."""
        del self._waiting[slot.place]
        self.fill(slot, answer)
        # A notification of the same batch may cancel a request before the last message is started;
        # without the flag the batch would be answered too early.
        if self._complete and not self._waiting:
            self.source.answer(self._joined())

    def cancel(self) -> None:
        for running in self._waiting.values():
            running.cancel()

    def _joined(self) -> bytes | None:
        answers = [answer for answer in self._answers if answer is not None]
        return b"[" + b",".join(answers) + b"]" if answers else None


class BatchSlot:
    """The source of one request in a batch, with a place in the array of answers."""

    __slots__ = ("_run", "batch_source", "context", "id", "place", "settle")

    def __init__(self, run: BatchRun, place: int, id: Id | UnsetType) -> None:
        self._run = run
        self.place = place
        self.id = id
        self.batch_source = run.source
        """The source of the whole batch."""
        self.context = run.source.context
        self.settle = run.source.settle

    def answer(self, data: bytes | None) -> None:
        self._run.finish(self, data)

    def takes(self, id: Id) -> bool:
        """Add the id of a request to the ids of the batch; return False for a duplicate."""
        ids = self._run.ids
        known = len(ids)
        ids.add(id)
        return len(ids) > known


def _too_large(id: Id, max_bytes: int) -> bytes:
    """Return an encoded error for an answer that exceeds the batch limit."""
    error = own_error(
        "message_too_large",
        f"the answers to this batch are over the limit of {max_bytes:,} bytes",
        maxSize=max_bytes,
        unit="bytes",
    )
    return encode_failure(id, error)


def unknown_method(name: str) -> RpcError:
    """Return the error for a call of a method that does not exist."""
    shown = name if len(name) <= 100 else f"{name[:100]}…"
    return own_error("method_not_found", f"Method not found: {shown}", method=shown)


def log_unexpected(method: object, error: BaseException) -> str:
    """Log an error whose details the caller must not see; return a correlation id.

    The id is in the log line and is sent to the caller.
    """
    correlation_id = secrets.token_hex(8)
    log.error("%s failed [%s]", method, correlation_id, exc_info=error)
    return correlation_id


start_task: Callable[..., asyncio.Task[None]]
if sys.version_info >= (3, 12):
    start_task = partial(asyncio.Task, eager_start=True)
else:
    start_task = asyncio.Task
"""Start a task; where Python can (3.12), its first step runs at once."""
