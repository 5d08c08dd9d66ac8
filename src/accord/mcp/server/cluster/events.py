"""Stored events of streams, so that any worker can resume a stream.

A stream belongs to the worker that opened it, its owner; the stream's number contains the number of
the owner. The owner keeps the events in memory too, and writes them to the store in order, all
waiting events in one transaction.

A client that reconnects to another worker gets the missed events from the store. That worker then
follows the stream: the owner notifies it of new events. If the owner is dead, the open requests of
the stream are answered with an error.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from accord.jsonrpc.protocol.errors import own_error
from accord.jsonrpc.protocol.messages import Id, encode_failure
from accord.mcp.server.cluster.worker import (
    SWEEP_BEATS,
    ClusterWorker,
    FollowStream,
    StreamAdvanced,
    UnfollowStream,
    WorkerGone,
)
from accord.mcp.server.http.endpoint_state import (
    Event,
    EventRelay,
    MemoryEvents,
    MissedEvents,
    OrphanedStream,
    RemoteStream,
)
from accord.mcp.server.http.http_session import SPAN
from accord.store import Row, StoreError, Transaction

log = logging.getLogger("accord.mcp.shared")

MAX_PER_SESSION: Final = 256
MAX_WAITING: Final = 10_000
"""The maximum number of entries, such as events, that wait in this worker to be written to the
store. Events beyond the limit are kept in the memory of this worker only."""
MAX_BYTES: Final = 256 * 1024 * 1024
"""The limit of all workers' events together, in bytes."""

Key: TypeAlias = tuple[str, int]
"""The key of a stream: the id of its session, and the number of the stream."""

_TRIM: Final = """
DELETE FROM mcp_events WHERE session = $1 AND place <= (
    SELECT place FROM mcp_events WHERE session = $1 ORDER BY place DESC LIMIT 1 OFFSET $2
)
"""
_STREAM: Final = """
SELECT s.worker, s.requests, s.is_over, w.id AS living
FROM mcp_streams s LEFT JOIN mcp_workers w ON w.id = s.worker
WHERE s.session = $1 AND s.number = $2
"""
_EVENTS: Final = """
SELECT number, data FROM mcp_events
WHERE session = $1 AND stream = $2 AND number > $3 ORDER BY number
"""


class _OpenedEntry(Struct, frozen=True):
    key: Key
    requests: bytes
    done: asyncio.Future[None]


class _ClosedEntry(Struct, frozen=True):
    key: Key


class _EventEntry(Struct, frozen=True):
    key: Key
    event: Event


class _FollowMarker(Struct, frozen=True):
    """A queue entry that stores nothing, but has a stream's followers notified.

    Followers are notified once all earlier entries are written.
    """

    key: Key


_Entry: TypeAlias = _OpenedEntry | _ClosedEntry | _EventEntry | _FollowMarker


class _ReadableEvents(Struct, frozen=True):
    """The stored events of another worker's stream, and the state of that stream."""

    events: list[Event]
    is_over: bool
    is_orphaned: bool = False


class _AnswerHead(Struct):
    """The members of a JSON-RPC message that show if it is an answer."""

    id: int | str | None = None
    method: Raw | UnsetType = UNSET


_decode_answer = msgspec.json.Decoder(_AnswerHead).decode
_decode_ids = msgspec.json.Decoder(list[int | str | None]).decode


class _Follower:
    """A client that receives another worker's stream through this worker."""

    __slots__ = ("again", "busy", "last", "relay")

    def __init__(self, last: int, relay: EventRelay) -> None:
        self.last = last
        self.relay = relay
        self.busy = False
        self.again = False


class SharedEvents:
    """A store of the events of all workers; implements `EventStore`."""

    def __init__(self, worker: ClusterWorker) -> None:
        self._worker = worker
        self._store = worker.store
        self._own = MemoryEvents()
        self._waiting: list[_Entry] = []
        self._writing = False
        self._followers: dict[Key, _Follower] = {}
        """Clients that receive other workers' streams through this worker."""
        self._followed: dict[Key, set[int]] = {}
        """The numbers of the workers that follow a stream of this worker, by stream."""
        self._beats = 0
        worker.on(FollowStream, self._follow)
        worker.on(UnfollowStream, self._unfollow)
        worker.on(
            StreamAdvanced, lambda advanced: self._advance((advanced.session, advanced.stream))
        )
        worker.on(WorkerGone, self._gone)
        worker.on_beat.append(self._sweep)

    # Methods of `EventStore`

    def opened(self, session: str, stream: int, requests: Sequence[Id]) -> Awaitable[None]:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._write(_OpenedEntry((session, stream), msgspec.json.encode(requests), done))
        return done

    def closed(self, session: str, stream: int) -> None:
        self._write(_ClosedEntry((session, stream)))

    def append(self, session: str, stream: int, event: Event) -> None:
        self._own.append(session, stream, event)
        self._write(_EventEntry((session, stream), event))

    def after(
        self, session: str, stream: int, number: int
    ) -> MissedEvents | Awaitable[MissedEvents]:
        if stream // SPAN == self._worker.number:
            return self._own.after(session, stream, number)
        return self._find(session, stream, number)

    def forget(self, session: str) -> None:
        self._own.forget(session)
        for key in [key for key in self._followed if key[0] == session]:
            del self._followed[key]
        for key in [key for key in self._followers if key[0] == session]:
            self._followers.pop(key).relay((), True)

    # Writing

    def _write(self, what: _Entry) -> None:
        if len(self._waiting) < MAX_WAITING or isinstance(what, _OpenedEntry):
            self._waiting.append(what)
        if not self._writing:
            self._writing = True
            self._worker.spawn(self._write_all())

    async def _write_all(self) -> None:
        try:
            while self._waiting:
                waiting, self._waiting = self._waiting, []
                followed = {key: tuple(workers) for key, workers in self._followed.items()}
                try:
                    await self._store.transact(_EntryWriter(self._worker, waiting, followed).work)
                except StoreError as error:
                    log.error("events cannot be kept: %s", error)
                finally:
                    for each in waiting:
                        if isinstance(each, _OpenedEntry) and not each.done.done():
                            each.done.set_result(None)
        finally:
            self._writing = False

    # Streams of other workers

    async def _find(self, session: str, stream: int, number: int) -> MissedEvents:
        key = session, stream
        reached = await self._read(key, number)
        if reached is None:
            return None
        if reached.is_orphaned:
            return OrphanedStream(reached.events)
        if reached.is_over:
            return reached.events
        last = reached.events[-1].number if reached.events else number

        def follow(relay: EventRelay) -> Callable[[], None]:
            return self._begin_following(key, last, relay)

        return RemoteStream(reached.events, follow)

    async def _read(self, key: Key, number: int) -> _ReadableEvents | None:
        """Return the stored events of a stream after event `number`.

        Return None if the stream is unknown, or if events are missing in the store: the next event,
        or any later event of a stream that has ended.
        """
        rows = await self._store.fetch(_STREAM, *key)
        if not rows:
            return None
        [stream] = rows
        found = [
            Event(row["number"], bytes(row["data"]))
            for row in await self._store.fetch(_EVENTS, *key, number)
        ]
        events = _unbroken(found, number)
        if stream["is_over"]:
            return _ReadableEvents(events, True) if len(events) == len(found) else None
        if found and not events:
            return None
        if stream["living"] is not None:
            return _ReadableEvents(events, False)
        if not _decode_ids(stream["requests"]):
            return _ReadableEvents(events, True, is_orphaned=True)
        return _ReadableEvents(await self._with_failures(key, stream, events, number), True)

    async def _with_failures(
        self, key: Key, stream: Row, events: list[Event], number: int
    ) -> list[Event]:
        """Return `events`, followed by an error for each request without an answer.

        The worker that served these requests is dead, so they will never be answered.
        """
        rows = await self._store.fetch(_EVENTS, *key, 0)
        answers = [_decode_answer(bytes(row["data"])) for row in rows]
        answered = {answer.id for answer in answers if answer.method is UNSET}
        last = max(number, events[-1].number if events else 0)
        open_requests = [id for id in _decode_ids(stream["requests"]) if id not in answered]
        lost = own_error("internal_error", "The process that served this request is gone")
        return events + [
            Event(place, encode_failure(id, lost))
            for place, id in enumerate(open_requests, last + 1)
        ]

    # Following

    def _begin_following(self, key: Key, last: int, relay: EventRelay) -> Callable[[], None]:
        follower = self._followers[key] = _Follower(last, relay)
        owner = key[1] // SPAN
        self._worker.send(owner, FollowStream(*key, self._worker.number))

        def stop() -> None:
            if self._followers.get(key) is follower:
                del self._followers[key]
                self._worker.send(owner, UnfollowStream(*key, self._worker.number))

        return stop

    def _advance(self, key: Key) -> None:
        follower = self._followers.get(key)
        if follower is not None:
            follower.again = True
            if not follower.busy:
                follower.busy = True
                self._worker.spawn(self._catch_up(key, follower))

    async def _catch_up(self, key: Key, follower: _Follower) -> None:
        try:
            while follower.again and self._followers.get(key) is follower:
                follower.again = False
                reached = await self._read(key, follower.last)
                if self._followers.get(key) is not follower:
                    return
                events = [] if reached is None else reached.events
                is_over = reached is None or reached.is_over
                if events:
                    follower.last = events[-1].number
                if is_over:
                    del self._followers[key]
                    self._worker.send(key[1] // SPAN, UnfollowStream(*key, self._worker.number))
                follower.relay(events, is_over)
        finally:
            follower.busy = False

    def _follow(self, follow: FollowStream) -> None:
        key = follow.session, follow.stream
        self._followed.setdefault(key, set()).add(follow.worker)
        # Notify at once too: events before this message, and the end, may be unknown there.
        self._write(_FollowMarker(key))

    def _unfollow(self, unfollow: UnfollowStream) -> None:
        key = unfollow.session, unfollow.stream
        workers = self._followed.get(key, set())
        workers.discard(unfollow.worker)
        if not workers:
            self._followed.pop(key, None)

    def _gone(self, gone: WorkerGone) -> None:
        for key in tuple(self._followers):
            if key[1] // SPAN == gone.worker:
                self._advance(key)
        for workers in self._followed.values():
            workers.discard(gone.worker)

    # Bounds

    async def _sweep(self) -> None:
        """Delete the older half of all events if they exceed the byte limit."""
        self._beats += 1
        if self._beats % SWEEP_BEATS:
            return
        [row] = await self._store.fetch(
            "SELECT coalesce(sum(length(data)), 0) AS size, min(place) AS first, "
            "max(place) AS last FROM mcp_events"
        )
        if row["size"] > MAX_BYTES:
            half = (row["first"] + row["last"]) // 2
            await self._store.execute("DELETE FROM mcp_events WHERE place <= $1", half)


class _EntryWriter(Struct, frozen=True):
    """A transaction that writes waiting entries to the store and notifies followers."""

    worker: ClusterWorker
    waiting: list[_Entry]
    followed: dict[Key, tuple[int, ...]]

    async def work(self, transaction: Transaction) -> None:
        for each in self.waiting:
            match each:
                case _OpenedEntry(key=(session, stream), requests=requests):
                    await transaction.execute(
                        "INSERT INTO mcp_streams (session, number, worker, requests, is_over) "
                        "VALUES ($1, $2, $3, $4, 0) ON CONFLICT (session, number) DO NOTHING",
                        session, stream, self.worker.number, requests,
                    )  # fmt: skip
                case _EventEntry(key=(session, stream), event=event):
                    await transaction.execute(
                        "INSERT INTO mcp_events (session, stream, number, data) "
                        "VALUES ($1, $2, $3, $4)",
                        session, stream, event.number, event.data,
                    )  # fmt: skip
                case _ClosedEntry(key=(session, stream)):
                    await transaction.execute(
                        "UPDATE mcp_streams SET is_over = 1 WHERE session = $1 AND number = $2",
                        session, stream,
                    )  # fmt: skip
        for session in {each.key[0] for each in self.waiting}:
            await transaction.execute(_TRIM, session, MAX_PER_SESSION)
        for key in {each.key for each in self.waiting}:
            for follower in self.followed.get(key, ()):
                await self.worker.post(transaction, follower, StreamAdvanced(*key))


def _unbroken(events: list[Event], number: int) -> list[Event]:
    """Return the events whose numbers follow `number` without a gap."""
    unbroken = []
    for event in events:
        number += 1
        if event.number != number:
            break
        unbroken.append(event)
    return unbroken
