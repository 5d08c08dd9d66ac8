"""The runner of operations: checks permission, opens the transaction, writes the audit record.

run(operation, arguments, caller)
  ├─ check the caller's right, and take the cost from the rate limit
  ├─ a read:   its function, on a connection that reads
  └─ a write:  one transaction
       ├─ an earlier call with the same idempotency key returns its result again
       ├─ the function records its effects
       ├─ recorders derive from them: revisions, the search index
       ├─ the audit record
       └─ a dry run rolls all of it back
  listeners get the effects once they are committed, then `finish` runs

Results of calls with an idempotency key are stored for a day. Each call that is stored removes a
few expired ones, so no other clean-up is needed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from hashlib import sha256
from time import perf_counter
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from accord.operations.arguments import convert
from accord.operations.audit.record import AuditSink, Record, Result, hash_of_values, target_of
from accord.operations.context import (
    Caller,
    Changed,
    Effect,
    OperationContext,
    Work,
    new_id,
    utc_now,
)
from accord.operations.errors import (
    Allowance,
    ConflictError,
    ForbiddenError,
    Limiter,
    ServiceError,
    ServiceUnavailableError,
)
from accord.operations.logs import serving
from accord.operations.operation import (
    Abilities,
    Operation,
    Outcome,
    Preview,
    RecordedChange,
    abilities,
)
from accord.operations.registry import DRY_RUN, IDEMPOTENCY_KEY, Registry
from accord.operations.storage import FIND_CALL, LANE, STORE_CALL, SWEEP_CALLS
from accord.store.store import ConstraintError, Store, StoreUnavailableError, Transaction

RETENTION: Final = timedelta(hours=24)
MAX_SWEPT_CALLS: Final = 10
"""Maximum number of expired calls removed with each new one."""


SECRET_FIELDS: Final = frozenset({"password", "current_password", "new_password", "token"})
"""Fields of arguments and results that are neither stored nor hashed.

The result of a replayed call lacks them.
"""


class EarlierCall(msgspec.Struct, frozen=True):
    """The stored result of an earlier call with the same idempotency key."""

    result: Any
    change_id: str


def request_hash(operation: str, arguments: dict[str, Any]) -> str:
    """Return a hash by which requests with the same idempotency key are compared."""
    public = _without_secrets(arguments)
    return sha256(msgspec.json.encode([operation, public], order="deterministic")).hexdigest()


async def find_earlier_call(work: OperationContext, key: str, hashed: str) -> EarlierCall | None:
    """Return the result of the earlier call with this idempotency key, if any.

    Raises ConflictError if that call had other arguments.
    """
    rows = await work.db.fetch(FIND_CALL, work.caller.user_id, _stored_key(key), _expiry(work))
    if not rows:
        return None
    if rows[0]["request_hash"] != hashed:
        raise ConflictError(f"the idempotency key {key!r} was used for another request")
    return EarlierCall(msgspec.json.decode(rows[0]["result"]), rows[0]["change_id"])


async def store_call(
    work: OperationContext, key: str, hashed: str, change_id: str, result: Any
) -> None:
    """Store the result of a call under its idempotency key."""
    await work.db.execute(SWEEP_CALLS, _expiry(work), MAX_SWEPT_CALLS)
    encoded = msgspec.json.encode(_without_secrets(msgspec.to_builtins(result))).decode()
    await work.db.execute(
        STORE_CALL, work.caller.user_id, _stored_key(key), hashed, change_id, encoded, work.now
    )


def _stored_key(key: str) -> str:
    """Return the hash that is stored for a key, as callers may choose a secret as key."""
    return sha256(key.encode()).hexdigest()


def _expiry(work: OperationContext) -> str:
    """Return the expiry time: calls stored before it are expired."""
    return (datetime.fromisoformat(work.now) - RETENTION).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _without_secrets(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        name: each
        for name, each in value.items()
        if name not in SECRET_FIELDS and each is not msgspec.UNSET
    }


log = logging.getLogger("accord.operations")

T = TypeVar("T")

Arguments: TypeAlias = Mapping[str, Any] | Callable[[], Mapping[str, Any]]
Recorder: TypeAlias = Callable[[OperationContext, RecordedChange], Awaitable[None]]
Observe: TypeAlias = Callable[[Operation, Caller, Result, float], None]
"""A function called after every call of an operation.

Its arguments are the operation, the caller, the outcome and the duration in seconds.
"""
Listener: TypeAlias = Callable[[Outcome, Caller, str], None]
"""A function called after every committed write, with its outcome, caller and operation name."""


class InternalOperationError(Exception):
    """An operation failed by an internal fault; callers get the correlation id only."""

    def __init__(self, correlation_id: str) -> None:
        super().__init__(f"internal error, correlation id {correlation_id}")
        self.correlation_id = correlation_id


_SAME_TIME: Final = "another call did the same at the same time: try again"


class _DryRun(Exception):  # noqa: N818 - rolls a transaction back, and is no error
    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome


class Runner:
    """Runs the operations of a registry on a store."""

    strict: ClassVar = False
    """True if a call that exceeds its declared abilities fails; otherwise it is only logged."""

    def __init__(
        self,
        registry: Registry,
        store: Store,
        trail: AuditSink,
        *,
        limiter: Limiter | None = None,
        services: Sequence[Any] = (),
        recorders: Sequence[Recorder] = (),
        observe: Observe | None = None,
        now: Callable[[], str] = utc_now,
        new_id: Callable[[], str] = new_id,
    ) -> None:
        self.registry = registry
        self.store = store
        self.trail = trail
        self.now = now
        self.new_id = new_id
        self._limiter = limiter
        self._services: Mapping[type, Any] = {
            type(each): each for each in (self, registry, *services)
        }
        self._recorders = recorders
        self._observe = observe
        self._abilities: dict[str, Abilities] = {}
        self._listeners: list[Listener] = []

    def service(self, kind: type[T]) -> T:
        """Return a service of the application by its type; see `OperationContext.service`."""
        found: T = self._services[kind]
        return found

    def listen(self, listener: Listener) -> None:
        """Call `listener` on the event loop after every write that this process commits."""
        self._listeners.append(listener)

    async def run(self, operation: Operation, arguments: Arguments, caller: Caller) -> Outcome:
        """Run an operation and return its outcome.

        `arguments` are complete and typed, or a function that returns them, which is called after
        the caller's permission was checked.

        Raises ServiceError for a refused call, InternalOperationError for a failed one.
        """
        if self._observe is None:
            return await self._run(operation, arguments, caller)
        begun = perf_counter()
        result: Result = "failed"
        try:
            outcome = await self._run(operation, arguments, caller)
            result = "done"
            return outcome
        except ServiceError as error:
            result = _result_of(error)
            raise
        except asyncio.CancelledError:
            result = "cancelled"
            raise
        finally:
            self._observe(operation, caller, result, perf_counter() - begun)

    async def _run(self, operation: Operation, arguments: Arguments, caller: Caller) -> Outcome:
        allowance: Allowance | None = None
        values: Mapping[str, Any] = {}
        outer = serving.get()
        serving.set((caller, operation.name))
        try:
            caller.require(operation.right, operation.name)
            allowance = await self.take(caller, operation.cost)
            values = arguments() if callable(arguments) else arguments
            if operation.writes:
                outcome = await self._write(operation, dict(values), caller)
            else:
                outcome = await self._read(operation, values, caller)
        except ServiceError as error:
            error.allowance = error.allowance or allowance
            result, code = _result_of(error), error.kind.code
            if result == "refused" and operation.writes and values.get(DRY_RUN):
                result = "dry_run"  # a refused attempt to change something is recorded otherwise
            self.trail.enqueue(
                self._record(operation, caller, result, code, _target(operation, values))
            )
            raise
        except StoreUnavailableError as error:
            target = _target(operation, values)
            self.trail.enqueue(self._record(operation, caller, "failed", "unavailable", target))
            log.error("%s: the database is not available: %s", operation.name, error)
            raise ServiceUnavailableError(error.told) from error
        except Exception as error:
            target = _target(operation, values)
            self.trail.enqueue(self._record(operation, caller, "failed", "internal_error", target))
            log.exception("%s failed", operation.name)
            raise InternalOperationError(caller.correlation_id) from error
        except asyncio.CancelledError:
            # The client is gone. A write that was begun goes on, and writes its own record.
            with suppress(ServiceUnavailableError):
                target = _target(operation, values)
                self.trail.enqueue(self._record(operation, caller, "cancelled", target=target))
            raise
        finally:
            serving.set(outer)
        return outcome if allowance is None else replace(outcome, allowance=allowance)

    def work(
        self, db: Any, caller: Caller, prepared: Any = None, *, writes: bool = False
    ) -> OperationContext:
        """Return the context to pass to an operation's function, for its work on `db`."""
        return OperationContext(
            db,
            caller,
            now=self.now(),
            new_id=self.new_id,
            engine=self.store.engine,
            services=self._services,
            prepared=prepared,
            writes=writes,
        )

    async def take(self, caller: Caller, cost: int) -> Allowance | None:
        """Take the cost of a call from the token buckets of its caller.

        Returns the allowance that is left, if there is a limit. Raises RateLimitedError if one of
        the buckets has less than `cost`.
        """
        if self._limiter is None or caller.via in ("local", "system"):
            return None
        keys = tuple(
            f"{what}:{value}"
            for what, value in (
                ("token", caller.token_id),
                ("user", "" if caller.token_id else caller.user_id),
                ("address", caller.address),
            )
            if value
        )
        return await self._limiter.take(keys, cost)

    async def _read(
        self, operation: Operation, arguments: Mapping[str, Any], caller: Caller
    ) -> Outcome:
        async def body(db: Any) -> Any:
            return await operation.function(self.work(db, caller), **arguments)

        result = await self.store.read(body, snapshot=operation.snapshot)
        target = _target(operation, arguments, result)
        self.trail.enqueue(self._record(operation, caller, target=target))
        return Outcome(result=result)

    async def _write(
        self, operation: Operation, arguments: dict[str, Any], caller: Caller
    ) -> Outcome:
        dry_run = arguments.pop(DRY_RUN, False)
        key = arguments.pop(IDEMPOTENCY_KEY, None)
        hashed = request_hash(operation.name, arguments) if key else ""
        prepared = None
        if operation.prepare is not None:
            prepared = await operation.prepare(self.work(self.store, caller), arguments)
        if dry_run:
            return await self._dry_run(operation, arguments, caller, prepared)
        outcome = await self._commit(operation, arguments, caller, prepared, key, hashed)
        if outcome.replayed:  # nothing was written, and so no record with it
            target = target_of(arguments, outcome.result)
            self.trail.enqueue(self._record(operation, caller, target=target))
        if outcome.effects:
            for listener in self._listeners:
                listener(outcome, caller, operation.name)
        if operation.finish is None:
            return outcome
        work = self.work(self.store, caller)
        return replace(outcome, result=await operation.finish(work, arguments, outcome.result))

    async def _commit(
        self,
        operation: Operation,
        arguments: dict[str, Any],
        caller: Caller,
        prepared: Any,
        key: str | None,
        hashed: str,
    ) -> Outcome:
        """Run a write in one transaction.

        If its idempotency key was used before, return the stored outcome instead. `hashed` is the
        hash of the request.
        """

        async def body(transaction: Transaction) -> Outcome:
            work = self.work(transaction, caller, prepared, writes=True)
            if key:
                before = await find_earlier_call(work, key, hashed)
                if before is not None:
                    return Outcome(result=before.result, change_id=before.change_id, replayed=True)
            outcome = await self._change(operation, arguments, work)
            # In the transaction of the change: a repeated call finds both or neither.
            if key:
                await store_call(work, key, hashed, outcome.change_id, outcome.result)
            return outcome

        try:
            return await self.store.transact(body, lane=LANE)
        except ConstraintError as error:
            raise ConflictError(_SAME_TIME) from error

    async def _dry_run(
        self, operation: Operation, arguments: dict[str, Any], caller: Caller, prepared: Any
    ) -> Outcome:
        """Run a write, and roll it back by an exception."""

        async def body(transaction: Transaction) -> None:
            work = self.work(transaction, caller, prepared, writes=True)
            raise _DryRun(await self._change(operation, arguments, work))

        try:
            if operation.rehearsed_on:
                await self.store.rehearse(body, operation.rehearsed_on)
            else:
                await self.store.transact(body, lane=LANE)
        except _DryRun as rolled_back:
            target = _targets(rolled_back.outcome.effects) or target_of(arguments)
            self.trail.enqueue(self._record(operation, caller, "dry_run", target=target))
            return _preview(rolled_back.outcome)
        except ConstraintError as error:
            raise ConflictError(_SAME_TIME) from error
        raise AssertionError("a dry run was committed")

    async def _change(
        self, operation: Operation, arguments: dict[str, Any], work: OperationContext
    ) -> Outcome:
        result = await operation.function(work, **arguments)
        self._check_abilities(operation, work)
        change = RecordedChange(id=self.new_id(), operation=operation.name)
        for recorder in self._recorders:
            await recorder(work, change)
        if isinstance(result, Changed):
            if work.effects:
                result.change_id = change.id
            if work.hints:
                result.hints = work.hints
        record = self._record(operation, work.caller, target=target_of(arguments))
        record = replace(record, states=str(work.states or ""))
        await self.trail.write(work.db, _with_effects(record, change.id, work.effects))
        return Outcome(
            result=result,
            change_id=change.id if work.effects else "",
            effects=tuple(work.effects),
            hints=tuple(work.hints),
        )

    def _check_abilities(self, operation: Operation, work: OperationContext) -> None:
        """Compare the effects of a call with the declared abilities, which clients rely on.

        A wrong declaration is only logged, so that it does not fail a user's call; with `strict`,
        as in tests, the call fails.
        """
        able = self._abilities.get(operation.name)
        if able is None:
            able = self._abilities[operation.name] = abilities(operation, self.registry)
        problem = exceeded_ability(work, able)
        if problem:
            log.error("operation %s %s", operation.name, problem)
            if self.strict:
                raise AssertionError(f"operation {operation.name} {problem}")

    def _record(
        self,
        operation: Operation,
        caller: Caller,
        outcome: Result = "done",
        error: str = "",
        target: str = "",
    ) -> Record:
        return Record(
            id=self.new_id(),
            time=self.now(),
            actor_id=caller.user_id,
            actor=caller.username,
            via=caller.via,
            face=caller.face,
            token_id=caller.token_id,
            client=caller.client,
            address=caller.address,
            operation=operation.name,
            target=target,
            outcome=outcome,
            error=error,
            correlation_id=caller.correlation_id,
        )


def exceeded_ability(work: OperationContext, able: Abilities) -> str:
    """Return a description of undeclared effects of a call; empty if there are none."""
    deleted = sorted({effect.kind for effect in work.effects if effect.action == "deleted"})
    if deleted and able.destructive is False:
        return f"deleted {', '.join(deleted)} without being declared destructive"
    if work.reached and able.open_world is False:
        return f"reached {', '.join(sorted(set(work.reached)))} without being declared open_world"
    return ""


def _result_of(error: ServiceError) -> Result:
    if isinstance(error, ServiceUnavailableError):
        return "failed"
    return "denied" if isinstance(error, ForbiddenError) else "refused"


def _preview(outcome: Outcome) -> Outcome:
    result = outcome.result
    if isinstance(result, Changed):  # there is no such change, and the hints are told once
        result.change_id = result.hints = UNSET
    return Outcome(result=Preview(result=result, changes=outcome.effects, hints=outcome.hints))


def _with_effects(record: Record, change_id: str, effects: list[Effect]) -> Record:
    return replace(
        record,
        target=_targets(effects) or record.target,
        change_id=change_id if effects else "",
        before_hash=hash_of_values([effect.before for effect in effects]),
        after_hash=hash_of_values([effect.after for effect in effects]),
    )


def _target(operation: Operation, arguments: Mapping[str, Any], result: Any = None) -> str:
    """Return the target of a call for its audit record.

    For a read that names no target, return the tag of the operation, such as `epics`.
    """
    return target_of(arguments, result) or ("" if operation.writes else operation.tag)


def _targets(effects: Sequence[Effect]) -> str:
    return ", ".join(effect.reference_id or effect.id for effect in effects[:20])


async def perform(work: Work, operation: str, /, **arguments: Any) -> Any:
    """Run another operation as a part of the current one, and return its result.

    It runs in the same transaction, as the same caller, with its effects in the same record.
    Raises ServiceError as that operation does, ForbiddenError if the caller may not call it, and
    LookupError for an unknown operation or one that cannot be a part of this one.
    """
    found = work.service(Registry).get(operation)
    if found is None or found.prepare is not None or found.finish is not None:
        raise LookupError(f"no operation {operation!r} can be a part of another")
    if found.writes and not work.writes:
        raise LookupError(f"{operation!r} writes, and cannot be a part of one that only reads")
    work.caller.require(found.right, found.name)
    values = convert(found, arguments)
    for name in (DRY_RUN, IDEMPOTENCY_KEY):
        values.pop(name, None)
    return await found.function(work, **values)
