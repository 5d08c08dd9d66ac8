"""A worker: one of the processes that serve the same clients, and the messages between them.

Each worker has a unique number and a mailbox in the store. A sender puts a message into the mailbox
and wakes the recipient. Workers show by a regular heartbeat that they are alive. The first worker
that notices a missing heartbeat removes the dead worker and notifies the others. All times are
those of the store's clock, so the clocks of machines may differ.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Raw, Struct

from accord.store import Store, StoreError, Transaction
from accord.store.store import DATABASE_CLOCK


class ResponseReceived(Struct, frozen=True, tag="settled"):
    """The message that a client has answered a request of the recipient."""

    session: str
    response: Raw


class RequestCancelled(Struct, frozen=True, tag="cancelled"):
    """The message that a client has cancelled a request of a session.

    All workers get it, because any of them may be serving the request.
    """

    session: str
    request: int | str


class ClientAnnouncement(Struct, frozen=True, tag="said"):
    """An announcement that the recipient is to forward to a client listening to it."""

    session: str
    message: Raw


class ClientListens(Struct, frozen=True, tag="listens"):
    """The message that a session's client now gets its announcements from the sender."""

    session: str
    worker: int


class SessionSaved(Struct, frozen=True, tag="saved"):
    """The message that the sender has saved a new state of a session.

    It is sent to the worker that the session's client gets its announcements from. The sender waits
    for a receipt before it answers the client.
    """

    session: str
    version: int
    state: Raw
    worker: int
    """The number of the worker that waits for the receipt."""
    receipt: int


class SaveReceipt(Struct, frozen=True, tag="taken"):
    """The receipt for a `SessionSaved` message, returned to its sender."""

    receipt: int


class SessionEnded(Struct, frozen=True, tag="ended"):
    """The message that a session has ended."""

    session: str


class FollowStream(Struct, frozen=True, tag="follow"):
    """A request to notify the sender of new events on a stream of the recipient.

    The client of that stream is connected to the sender.
    """

    session: str
    stream: int
    worker: int


class UnfollowStream(Struct, frozen=True, tag="unfollow"):
    """A request to stop the notifications that a `FollowStream` message started."""

    session: str
    stream: int
    worker: int


class StreamAdvanced(Struct, frozen=True, tag="advanced"):
    """The message that a followed stream has new events in the store."""

    session: str
    stream: int


class ComponentsChanged(Struct, frozen=True, tag="changed"):
    """The message that a resource, or a list of components, has changed."""

    method: str
    uri: str


class ElicitationCompleted(Struct, frozen=True, tag="completed"):
    """The message that a user has finished with the page of an elicitation."""

    elicitation: str


class TaskChanged(Struct, frozen=True, tag="task"):
    """The message that a task has changed."""

    task: str


class WorkerGone(Struct, frozen=True, tag="gone"):
    """The message that a worker is dead or has left the cluster."""

    worker: int


Mail: TypeAlias = (
    ResponseReceived
    | RequestCancelled
    | ClientAnnouncement
    | ClientListens
    | SessionSaved
    | SaveReceipt
    | SessionEnded
    | FollowStream
    | UnfollowStream
    | StreamAdvanced
    | ComponentsChanged
    | ElicitationCompleted
    | TaskChanged
    | WorkerGone
)

encode_mail: Final = msgspec.json.Encoder().encode
decode_mail: Final = msgspec.json.Decoder(Mail).decode


log = logging.getLogger("accord.mcp.shared")

M = TypeVar("M", bound=Mail)

BEAT_SECONDS: Final = 1.0
SWEEP_BEATS: Final = 10
"""The number of heartbeats between two sweeps for old data."""
DEAD_SECONDS: Final = 5.0
"""Seconds without a heartbeat after which a worker counts as dead."""

# Drops mail for unknown workers: the number may come from a client.
_INSERT_MAIL: Final = (
    "INSERT INTO mcp_mail (worker, body) SELECT id, $2 FROM mcp_workers WHERE id = $1"
)
_REGISTER: Final = "INSERT INTO mcp_workers (seen) VALUES ({now}) RETURNING id"
_SHOW_LIFE: Final = """
INSERT INTO mcp_workers (id, seen) VALUES ($1, {now})
ON CONFLICT (id) DO UPDATE SET seen = excluded.seen RETURNING seen
"""


def channel_of(worker: int) -> str:
    return f"mcp_worker_{worker}"


class ClusterWorker:
    """This process as a member of the cluster."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.number = 0
        self.others: set[int] = set()
        """The numbers of the other live workers, as of the last heartbeat."""
        self.on_beat: list[Callable[[], Awaitable[None]]] = []
        self._slow = 0.0
        """The lag of this machine's clock behind that of the store, in seconds."""
        self._hear: dict[type, list[Callable[[Any], Any]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._reading = False
        self._has_mail = False
        self._beating: asyncio.Task[None] | None = None
        self._stop: Callable[[], None] | None = None

    def on(self, kind: type[M], hear: Callable[[M], Any]) -> None:
        """Register `hear`, to be called with each message of type `kind` to this worker."""
        self._hear.setdefault(kind, []).append(hear)

    async def join(self) -> None:
        """Register this worker in the store and start its heartbeat."""
        register = _REGISTER.format(now=DATABASE_CLOCK[self.store.engine])
        [row] = await self.store.transact(lambda transaction: transaction.fetch(register))
        self.number = row["id"]
        self._stop = await self.store.listen(channel_of(self.number), self._wake)
        await self._beat()
        self._beating = asyncio.get_running_loop().create_task(self._beat_on())

    async def leave(self) -> None:
        """Finish pending writes, then remove this worker from the store."""
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)
        while self._tasks:
            await asyncio.wait(self._tasks)
        if self._stop is not None:
            self._stop()
        if self.number:
            await self.store.transact(lambda transaction: self._bury(transaction, self.number))

    def now(self) -> float:
        """Return the time by the store's clock, in seconds since 1970."""
        return time.time() + self._slow

    # Mail

    def send(self, to: int, *letters: Mail) -> None:
        """Send messages to another worker, in the background."""
        self.spawn(self.store.transact(lambda transaction: self.post(transaction, to, *letters)))

    def send_all(self, *letters: Mail) -> None:
        """Send messages to all other workers, in the background."""
        self.spawn(self.store.transact(lambda transaction: self.post_all(transaction, *letters)))

    async def post(self, transaction: Transaction, to: int, *letters: Mail) -> None:
        """Send messages to another worker as part of a transaction."""
        sent = 0
        for letter in letters:
            sent += await transaction.execute(_INSERT_MAIL, to, encode_mail(letter))
        if sent:
            await transaction.notify(channel_of(to))

    async def post_all(self, transaction: Transaction, *letters: Mail) -> None:
        rows = await transaction.fetch("SELECT id FROM mcp_workers WHERE id <> $1", self.number)
        for row in rows:
            await self.post(transaction, row["id"], *letters)

    def spawn(self, chore: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine in the background, and log its failure."""
        task = asyncio.get_running_loop().create_task(_logged(chore))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _wake(self) -> None:
        self._has_mail = True
        if not self._reading:
            self._reading = True
            self.spawn(self._read())

    async def _read(self) -> None:
        try:
            while self._has_mail:
                self._has_mail = False
                for letter in await self.store.transact(self._collect):
                    self._deliver(letter)
        finally:
            self._reading = False

    async def _collect(self, transaction: Transaction) -> list[bytes]:
        rows = await transaction.fetch(
            "DELETE FROM mcp_mail WHERE worker = $1 RETURNING id, body", self.number
        )
        return [row["body"] for row in sorted(rows, key=lambda row: row["id"])]

    def _deliver(self, letter: bytes) -> None:
        found = decode_mail(letter)
        for receiver in self._hear.get(type(found), ()):
            try:
                receiver(found)
            except Exception:
                log.exception("mail could not be handled: %s", type(found).__name__)

    # Life

    async def _beat_on(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            await _logged(self._beat())

    async def _beat(self) -> None:
        dead = await self.store.transact(self._show_life)
        for number in dead:
            log.warning("worker %d is gone", number)
            self._deliver(encode_mail(WorkerGone(number)))
        rows = await self.store.fetch("SELECT id FROM mcp_workers")
        self.others = {row["id"] for row in rows} - {self.number}
        self._wake()  # a wake may have been lost
        for chore in self.on_beat:
            await chore()

    async def _show_life(self, transaction: Transaction) -> list[int]:
        """Write a heartbeat, remove dead workers, and return the dead workers' numbers."""
        show_life = _SHOW_LIFE.format(now=DATABASE_CLOCK[self.store.engine])
        [row] = await transaction.fetch(show_life, self.number)
        now: float = row["seen"]
        self._slow = now - time.time()
        rows = await transaction.fetch(
            "SELECT id FROM mcp_workers WHERE seen < $1", now - DEAD_SECONDS
        )
        dead: list[int] = [row["id"] for row in rows]
        for number in dead:
            await self._bury(transaction, number)
        return dead

    async def _bury(self, transaction: Transaction, number: int) -> None:
        await transaction.execute("DELETE FROM mcp_workers WHERE id = $1", number)
        await transaction.execute("DELETE FROM mcp_mail WHERE worker = $1", number)
        await transaction.execute(
            "UPDATE mcp_sessions SET listener = NULL WHERE listener = $1", number
        )
        await self.post_all(transaction, WorkerGone(number))


async def _logged(chore: Coroutine[Any, Any, Any]) -> None:
    try:
        await chore
    except StoreError as error:
        log.error("the store failed: %s", error)
    except Exception:
        log.exception("a chore failed")
