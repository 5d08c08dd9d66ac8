"""The interface of a store, independent of the database behind it.

SQL is written once for SQLite and PostgreSQL: parameters are `$1`, `$2`, … . A transaction is a
function:

    async def rename(transaction: Transaction) -> int:
        await transaction.fetch(…)
        return await transaction.execute(…)

    await store.transact(rename)

All transactions are serializable: each sees what earlier ones committed, and nothing of those that
run at the same time. Transactions of one lane run one after the other and never conflict; two
lanes that write to the same table may only add rows to it. The function may run again after a
conflict, and may await nothing but statements of the transaction. With SQLite it runs in the writer
thread: it must not touch anything that belongs to the event loop.

The errors of the database drivers are translated; they never leave this package.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from importlib.resources.abc import Traversable
from types import TracebackType
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct


class StoreError(Exception):
    """A failure of the store; the message says why."""


class ConstraintError(StoreError):
    """A row that violates a constraint of its table, such as a unique key."""


class StoreUnavailableError(StoreError):
    """The database is unreachable, was locked for too long, or is closed."""

    told: str = "the database is not available at the moment"
    """The public message, for callers; it does not reveal the location of the database."""


class StoreUnwritableError(StoreUnavailableError):
    """A database that can only be read at the moment.

    `reason` is a clause such as `its disk is full`.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.told = f"the database cannot be written at the moment: {reason}"


class StoreCounts(Struct):
    """Counters of a store since it was opened.

    Only one thread changes them: the writer thread with SQLite, the event loop's with PostgreSQL.
    """

    transactions: int = 0
    """Transactions that were run, failed ones included."""
    waited: float = 0.0
    """Total seconds that transactions waited in the queue."""
    commits: int = 0
    """Commits; one commit may cover many transactions."""
    failed_commits: int = 0
    conflicts: int = 0
    """Conflicts between transactions; a conflicting transaction is run again."""

    def begun(self, asked: Iterable[float], now: float) -> None:
        """Count transactions that begin now; `asked` has the times of their submission."""
        for each in asked:
            self.transactions += 1
            self.waited += now - each


class StoreLoad(Struct, frozen=True):
    """The current load of a store."""

    waiting: int
    """Transactions in the queue."""
    busy: int = 0
    """Connections of the pool in use; SQLite has no pool."""
    idle: int = 0
    most: int = 0
    """Maximum number of connections in the pool."""


T = TypeVar("T")

Engine: TypeAlias = Literal["sqlite", "postgresql"]


class Row(Protocol):
    """A row of a result; values are accessed by name or index."""

    def __getitem__(self, key: str | int, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...

    def __len__(self) -> int: ...


class Transaction(Protocol):
    """An open transaction, as passed to a `Work` function."""

    @property
    def engine(self) -> Engine:
        """The kind of database, for statements that are much faster in its own SQL."""

    async def execute(self, sql: str, /, *arguments: Any) -> int:
        """Run a statement; return the number of changed rows.

        Raises StoreError if the statement fails.
        """

    async def execute_later(self, sql: str, /, *arguments: Any) -> None:
        """Queue a statement that changes rows.

        It runs before the next statement that is not queued, or before the commit. Different queued
        statements may be combined into one, in which none sees the changes of another. Raises
        StoreError, possibly later, if a statement fails.
        """

    async def execute_many(self, sql: str, rows: Sequence[Sequence[Any]], /) -> None:
        """Run a statement once for each row of arguments.

        Raises StoreError if the statement fails.
        """

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        """Return the rows of a statement.

        Raises StoreError if the statement fails.
        """

    async def notify(self, channel: str, /) -> None:
        """Wake the listeners of `channel` in all processes after the commit."""


class ReadTransaction(Protocol):
    """A read-only connection, as passed to a `ReadWork` function."""

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        """Return the rows of a statement.

        Raises StoreError if the statement fails.
        """


Work: TypeAlias = Callable[[Transaction], Coroutine[Any, Any, T]]
ReadWork: TypeAlias = Callable[[ReadTransaction], Coroutine[Any, Any, T]]


class Store(Protocol):
    """An open database. Use it on one event loop."""

    engine: Engine
    counts: StoreCounts

    @property
    def load(self) -> StoreLoad:
        """The current load."""

    async def __aenter__(self) -> Store: ...

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    async def migrate(self, part: str, folder: Traversable) -> None:
        """Run the pending migrations of one part of the application.

        Raises StoreError if the database has migrations that `folder` lacks.
        """

    async def applied(self, part: str) -> dict[int, str]:
        """Return the applied migrations of one part of the application: names by number.

        `part` is its name, as passed to `migrate`.
        """

    async def transact(self, work: Work[T], *, lane: str = "") -> T:
        """Run `work` in a transaction, commit it, and return its result.

        Transactions of the same `lane` run one after the other, across all processes, and so
        never conflict. Raises StoreError and the exceptions of `work`.
        """

    async def read(self, work: ReadWork[T], *, snapshot: bool = False) -> T:
        """Run `work` on a read-only connection, and return its result.

        With `snapshot` all its statements see the same state. `work` may be run again. Raises
        StoreError and the exceptions of `work`.
        """

    async def rehearse(self, work: Work[T], tables: Sequence[str]) -> T:
        """Run `work` as a dry run and return its result; its changes are discarded.

        `work` runs on a copy and blocks no other transaction. With SQLite the copy is of the whole
        file, and `work` runs in a thread. With PostgreSQL the copy is of `tables`, which must be
        all tables that `work` writes to. Raises StoreError and the
        exceptions of `work`.
        """

    async def execute(self, sql: str, /, *arguments: Any) -> int:
        """Run one statement in its own transaction; return the number of changed rows."""

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        """Return the rows of one statement that only reads."""

    def fetch_now(self, sql: str, /, *arguments: Any) -> list[Row] | None:
        """Return the rows like `fetch`, or None if that requires waiting."""

    async def write(self, sql: str, /, *arguments: Any) -> list[Row]:
        """Run one writing statement atomically; return the rows of its RETURNING clause.

        It runs outside of all lanes, and sees the committed result of concurrent writes to the
        same rows.
        """

    async def writing_fault(self) -> str:
        """Return the reason why writes fail, such as `its disk is full`.

        The text is empty if writes work, or if no write has failed yet. Raises StoreError if the
        database is unavailable.
        """

    async def notify(self, channel: str, /) -> None:
        """Wake the listeners of `channel` in all processes."""

    async def listen(self, channel: str, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` when `channel` is notified; return a function to stop that.

        Notifications may be merged or spurious and carry no data: read the database for the
        actual changes.
        """

    async def close(self) -> None:
        """Finish pending transactions, and close the database."""


DATABASE_CLOCK: Final[dict[Engine, str]] = {
    "sqlite": "((julianday('now') - 2440587.5) * 86400.0)",
    "postgresql": "(extract(epoch FROM clock_timestamp())::double precision)",
}
"""The SQL expression for the current time of the database, in seconds since 1970."""


FULL: Final = "its disk is full"
READ_ONLY: Final = "it is read-only"
DISK_FAILS: Final = "its disk fails"

_PROBE: Final = "accord_write_probe"
_FILLER: Final = 1024 * 1024
"""Number of characters that a test write writes (see `Writability`): more than most writes need,
and more than a full database has free."""
_MAKE: Final = f"CREATE TABLE IF NOT EXISTS {_PROBE} (filler TEXT)"
_FILL: Final = f"INSERT INTO {_PROBE} (filler) VALUES ($1)"
_DROP: Final = f"DROP TABLE IF EXISTS {_PROBE}"


class Writability:
    """The state of writes to a database: they work, or fail for a reason.

    Test writes keep the state up to date.
    """

    __slots__ = ("reason",)

    def __init__(self) -> None:
        self.reason = ""
        """The reason of the last failed write; empty if writes work."""

    async def check(self, probe: Callable[[], Awaitable[None]]) -> str:
        """Return the reason why writes fail; empty if writes work.

        If the last write failed, `probe` tests whether writes still fail. Raises
        StoreUnavailableError if the database is unavailable.
        """
        if not self.reason:
            return ""
        try:
            await probe()
        except StoreUnwritableError as error:
            self.reason = error.reason
        except StoreUnavailableError:
            raise
        except StoreError:
            self.reason = ""  # the probe itself failed: the next write will show
        else:
            self.reason = ""
        return self.reason


async def try_writing(transaction: Transaction) -> None:
    """Write filler data and remove it again.

    Raises StoreError if the database cannot be written.
    """
    await write_filler(transaction)
    await remove_filler(transaction)


async def write_filler(transaction: Transaction) -> None:
    """Write filler data, for `remove_filler` to remove.

    Raises StoreError if the database cannot be written.
    """
    await transaction.execute(_MAKE)
    await transaction.execute(_FILL, "x" * _FILLER)


async def remove_filler(transaction: Transaction) -> None:
    """Remove the data of `write_filler`, if there is any.

    Raises StoreError if the database cannot be written.
    """
    await transaction.execute(_DROP)


_CHANNEL: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")


def check_channel(channel: str) -> None:
    """Raise ValueError for a channel name that some databases do not allow."""
    if not _CHANNEL.fullmatch(channel):
        raise ValueError(f"{channel!r} is no channel: a-z, 0-9 and _, at most 63 of them")
