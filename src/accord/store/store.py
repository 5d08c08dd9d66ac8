"""The face of a store. Who uses it does not know which database is behind it.

SQL is written once for both: parameters are `$1`, `$2`, … . A transaction is a function:

    async def rename(transaction: Transaction) -> int:
        await transaction.fetch(…)
        return await transaction.execute(…)

    await store.transact(rename)

All transactions are serializable: each sees what those before it left, and nothing of others that
run at the same time. Those of a lane are so towards each other, and never get in each other's way;
where two lanes write to one table they only add rows to it. The function may be run again when it
got in another's way, and may wait for nothing but its own statements. With SQLite it runs in the
thread that writes: it must not touch what belongs to the event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from importlib.resources.abc import Traversable
from types import TracebackType
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from accord.store.counts import Load, StoreCounts

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


class Reading(Protocol):
    """A connection that only reads, for the function that it was given to."""

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        """The rows that a statement gives. Raises StoreError."""


Work: TypeAlias = Callable[[Transaction], Coroutine[Any, Any, T]]
ReadWork: TypeAlias = Callable[[Reading], Coroutine[Any, Any, T]]


class Store(Protocol):
    """A database that is open. Used on one event loop."""

    engine: Engine
    counts: StoreCounts

    @property
    def load(self) -> Load:
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
