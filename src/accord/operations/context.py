"""The context of an operation: rights, caller, database, recorded effects; new ids and the time.

A caller has the rights of its role. If it calls with a token, the scopes of the token restrict
them. Ownership, such as that of a comment, is checked by the operation itself.

An operation that writes runs inside one transaction, and with SQLite in the thread that writes. So
it may await nothing but the database. It records every change of an entity as an `Effect`. From the
effects follow revisions, the audit record, the search index, `dry_run` and calls of listeners.

Each call needs several ids and times, so they are cheap: random bytes are read from the system in
batches, since each read is a system call. A forked process reads bytes of its own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from threading import Lock
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from accord.operations.errors import ForbiddenError
from accord.operations.logs import redact
from accord.store.store import Engine, Row

Role: TypeAlias = Literal["Administrator", "User", "Commenter"]
Scope: TypeAlias = Literal["read", "comment", "write", "propose", "run", "approve", "admin"]
Right: TypeAlias = Literal[
    "read",
    "comment",
    "write",
    "propose",
    "delete",
    "run",
    "approve",
    "admin",
    "accounts",
    "session",
]

ROLES: Final[tuple[Role, ...]] = ("Administrator", "User", "Commenter")
SCOPES: Final[tuple[Scope, ...]] = (
    *("read", "comment", "write", "propose", "run", "approve", "admin"),
)

_EVERYBODY: Final = frozenset(ROLES)
_WRITERS: Final = frozenset[Role]({"Administrator", "User"})
_ADMINISTRATORS: Final = frozenset[Role]({"Administrator"})


class Rule(Struct, frozen=True):
    """The roles and the scope that one right requires."""

    roles: frozenset[Role]
    scope: Scope | None
    """The scope that a token needs; None if no token or workflow run has the right."""


RULES: Final[dict[Right, Rule]] = {
    "read": Rule(_EVERYBODY, "read"),
    "comment": Rule(_EVERYBODY, "comment"),
    "write": Rule(_WRITERS, "write"),
    "propose": Rule(_WRITERS, "propose"),
    "delete": Rule(_WRITERS, "write"),
    "run": Rule(_WRITERS, "run"),
    "approve": Rule(_WRITERS, "approve"),
    "admin": Rule(_ADMINISTRATORS, "admin"),
    # Setting passwords and roles gives access to every scope, so it takes a login session.
    "accounts": Rule(_ADMINISTRATORS, None),
    "session": Rule(_EVERYBODY, None),
}

IN_PERSON: Final = frozenset[Right](right for right, rule in RULES.items() if rule.scope is None)
"""Rights that no token has, whatever its scopes."""

ASSISTANT_SCOPES: Final = frozenset[Scope]({"read", "propose"})
"""Scopes of a token for a program that may not change things without approval."""


def default_scopes(role: Role) -> frozenset[Scope]:
    """Return the scopes of a token if none are given.

    These are all that the role allows except `approve`, which must be named.
    """
    return frozenset(
        rule.scope
        for rule in RULES.values()
        if role in rule.roles and rule.scope is not None and rule.scope != "approve"
    )


Via: TypeAlias = Literal["token", "session", "local", "system"]
"""The method by which a caller authenticated.

`local` is the command line on the machine itself, `system` is Accord itself.
"""
Face: TypeAlias = Literal["rest", "rpc", "mcp", "a2a", "cli", "web", "system"]


class Caller(Struct, frozen=True, kw_only=True):
    """A user or the system, and the way a call came in."""

    user_id: str
    username: str
    role: Role
    via: Via
    face: Face
    scopes: frozenset[Scope] = frozenset()
    """Scopes of the token; meaningless for callers with a session."""
    token_id: str = ""
    client: str = ""
    """The name of the client program, as it calls itself."""
    address: str = ""
    correlation_id: str = ""
    expires_at: str = ""
    """The time at which the token or the login session ends."""
    traceparent: str = ""
    """The span of the call (W3C Trace Context), if the client sent one."""
    run_id: str = ""
    """The workflow run that calls in the name of this user."""

    @property
    def is_administrator(self) -> bool:
        return self.role == "Administrator"

    def may(self, right: Right) -> bool:
        rule = RULES[right]
        if self.role not in rule.roles or (rule.scope is None and self.run_id):
            return False
        return self.via != "token" or rule.scope in self.scopes

    def require(self, right: Right, operation: str) -> None:
        """Raise ForbiddenError if the caller lacks this right.

        The error names the missing role or scope.
        """
        if self.may(right):
            return
        rule = RULES[right]
        if self.role not in rule.roles:
            needed = " or ".join(sorted(rule.roles))
            raise ForbiddenError(
                f"{operation} needs the role {needed}; {self.username} is {self.role}",
                required_roles=sorted(rule.roles),
            )
        if rule.scope is None:
            raise ForbiddenError(
                f"{operation} needs you to sign in: no token and no workflow run can do it"
            )
        way = ""
        if right == "write" and self.may("propose"):
            way = ": propose it by propose_changes, for a person to accept"
        raise ForbiddenError(
            f"{operation} needs a token with the scope {rule.scope!r}{way}",
            required_scope=rule.scope,
        )

    def require_own(self, owner_id: str, what: str) -> None:
        """Raise ForbiddenError unless the caller is the owner or an administrator."""
        if not self.is_administrator and owner_id != self.user_id:
            raise ForbiddenError(f"{what} belongs to somebody else")


MAX_CLIENT: Final = 200


@lru_cache(1_024)  # programs send the same name in every request
def client_name(text: str) -> str:
    """Return a client name that is safe to record.

    It is printable, of limited length, and without misplaced secrets.
    """
    name = redact(text)[:MAX_CLIENT]
    return name if name.isprintable() else "".join(c if c.isprintable() else "?" for c in name)


LOCAL: Final = Caller(user_id="", username="local", role="Administrator", via="local", face="cli")
"""The caller of commands on the machine itself: access to the data directory is full access."""
SYSTEM: Final = Caller(
    user_id="", username="accord", role="Administrator", via="system", face="system"
)
"""The caller of work that Accord does without a user: the first start, and scheduled work."""


T = TypeVar("T")

Action: TypeAlias = Literal["created", "updated", "deleted"]


class Effect(Struct, frozen=True, kw_only=True):
    """What was done to one entity."""

    action: Action
    kind: str
    """The kind of the entity, such as `epic`, `relationship`, `user`."""
    id: str
    reference_id: str = ""
    """The reference id by which people call the entity, if it has one."""
    version: int = 0
    """The version of the entity after the change."""
    before: Mapping[str, Any] | None = None
    """The fields before the change, as they are stored; None for a new entity. Without secrets."""
    after: Mapping[str, Any] | None = None


class Hint(Struct, frozen=True, kw_only=True):
    """Something that a write may break, or that reads badly; never a reason to refuse it."""

    code: str
    message: str
    reference_id: str = ""


class Changed(Struct, kw_only=True):
    """What a write gives; every result of one is of a subclass."""

    change_id: str | UnsetType = UNSET
    """The id of the change, by which it can be undone; set by the runner."""
    hints: list[Hint] | UnsetType = UNSET
    """What the write may break, or what reads badly; set by the runner if there is something."""


class Database(Protocol):
    """The database as reading operations see it; `Transaction` also has `execute`."""

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]: ...


class OperationContext:
    """The context of one run of an operation."""

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
        """A `Transaction` if the operation writes, else a `Database`."""
        self.caller = caller
        self.now = now
        """The time in its stored form: UTC with microseconds, 2026-11-15T09:30:00.000000Z."""
        self.new_id = new_id
        self.engine = engine
        self.effects: list[Effect] = []
        self.hints: list[Hint] = []
        self.reached: list[str] = []
        """Names of systems outside this installation that act because of the operation.

        An example is `agents`.
        """
        self.known: dict[str, Any] = {}
        """New entities by id, so that recorders need not read them from the database.

        Recorders may use them only if all effects are new entities.
        """
        self.prepared = prepared
        """The result of `Operation.prepare`, which runs before the transaction."""
        self.states = 0
        """The number of row states stored for the audit trail."""
        self.writes = writes
        """True in the transaction of an operation that writes."""
        self._services = services

    def record(self, effect: Effect) -> None:
        """Record a change of an entity."""
        self.effects.append(effect)

    def did(self, effect: Effect) -> None:
        """Record a change of an entity; the old name of `record`."""
        self.record(effect)

    def reaches(self, what: str) -> None:
        """Record that other systems, such as `agents`, act because of this operation."""
        self.reached.append(what)

    def hint(self, hint: Hint) -> None:
        """Add a hint to the result."""
        self.hints.append(hint)

    def acting(self, caller: Caller, *, now: str, new_id: Callable[[], str]) -> Work:
        """Return a context for a part of this operation that runs as another caller.

        For the part, `now` is the current time. Its effects and hints are added to those of this
        context.
        """
        other = OperationContext(
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
        """Return a service of the application by its type."""
        found: T = self._services[kind]
        return found


Work: TypeAlias = OperationContext
"""A short alias of `OperationContext`, which plugins use."""


def is_uuid(text: str) -> bool:
    """Return True if `text` is a UUID instead of a name."""
    try:
        return len(text) == 36 and str(UUID(text)) == text.lower()
    except ValueError:
        return False


_AT_ONCE: Final = 4096


class _Randomness:
    """Cryptographically random bytes, each used once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.forget()
        if hasattr(os, "register_at_fork"):  # only POSIX systems have it, and fork
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        # A new lock: at the fork, another thread of the parent may have held the old one.
        self._lock = Lock()
        self._bytes = b""
        self._place = 0

    def take(self, count: int) -> bytes:
        with self._lock:
            place = self._place
            if place + count > len(self._bytes):
                self._bytes = os.urandom(_AT_ONCE)
                place = 0
            self._place = place + count
            return self._bytes[place : place + count]


_randomness: Final = _Randomness()


def random_hex(count: int) -> str:
    """Return random bytes in hexadecimal. Not for secrets, which are read one by one."""
    return _randomness.take(count).hex()


def new_correlation_id() -> str:
    """Return a correlation id for a request whose client sent none."""
    return random_hex(16)


def new_id() -> str:
    """Return a UUID of a time and 62 random bits (RFC 9562, version 7, method 3).

    Rows that are made together are neighbours in an index, so fewer pages are written.
    """
    nanoseconds = time.time_ns()
    milliseconds, rest = divmod(nanoseconds, 1_000_000)
    made = f"{milliseconds:012x}{rest * 4096 // 1_000_000:03x}"
    digits = _randomness.take(8).hex()
    variant = "89ab"[int(digits[0], 16) & 3]
    return f"{made[:8]}-{made[8:12]}-7{made[12:]}-{variant}{digits[1:4]}-{digits[4:]}"


_second: tuple[int, str] = (-1, "")


def utc_now() -> str:
    """Return the time in its stored form: UTC with microseconds, in a fixed width."""
    global _second
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    known, text = _second
    if known != seconds:
        text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        _second = (seconds, text)
    return f"{text}.{nanoseconds // 1000:06d}Z"
