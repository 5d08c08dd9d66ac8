"""Sessions in the store, where any worker can find them.

Each request looks its session up in the store, so it sees the effects of all earlier requests,
whichever worker served them. The changes that a request makes are written before the request is
answered; concurrent changes by two workers are merged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from itertools import count
from typing import Final

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from accord.jsonrpc.protocol.codec import decode as decode_message
from accord.jsonrpc.protocol.messages import Failure, Success, encode as encode_message
from accord.mcp.protocol.definitions import ClientCapabilities, Implementation
from accord.mcp.protocol.messages import LogLevel, RequestId
from accord.mcp.server.cluster.worker import (
    ClientAnnouncement,
    ClientListens,
    ClusterWorker,
    RequestCancelled,
    ResponseReceived,
    SaveReceipt,
    SessionEnded,
    SessionSaved,
)
from accord.mcp.server.http.endpoint_state import EndpointState
from accord.mcp.server.http.http_session import SPAN, HttpSession
from accord.mcp.server.http.sessions import SessionLimits, SessionLink, new_id
from accord.mcp.server.listeners import SessionListener
from accord.mcp.server.session import Phase, Principal, Session, owner_of
from accord.store import Row, Transaction


class SessionState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of a session that any worker needs to serve it."""

    phase: Phase
    key: str
    version: str
    client_info: Implementation | None
    capabilities: ClientCapabilities
    log_level: LogLevel | None
    subscriptions: frozenset[str]


encode_state: Final = msgspec.json.Encoder().encode
decode_state: Final = msgspec.json.Decoder(SessionState).decode


def state_of(session: Session) -> SessionState:
    return SessionState(
        phase=session.phase,
        key=session.key,
        version=session.version,
        client_info=session.client_info,
        capabilities=session.capabilities,
        log_level=session.log_level,
        subscriptions=frozenset(session.subscriptions),
    )


def restore_state(session: Session, state: SessionState) -> None:
    """Copy the values of `state` to a session."""
    session.phase = state.phase
    session.key = state.key
    session.version = state.version
    session.client_info = state.client_info
    session.capabilities = state.capabilities
    session.log_level = state.log_level
    session.subscriptions = set(state.subscriptions)


def merge_states(base: SessionState, ours: SessionState, theirs: SessionState) -> SessionState:
    """Return the session state after two workers have changed `base` concurrently.

    `theirs` is the state that the other worker has stored already; `ours` is this worker's state.
    """
    added = ours.subscriptions - base.subscriptions
    removed = base.subscriptions - ours.subscriptions
    return replace(
        theirs,
        phase=ours.phase if theirs.phase is base.phase else theirs.phase,
        log_level=theirs.log_level if ours.log_level == base.log_level else ours.log_level,
        subscriptions=(theirs.subscriptions | added) - removed,
    )


SWEEP_SECONDS: Final = 5.0
"""Minimum time between two sweeps. A sweep stores when this worker's sessions were last used, and
ends old sessions."""
BUSY_SECONDS: Final = 60.0
"""Lifetime of the mark in the store that a session is busy. The mark is renewed after a third of
this time while the session stays busy, for example with a listening client."""
WRITTEN_AT_ONCE: Final = 200
"""The maximum number of sessions whose last use one SQL statement writes."""

TAKEN_SECONDS: Final = 2.0
"""Maximum wait for the `SaveReceipt` of the worker that the session's client listens to."""

# Later times win, because another worker may use the session too.
_WRITE_USES: Final = """
WITH u (id, at, busy, before) AS (VALUES {rows})
UPDATE mcp_sessions
SET used = CASE WHEN used < u.at THEN u.at ELSE used END,
    busy = CASE
        WHEN mcp_sessions.busy < u.busy OR mcp_sessions.busy = u.before THEN u.busy
        ELSE mcp_sessions.busy
    END
FROM u WHERE mcp_sessions.id = u.id
"""
_FIND: Final = "SELECT owner, version, state, listener FROM mcp_sessions WHERE id = $1"


class _SessionQueries(Struct, frozen=True):
    """SQL queries about a set of sessions: their number, and which to end first.

    The first to end is the least recently used session that is not busy; sessions that never became
    ready come before the others.
    """

    count: str
    idle: str


_ALL: Final = _SessionQueries(
    "SELECT count(*) AS n FROM mcp_sessions",
    "SELECT id FROM mcp_sessions WHERE busy < $1 ORDER BY ready, used LIMIT 1",
)
_OWN: Final = _SessionQueries(
    "SELECT count(*) AS n FROM mcp_sessions WHERE owner = $1",
    "SELECT id FROM mcp_sessions WHERE busy < $1 AND owner = $2 ORDER BY ready, used LIMIT 1",
)


class _Use(Struct, frozen=True):
    """The time of a session's last use, and the time when its busy mark ends."""

    session: str
    at: float
    busy: float
    before: float
    """The end of the busy mark that this worker wrote to the store last."""


class _KnownSession(Struct):
    """A session that this worker has served, and its state in the store."""

    session: HttpSession
    version: int
    """The version of the state at the last lookup; 0 if the session is not in the store yet."""
    state: SessionState
    listener: int | None = None
    hears_changes: bool = False
    """True if the session is among the server's listeners for changes."""
    written: float = 0.0
    """The time of the session's last use, as written to the store."""
    busy: float = 0.0
    """The end of the session's busy mark, as written to the store."""


class SharedSessions:
    """The sessions of all workers; implements `Sessions` and `SessionPeers`."""

    def __init__(
        self, endpoint: EndpointState, worker: ClusterWorker, limits: SessionLimits
    ) -> None:
        self._endpoint = endpoint
        self._limits = limits
        self._worker = worker
        self._store = worker.store
        self._known: dict[str, _KnownSession] = {}
        self._receipts = count(1)
        self._taking: dict[int, asyncio.Event] = {}
        """An event for each `SaveReceipt` that a request waits for, by the receipt's number."""
        self._swept = 0.0
        shortest = min(self._limits.idle_seconds, self._limits.handshake_seconds)
        self._busy_seconds = min(BUSY_SECONDS, shortest)
        worker.on(ResponseReceived, self._settled)
        worker.on(RequestCancelled, self._cancelled)
        worker.on(ClientAnnouncement, self._said)
        worker.on(ClientListens, self._listens)
        worker.on(SessionSaved, self._saved)
        worker.on(SaveReceipt, self._taken)
        worker.on(SessionEnded, lambda ended: self._end_here(ended.session))
        worker.on_beat.append(self._sweep)

    def __len__(self) -> int:
        return len(self._known)

    # Methods of `Sessions`

    async def has_room(self, principal: Principal | None) -> bool:
        owner = owner_of(principal)
        if owner is not None:
            most = self._limits.max_per_principal
            if not await self._make_room(_OWN, most, owner):
                return False
        return await self._make_room(_ALL, self._limits.max_sessions)

    def add(self, session: HttpSession) -> None:
        session.state.key = new_id()
        self._known[session.id] = _KnownSession(session, 0, state_of(session.state))

    def save(self, session: HttpSession) -> Awaitable[None] | None:
        known = self._known.get(session.id)
        if known is None:
            return None
        state = state_of(session.state)
        if known.version and state == known.state:
            return None
        if state.phase is Phase.READY:  # the lifecycle has seen to it
            known.hears_changes = True
        return self._save(known, state)

    def listens(self, session: HttpSession) -> Awaitable[None] | None:
        known = self._known[session.id]
        if known.listener == self._worker.number:
            return None
        return self._listen_here(known)

    async def find(self, id: str, principal: Principal | None) -> HttpSession | None:
        rows = await self._store.fetch(_FIND, id)
        if not rows:
            self._end_here(id)
            return None
        [row] = rows
        if row["owner"] != owner_of(principal):
            return None
        known = self._known.get(id)
        if known is None:
            known = self._adopt(id, principal, row)
        else:
            self._refresh(known, row)
        known.session.touch()
        return known.session

    def end(self, session: HttpSession) -> Awaitable[None]:
        self._end_here(session.id)
        return self._store.transact(lambda transaction: self._remove(transaction, [session.id]))

    def sweep(self, now: float) -> bool:
        """Do nothing: the workers' heartbeats sweep the store."""
        return False

    def end_all(self) -> None:
        """Stop serving the sessions in this process, without ending them in the store."""
        for id, known in self._known.items():
            known.session.leave()
            self._endpoint.events.forget(id)
        self._known.clear()

    # Methods of `SessionPeers`

    @property
    def number(self) -> int:
        return self._worker.number

    def listen_to(self, session: HttpSession) -> bool:
        known = self._known.get(session.id)
        return known is not None and known.listener not in (None, self.number)

    def say(self, session: HttpSession, data: bytes) -> None:
        listener = self._known[session.id].listener
        assert listener is not None
        self._worker.send(listener, ClientAnnouncement(session.id, Raw(data)))

    def settle(self, session: HttpSession, response: Success | Failure) -> None:
        assert isinstance(response.id, int)
        data = Raw(encode_message(response))
        self._worker.send(response.id // SPAN, ResponseReceived(session.id, data))

    def cancel(self, session: HttpSession, id: RequestId) -> None:
        self._worker.send_all(RequestCancelled(session.id, id))

    # Mail

    def _settled(self, settled: ResponseReceived) -> None:
        known = self._known.get(settled.session)
        response = decode_message(bytes(settled.response))
        if known is not None and isinstance(response, Success | Failure):
            known.session.settle(response)

    def _cancelled(self, cancelled: RequestCancelled) -> None:
        known = self._known.get(cancelled.session)
        if known is not None and known.session.serves(cancelled.request):
            known.session.cancel(cancelled.request)

    def _said(self, announcement: ClientAnnouncement) -> None:
        known = self._known.get(announcement.session)
        if known is not None and known.session.announcements is not None:
            known.session.announcements.send(bytes(announcement.message))

    def _listens(self, listens: ClientListens) -> None:
        known = self._known.get(listens.session)
        if known is not None:
            known.listener = listens.worker
            known.session.stop_announcing()

    def _saved(self, saved: SessionSaved) -> None:
        known = self._known.get(saved.session)
        if known is not None:
            self._take(known, saved.version, bytes(saved.state))
        self._worker.send(saved.worker, SaveReceipt(saved.receipt))

    def _taken(self, receipt: SaveReceipt) -> None:
        waiting = self._taking.get(receipt.receipt)
        if waiting is not None:
            waiting.set()

    # Sessions in use here

    def _adopt(self, id: str, principal: Principal | None, row: Row) -> _KnownSession:
        """Begin to serve a session that was found in the store."""
        session = HttpSession(self._endpoint, self, id, principal, self)
        state = decode_state(row["state"])
        restore_state(session.state, state)
        known = _KnownSession(session, row["version"], state, row["listener"])
        self._known[id] = known
        self._hear_changes(known)
        return known

    def _refresh(self, known: _KnownSession, row: Row) -> None:
        known.listener = row["listener"]
        if known.listener is None and known.session.announcements is not None:
            # The other workers removed this one, although it is alive.
            self._worker.spawn(self._listen_here(known))
        self._take(known, row["version"], row["state"])

    def _take(self, known: _KnownSession, version: int, state: bytes) -> None:
        """Merge another worker's state of a session into this worker's, if it is newer.

        It is newer if its version is higher than the last one that this worker has seen.
        """
        if version > known.version:
            theirs = decode_state(state)
            ours = state_of(known.session.state)
            restore_state(known.session.state, merge_states(known.state, ours, theirs))
            known.version, known.state = version, theirs
            self._hear_changes(known)

    def _hear_changes(self, known: _KnownSession) -> None:
        """Add a session to the server's change listeners, once its handshake is done.

        Every worker receives every change, and notifies the clients that listen to this worker.
        """
        session = known.session
        if known.hears_changes or session.state.phase is not Phase.READY:
            return
        known.hears_changes = True
        listeners = self._endpoint.server.listeners
        listener = SessionListener(SessionLink(session, session.state, session.owner))
        listeners.add(listener)
        session.at_end(lambda: listeners.discard(listener))

    def _end_here(self, id: str) -> None:
        known = self._known.pop(id, None)
        if known is not None:
            known.session.end()

    # The store

    async def _save(self, known: _KnownSession, state: SessionState) -> None:
        base, session = known.state, known.session
        receipt = next(self._receipts)

        async def work(transaction: Transaction) -> tuple[int, SessionState, bool] | None:
            rows = await transaction.fetch(_FIND, session.id)
            if not rows:
                return None
            theirs = decode_state(rows[0]["state"])
            version: int = rows[0]["version"] + 1
            merged = merge_states(base, state, theirs)
            encoded = encode_state(merged)
            await transaction.execute(
                "UPDATE mcp_sessions SET version = $1, state = $2, ready = $3 WHERE id = $4",
                version, encoded, _is_ready(merged), session.id,
            )  # fmt: skip
            listener = rows[0]["listener"]
            listens_elsewhere = listener not in (None, self.number)
            if listens_elsewhere:
                saved = SessionSaved(session.id, version, Raw(encoded), self.number, receipt)
                await self._worker.post(transaction, listener, saved)
            return version, merged, listens_elsewhere

        if not known.version:
            await self._insert(known, state)
            return
        received = self._taking[receipt] = asyncio.Event()
        try:
            written = await self._store.transact(work)
            if written is None:
                return
            ours = state_of(session.state)
            known.version, merged, listens_elsewhere = written
            known.state = merged
            restore_state(session.state, merge_states(state, ours, merged))
            if listens_elsewhere:
                await _until(received)
        finally:
            del self._taking[receipt]

    async def _insert(self, known: _KnownSession, state: SessionState) -> None:
        session = known.session
        await self._store.execute(
            "INSERT INTO mcp_sessions (id, owner, version, state, ready, used, busy) "
            "VALUES ($1, $2, 1, $3, $4, $5, 0)",
            session.id,
            owner_of(session.owner),
            encode_state(state),
            _is_ready(state),
            self._worker.now(),
        )
        known.version, known.state = 1, state

    async def _listen_here(self, known: _KnownSession) -> None:
        id, number = known.session.id, self.number

        async def work(transaction: Transaction) -> list[Row]:
            await transaction.execute(
                "UPDATE mcp_sessions SET listener = $1 WHERE id = $2", number, id
            )
            await self._worker.post_all(transaction, ClientListens(id, number))
            return await transaction.fetch(_FIND, id)

        rows = await self._store.transact(work)
        known.listener = number
        for row in rows:  # who saved before did not know that the client listens here
            self._take(known, row["version"], row["state"])

    async def _remove(self, transaction: Transaction, ids: list[str]) -> None:
        for id in ids:
            await transaction.execute("DELETE FROM mcp_sessions WHERE id = $1", id)
            await transaction.execute("DELETE FROM mcp_streams WHERE session = $1", id)
            await transaction.execute("DELETE FROM mcp_events WHERE session = $1", id)
        if ids:
            await self._worker.post_all(transaction, *map(SessionEnded, ids))

    async def _make_room(self, among: _SessionQueries, most: int, *owner: str) -> bool:
        """Return whether there is room for one more session.

        May end an unused session to make room.
        """
        [row] = await self._store.fetch(among.count, *owner)
        if row["n"] < most:
            return True
        now = self._worker.now()
        uses = self._uses(now)

        async def work(transaction: Transaction) -> str | None:
            await _write_uses(transaction, uses)
            rows = await transaction.fetch(among.idle, now, *owner)
            if not rows:
                return None
            id: str = rows[0]["id"]
            await self._remove(transaction, [id])
            return id

        ended = await self._store.transact(work)
        if ended is not None:
            self._end_here(ended)
        return ended is not None

    # Time

    async def _sweep(self) -> None:
        """Store the times of use, then end the sessions that were unused for too long."""
        limits, now = self._limits, self._worker.now()
        if now - self._swept < min(SWEEP_SECONDS, self._busy_seconds / 3):
            return
        self._swept = now
        uses = self._uses(now)

        async def work(transaction: Transaction) -> list[str]:
            await _write_uses(transaction, uses)
            rows = await transaction.fetch(
                "SELECT id FROM mcp_sessions "
                "WHERE (ready = 1 AND used < $1) OR (ready = 0 AND used < $2)",
                now - limits.idle_seconds, now - limits.handshake_seconds,
            )  # fmt: skip
            ids = [row["id"] for row in rows]
            await self._remove(transaction, ids)
            return ids

        for id in await self._store.transact(work):
            self._end_here(id)

    def _uses(self, now: float) -> list[_Use]:
        """Return the last uses of this worker's sessions that are not stored yet."""
        clock = self._endpoint.now()
        uses = []
        for id, known in self._known.items():
            is_busy = known.session.is_busy
            if is_busy and known.busy - now > self._busy_seconds * 2 / 3:
                continue
            at = now if is_busy else now - (clock - known.session.used)
            if at > known.written + 0.001 or bool(known.busy) is not is_busy:
                busy = now + self._busy_seconds if is_busy else 0.0
                uses.append(_Use(id, at, busy, known.busy))
                known.written, known.busy = at, busy
        return uses


async def _write_uses(transaction: Transaction, uses: list[_Use]) -> None:
    for start in range(0, len(uses), WRITTEN_AT_ONCE):
        some = uses[start : start + WRITTEN_AT_ONCE]
        values = [value for use in some for value in (use.session, use.at, use.busy, use.before)]
        await transaction.execute(_WRITE_USES.format(rows=_rows(len(some))), *values)


def _rows(count: int) -> str:
    """Return SQL placeholders for `count` rows of the values in `_WRITE_USES`.

    The placeholders have types, because PostgreSQL cannot infer them.
    """
    places = range(1, 4 * count, 4)
    return ", ".join(
        f"(CAST(${at} AS text), CAST(${at + 1} AS double precision), "
        f"CAST(${at + 2} AS double precision), CAST(${at + 3} AS double precision))"
        for at in places
    )


def _is_ready(state: SessionState) -> int:
    return int(state.phase is Phase.READY)


async def _until(received: asyncio.Event) -> None:
    """Wait until the worker that a client listens to confirms a saved session.

    `received` is set when the `SaveReceipt` arrives. The worker that the client listens to selects
    the client's notifications, so it must know a new subscription before the request is answered. A
    worker that sends no receipt within `TAKEN_SECONDS` may be dead.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(TAKEN_SECONDS):
            await received.wait()
