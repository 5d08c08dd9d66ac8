"""The interface of a store, independent of the database behind it.

SQL is written once for both databases: parameters are `$1`, `$2`, … . A transaction is a function:

    async def rename(transaction: Transaction) -> int:
        await transaction.fetch(…)
        return await transaction.execute(…)

    await store.transact(rename)

All transactions are serializable: each sees what earlier ones committed, and nothing of those that
run at the same time. Transactions of one lane run one after the other and never conflict; two
lanes that write to the same table may only add rows to it. The function may run again after a
conflict, and may await nothing but its own statements. With SQLite it runs in the writer thread:
it must not touch anything that belongs to the event loop.

The errors of the database drivers are translated; they never leave this package.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from importlib.resources.abc import Traversable
from types import TracebackType
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct


class StoreError(Exception):
    """The store cannot do what it was asked for; the message says why."""


class ConstraintError(StoreError):
    """A row would break a rule of its table, such as a key that is taken."""


class StoreUnavailableError(StoreError):
    """The database cannot be reached, is locked by others for too long, or was closed."""

    told: str = "the database is not available at the moment"
    """What callers are told, who need not know where it is."""


class StoreUnwritableError(StoreUnavailableError):
    """The database can be read but not written, for a reason such as `its disk is full`."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.told = f"the database cannot be written at the moment: {reason}"


class StoreCounts(Struct):
    """What was written since the store was opened. Each store has one writer, which counts."""

    transactions: int = 0
    """Those that were run, whatever came of them."""
    waited: float = 0.0
    """Seconds that they waited for their turn, together."""
    commits: int = 0
    """One may be for many transactions."""
    failed_commits: int = 0
    conflicts: int = 0
    """Transactions that were run again because others were in their way."""

    def begun(self, asked: Iterable[float], now: float) -> None:
        """Transactions begin that were asked for at these times."""
        for each in asked:
            self.transactions += 1
            self.waited += now - each


class StoreLoad(Struct, frozen=True):
    """How busy a store is right now."""

    waiting: int
    """Transactions that wait for their turn."""
    busy: int = 0
    """Connections of the pool that somebody uses; a file has no pool."""
    idle: int = 0
    most: int = 0
    """How many connections the pool may have."""


T = TypeVar("T")

Engine: TypeAlias = Literal["sqlite", "postgresql"]


class Row(Protocol):
    """One row of a result, whose values are found by name or place."""

    def __getitem__(self, key: str | int, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...

    def __len__(self) -> int: ...


class Transaction(Protocol):
    """A transaction that is open, for the function that it was given to."""

    @property
    def engine(self) -> Engine:
        """Which database it is, for statements that are far better written for one of them."""

    async def execute(self, sql: str, /, *arguments: Any) -> int:
        """Run a statement; how many rows it changed. Raises StoreError."""

    async def execute_later(self, sql: str, /, *arguments: Any) -> None:
        """Run a statement that changes rows before any other is run, or at the end. Several that
        differ may be run as one: none sees what another does. Raises StoreError, perhaps later."""

    async def execute_many(self, sql: str, rows: Sequence[Sequence[Any]], /) -> None:
        """Run a statement once for each of these arguments. Raises StoreError."""

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        """The rows that a statement gives. Raises StoreError."""

    async def notify(self, channel: str, /) -> None:
        """Wake those who listen to `channel`, here and in other processes, once the transaction
        is committed."""


class ReadTransaction(Protocol):
    """A connection that only reads, for the function that it was given to."""

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        """The rows that a statement gives. Raises StoreError."""


Work: TypeAlias = Callable[[Transaction], Coroutine[Any, Any, T]]
ReadWork: TypeAlias = Callable[[ReadTransaction], Coroutine[Any, Any, T]]


class Store(Protocol):
    """A database that is open. Used on one event loop."""

    engine: Engine
    counts: StoreCounts

    @property
    def load(self) -> StoreLoad:
        """How busy it is."""

    async def __aenter__(self) -> Store: ...

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    async def migrate(self, part: str, folder: Traversable) -> None:
        """Run the migrations of one part of the application that have not been run. Raises
        StoreError where the database has some that the folder has not."""

    async def applied(self, part: str) -> dict[int, str]:
        """The numbers and names of the migrations of a part that have been run."""

    async def transact(self, work: Work[T], *, lane: str = "") -> T:
        """The result of `work`, whose changes are all there when this returns, or none of them.
        Raises what it raises, and StoreError. Those with the same `lane` run one after the other,
        in all processes, and so are never in each other's way."""

    async def read(self, work: ReadWork[T], *, snapshot: bool = False) -> T:
        """The result of `work`, which only reads, on one connection. With `snapshot` all its
        statements see the same state. It may be run again. Raises what it raises, and
        StoreError."""

    async def rehearse(self, work: Work[T], tables: Sequence[str]) -> T:
        """Return the result of `work`, of which nothing is kept, and for which nobody waits.

        It is run on a copy: with SQLite of the whole file, in a thread; with PostgreSQL of the
        `tables` that it writes to. Raises what it raises, and StoreError.
        """

    async def execute(self, sql: str, /, *arguments: Any) -> int:
        """Run one statement in a transaction of its own; how many rows it changed."""

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        """The rows that one reading statement gives."""

    def fetch_now(self, sql: str, /, *arguments: Any) -> list[Row] | None:
        """The same where nothing has to be waited for; None where something has."""

    async def write(self, sql: str, /, *arguments: Any) -> list[Row]:
        """The rows that one writing statement gives (RETURNING), which is all or nothing and
        waits for nobody's lane; where others write to the same rows it sees what they left."""

    async def writing_fault(self) -> str:
        """Return why nothing can be written, such as `its disk is full`; empty where it can, as far
        as anybody found out. Raises StoreError."""

    async def notify(self, channel: str, /) -> None:
        """Wake those who listen to `channel`, here and in other processes."""

    async def listen(self, channel: str, hear: Callable[[], None]) -> Callable[[], None]:
        """Have `hear` called on the loop when somebody notifies `channel`, perhaps once for
        several times, perhaps for nothing; call what this gives to stop. What there is to know is
        in the database: a wake says only that it is time to look."""

    async def close(self) -> None:
        """Finish what was begun, and let go of the database."""


DATABASE_CLOCK: Final[dict[Engine, str]] = {
    "sqlite": "((julianday('now') - 2440587.5) * 86400.0)",
    "postgresql": "(extract(epoch FROM clock_timestamp())::double precision)",
}
"""SQL for the time, in seconds since 1970."""


FULL: Final = "its disk is full"
READ_ONLY: Final = "it is read-only"
DISK_FAILS: Final = "its disk fails"

_PROBE: Final = "accord_write_probe"
_FILLER: Final = 1024 * 1024
"""Characters that are written: more than most writes, and than the database has left over."""
_MAKE: Final = f"CREATE TABLE IF NOT EXISTS {_PROBE} (filler TEXT)"
_FILL: Final = f"INSERT INTO {_PROBE} (filler) VALUES ($1)"
_DROP: Final = f"DROP TABLE IF EXISTS {_PROBE}"


class Writability:
    """What is known about writing to one database."""

    __slots__ = ("reason",)

    def __init__(self) -> None:
        self.reason = ""
        """Why the last write that failed for such a reason did; empty where none has."""

    async def check(self, probe: Callable[[], Awaitable[None]]) -> str:
        """Return why nothing can be written; empty where it can. Raises StoreUnavailableError."""
        if not self.reason:
            return ""
        try:
            await probe()
        except StoreUnwritableError as error:
            self.reason = error.reason
        except StoreUnavailableError:
            raise
        except StoreError:
            self.reason = ""  # it cannot be tried: the next write will tell
        else:
            self.reason = ""
        return self.reason


async def try_writing(transaction: Transaction) -> None:
    """Write something, and leave nothing of it. Raises StoreError."""
    await write_filler(transaction)
    await remove_filler(transaction)


async def write_filler(transaction: Transaction) -> None:
    """Write something that `remove_filler` removes again. Raises StoreError."""
    await transaction.execute(_MAKE)
    await transaction.execute(_FILL, "x" * _FILLER)


async def remove_filler(transaction: Transaction) -> None:
    """Remove what `write_filler` wrote, if it did. Raises StoreError."""
    await transaction.execute(_DROP)
