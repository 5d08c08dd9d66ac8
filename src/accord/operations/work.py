"""What an operation is given, and what it tells about what it did.

An operation that writes runs inside of one transaction, with SQLite in the thread that writes: it
may wait for its database only. All that it does to an entity it tells by `did`; revisions, the
audit record, the search index, `dry_run` and those who listen all follow from these effects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, TypeVar
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from accord.operations.caller import Caller
from accord.store.store import Engine, Row

T = TypeVar("T")

Action: TypeAlias = Literal["created", "updated", "deleted"]


class Effect(Struct, frozen=True, kw_only=True):
    """What was done to one entity."""

    action: Action
    kind: str
    """Such as `epic`, `relationship`, `user`."""
    id: str
    reference_id: str = ""
    """What people call it, where it has such a name."""
    version: int = 0
    """After it."""
    before: Mapping[str, Any] | None = None
    """Its fields before, as they are stored; None for what was created. Without secrets."""
    after: Mapping[str, Any] | None = None


class Hint(Struct, frozen=True, kw_only=True):
    """Something that a write may break, or that reads badly; never a reason to refuse it."""

    code: str
    message: str
    reference_id: str = ""


class Changed(Struct, kw_only=True):
    """What a write gives; every result of one is of a subclass."""

    change_id: str | UnsetType = UNSET
    """By which it can be undone; set by the runner."""
    hints: list[Hint] | UnsetType = UNSET
    """What it may break, or what reads badly; set by the runner where there is something."""


class Database(Protocol):
    """What operations that only read use; those that write have `execute` beside it."""

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]: ...


class Work:
    """One run of an operation."""

    __slots__ = (
        "_services",
        "caller",
        "db",
        "effects",
        "engine",
        "hints",
        "known",
        "new_id",
        "now",
        "prepared",
        "reached",
        "states",
        "writes",
    )

    def __init__(
        self,
        db: Any,
        caller: Caller,
        *,
        now: str,
        new_id: Callable[[], str],
        engine: Engine,
        services: Mapping[type, Any],
        prepared: Any = None,
        writes: bool = False,
    ) -> None:
        self.db = db
        """A `Transaction` where the operation writes, else a `Database`."""
        self.caller = caller
        self.now = now
        """The time, as it is stored: UTC with microseconds, such as 2026-11-15T09:30:00.000000Z."""
        self.new_id = new_id
        self.engine = engine
        self.effects: list[Effect] = []
        self.hints: list[Hint] = []
        self.reached: list[str] = []
        """What it has do something beyond this installation, such as `agents`."""
        self.known: dict[str, Any] = {}
        """What was just written, by its id, so that recorders need not read it again. It holds as
        long as the effects tell of nothing but new entities."""
        self.prepared = prepared
        """What was made before the transaction began; see `Operation.prepare`."""
        self.states = 0
        """How many states of rows were kept for the audit trail."""
        self.writes = writes
        """Whether this is the transaction of an operation that writes."""
        self._services = services

    def did(self, effect: Effect) -> None:
        """Tell of something that was done."""
        self.effects.append(effect)

    def reaches(self, what: str) -> None:
        """Record that others, such as `agents`, do something because of this."""
        self.reached.append(what)

    def hint(self, hint: Hint) -> None:
        self.hints.append(hint)

    def acting(self, caller: Caller, *, now: str, new_id: Callable[[], str]) -> Work:
        """The same run, as if somebody did a part of it at another time; what that does belongs to
        this one."""
        other = Work(
            self.db,
            caller,
            now=now,
            new_id=new_id,
            engine=self.engine,
            services=self._services,
            writes=self.writes,
        )
        other.effects, other.hints, other.known = self.effects, self.hints, self.known
        other.reached = self.reached
        return other

    def service(self, kind: type[T]) -> T:
        """What the application was put together with, by its type."""
        found: T = self._services[kind]
        return found


def is_uuid(text: str) -> bool:
    """Whether `text` is the id of something, and not a name of it."""
    try:
        return len(text) == 36 and str(UUID(text)) == text.lower()
    except ValueError:
        return False
