"""Row states: keyed digests of rows without revisions, after each write, and their check.

Changes of entities of the hub are stored as revisions, which the hashes in audit records prove.
Users, tokens, agents and workflows have no revisions, and effects contain no secrets. So each write
to their rows also stores a digest of every column, made with the key of the trail: `verify`
compares the digests with the rows.

Rows written by an operation belong to the audit record of its change, whose `after_hash` is a hash
of the effects. Rows are also written without an effect: by the first run, by the adoption of rows
of an older release, and when a password is hashed again. The `after_hash` of such a record is a
hash of the MACs of the rows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from hashlib import sha256
from hmac import compare_digest
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from accord.operations.audit.record import AuditSink, Chain, Record, hash_of_values
from accord.operations.audit.storage import (
    ANY_STATE,
    INSERT_STATE,
    LAST_STATE,
    READ_STATES,
    STATES_MIGRATED,
    select_page,
    select_row,
)
from accord.operations.audit.verify import AuditFinding, Evidence
from accord.operations.context import SYSTEM, Database, OperationContext, new_id, utc_now
from accord.operations.operation import RecordedChange
from accord.operations.storage import LANE
from accord.store.store import ReadTransaction, Store, Transaction

ADOPT: Final = "adopt_states"
"""The operation named in the audit record of `StateRecorder.adopt`."""
ROWS_PER_PAGE: Final = 500


class RowState(Struct, frozen=True):
    """The columns of one row; `values` is None if the row is deleted."""

    kind: str
    id: str
    values: Mapping[str, Any] | None
    label: str = ""
    """The display name of the entity that the row belongs to, such as a username."""


class ProvenRows(Protocol):
    """A reader of the rows of one kind of entity, whose states the audit trail stores."""

    @property
    def kind(self) -> str:
        """The kind of the effects that change these rows."""

    async def of(self, db: Database, id: str) -> list[RowState]:
        """Return the states of the rows that an effect on `id` may have changed."""

    def every(self, db: Database) -> AsyncIterator[RowState]:
        """Yield the current states of all rows of this kind."""


class ProvenTable(Struct, frozen=True):
    """A table with one row for each entity; implements `ProvenRows`."""

    kind: str
    table: str
    columns: tuple[str, ...]
    """The compared columns, without those that change on their own, such as the last-used time of a
    token."""
    label: str
    key: str = "id"

    async def of(self, db: Database, id: str) -> list[RowState]:
        found = await db.fetch(select_row(self.table, self.columns, self.key), id)
        return [self._state(row) for row in found] or [RowState(self.kind, id, None)]

    async def every(self, db: Database) -> AsyncIterator[RowState]:
        after, page = "", select_page(self.table, self.columns, self.key, ROWS_PER_PAGE)
        while True:
            found = await db.fetch(page, after)
            for row in found:
                yield self._state(row)
            if len(found) < ROWS_PER_PAGE:
                return
            after = found[-1][self.key]

    def _state(self, row: Any) -> RowState:
        values = {name: row[name] for name in self.columns}
        return RowState(self.kind, str(row[self.key]), values, str(row[self.label]))


USERS: Final = ProvenTable(
    "user",
    "users",
    (
        *("id", "username", "username_key", "email", "role", "password_hash"),
        *("temporary_password", "active", "version", "created_at", "updated_at"),
    ),
    "username",
)
TOKENS: Final = ProvenTable(
    "token",
    "tokens",
    (
        *("id", "user_id", "name", "prefix", "last_four", "hash", "scopes"),
        *("created_at", "expires_at", "revoked_at"),
    ),
    "name",
)
ACCOUNT_TABLES: Final[tuple[ProvenRows, ...]] = (USERS, TOKENS)


class StoredState(Struct, frozen=True):
    """A row of `audit_states`, without its MAC."""

    sequence: int
    change_id: str
    place: int
    kind: str
    entity_id: str
    told: str | None
    """The entity before and after the effect that changed the row, as JSON.

    None if the values need not be stored here, for example because a revision contains them.
    """
    digests: str | None
    """The digests of the columns by name, as JSON; None if the row is deleted."""


class StateRecorder:
    """A recorder that stores the states of changed rows with the audit record."""

    def __init__(
        self,
        key: bytes,
        proven: Sequence[ProvenRows] = ACCOUNT_TABLES,
        elsewhere: frozenset[str] = frozenset(),
    ) -> None:
        """Create a recorder for the states of `proven` rows.

        `elsewhere` are the kinds of entities without revisions: the values of their effects are
        stored with the states.
        """
        self._chain = Chain(key)
        self._proven = {each.kind: each for each in proven}
        self._elsewhere = elsewhere

    async def record(self, work: OperationContext, change: RecordedChange) -> None:
        """Store the states of changed rows that have no revisions; a `Recorder`."""
        kinds = {effect.kind for effect in work.effects}
        # If only a part of the effects has revisions, the others are stored here, so that the hash
        # of all of them can be recomputed.
        mixed = not kinds <= self._elsewhere and not kinds.isdisjoint(self._elsewhere)
        if kinds.isdisjoint(self._proven) and not mixed:
            return
        rows: list[tuple[int, RowState, str | None]] = []
        for place, effect in enumerate(work.effects):
            proven = self._proven.get(effect.kind)
            stores_values = effect.kind in self._elsewhere and (mixed or proven is not None)
            if proven is None and not stores_values:
                continue
            states = [] if proven is None else await proven.of(work.db, effect.id)
            first, *others = states or [RowState(effect.kind, effect.id, None)]
            values = (effect.before, effect.after)
            rows.append((place, first, _json(values) if stores_values else None))
            rows += [(place, other, None) for other in others]
        work.states = len(await self._keep(work.db, change.id, rows))

    async def keep(self, db: Transaction, record: Record, states: Iterable[RowState]) -> Record:
        """Store states for a record without a change.

        Returns the record with the hash and the number of the states.
        """
        rows = [(place, state, None) for place, state in enumerate(states)]
        macs = await self._keep(db, record.id, rows)
        return replace(record, after_hash=hash_of_macs(macs), states=str(len(macs)))

    async def keep_of(self, db: Transaction, record: Record, *of: tuple[ProvenRows, str]) -> Record:
        """Read and store the current states of entities for a record without a change.

        `of` names the entities by kind of row and id. Returns the record with the hash and the
        number of the states.
        """
        states = [state for proven, id in of for state in await proven.of(db, id)]
        return await self.keep(db, record, states)

    async def adopt(self, store: Store, trail: AuditSink) -> None:
        """Store the states of all existing rows, unless any state is stored already.

        Rows of an older release have no stored states: changes that bypass operations are detected
        only from now on. Raises StoreError if the database fails.
        """

        async def work(transaction: Transaction) -> None:
            # Checked again inside the lane: another process may have adopted them meanwhile.
            if await transaction.fetch(ANY_STATE):
                return
            states = [
                state
                for proven in self._proven.values()
                async for state in proven.every(transaction)
            ]
            record = Record(
                id=new_id(),
                time=utc_now(),
                actor_id=SYSTEM.user_id,
                actor=SYSTEM.username,
                via=SYSTEM.via,
                face=SYSTEM.face,
                operation=ADOPT,
            )
            await trail.write(transaction, await self.keep(transaction, record, states))

        if not await store.fetch(ANY_STATE):
            await store.transact(work, lane=LANE)

    async def _keep(
        self, db: Transaction, change_id: str, rows: Sequence[tuple[int, RowState, str | None]]
    ) -> list[str]:
        if not rows:
            return []
        [found] = await db.fetch(LAST_STATE)
        macs = []
        for number, (place, state, told) in enumerate(rows, found["last"] + 1):
            stored = StoredState(
                number,
                change_id,
                place,
                state.kind,
                state.id,
                told,
                None if state.values is None else digests_of(self._chain, state),
            )
            macs.append(self._chain.state_mac(stored))
            await db.execute(INSERT_STATE, *msgspec.structs.astuple(stored), macs[-1])
        return macs


def digests_of(chain: Chain, state: RowState) -> str:
    """Return the digests of all columns, in their stored form."""
    values = state.values or {}
    told = {
        name: chain.digest((state.kind, state.id, name, value)) for name, value in values.items()
    }
    return _json(told)


def hash_of_macs(macs: Sequence[str]) -> str:
    """Return the hash of the MACs of states that belong to a record without a change."""
    return sha256(msgspec.json.encode(macs)).hexdigest()


def _json(value: Any) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()


STATES_PER_PAGE: Final = 1_000
_BEFORE_ALL: Final = -(2**63)


class StoredStates:
    """The genuine rows of `audit_states`."""

    def __init__(self) -> None:
        self.of_change: dict[str, list[StoredState]] = {}
        """States by change id; for records without a change, by record id."""
        self.macs: dict[str, list[str]] = {}
        self.last: dict[tuple[str, str], StoredState] = {}
        """The newest state by kind and id."""

    async def read(self, db: ReadTransaction, evidence: Evidence) -> None:
        """Read all states, and report changed or missing ones."""
        after: Any = _BEFORE_ALL
        expected = 1
        while rows := await db.fetch(READ_STATES, after, STATES_PER_PAGE):
            for row in rows:
                *values, mac = row
                state = StoredState(*values)
                if not compare_digest(str(mac).encode(), evidence.chain.state_mac(state).encode()):
                    where, detail = f"state {state.sequence}", "a kept state was changed"
                    evidence.found(AuditFinding("edited", where, detail))
                    continue
                if state.sequence > expected:
                    where, detail = f"state {expected}", "kept states are gone"
                    evidence.found(AuditFinding("removed", where, detail))
                expected = state.sequence + 1
                self.of_change.setdefault(state.change_id, []).append(state)
                self.macs.setdefault(state.change_id, []).append(mac)
                self.last[state.kind, state.entity_id] = state
            after = rows[-1]["sequence"]


class FurtherCheck(Protocol):
    """An additional data check, which also gets the stored states of rows."""

    async def check(
        self, db: ReadTransaction, evidence: Evidence, stored: StoredStates
    ) -> None: ...


class StateCheck:
    """Compares rows with their stored states; implements `DataCheck`."""

    def __init__(
        self,
        proven: Sequence[ProvenRows],
        operations: frozenset[str],
        others: frozenset[str] = frozenset(),
        further: Sequence[FurtherCheck] = (),
    ) -> None:
        """Create a check of the rows in `proven`.

        `operations` are the names of operations that change these rows and nothing else, `others`
        those of operations that always change both these rows and other data.
        """
        self._proven = proven
        self._operations = operations
        self._others = others
        self._further = further

    def keeps(self, record: Record) -> bool:
        if record.change_id:
            return bool(record.states) or record.operation in self._operations | self._others
        return bool(record.after_hash)

    async def check(self, db: ReadTransaction, evidence: Evidence) -> None:
        stored = StoredStates()
        if await db.fetch(STATES_MIGRATED):
            await stored.read(db, evidence)
        adopted, older = self._check_records(evidence, stored)
        if adopted:
            await evidence.attempt(self._check_rows(db, evidence, stored, older))
        else:
            evidence.unproven["accounts, tokens, agents and workflows: start this release once"] = (
                None
            )
        for each in self._further:
            await evidence.attempt(each.check(db, evidence, stored))

    def _check_records(self, evidence: Evidence, stored: StoredStates) -> tuple[bool, set[str]]:
        """Compare records with their states, and report differences.

        The first result is True if a record adopts existing rows (see `StateRecorder.adopt`). The
        second result is the targets of records that a server of an older release wrote after the
        adoption: it stored no states, so the rows of these targets cannot be compared.
        """
        adopted, older = False, set[str]()
        for record in evidence.records:
            if record.operation == ADOPT:
                if adopted:
                    detail = "rows were taken in a second time: what is kept of them had been gone"
                    evidence.found(AuditFinding("forged", record.id, detail))
                adopted = True
            is_proven = self._is_proven(record, stored)
            if is_proven is False:
                detail = f"the states that {record.operation} left are gone or of another change"
                evidence.found(AuditFinding("removed", record.change_id or record.id, detail))
            elif is_proven is None and adopted:
                older.update(record.target.split(", "))
            elif is_proven is None and record.operation not in self._others:
                evidence.unproven["changes of accounts, agents, workflows by older releases"] = None
            # The revisions of other operations are compared instead.
        return adopted, older

    def _is_proven(self, record: Record, stored: StoredStates) -> bool | None:
        """Return True if the stored states match the record that they belong to.

        None means that the record has no states, as those of an older release.
        """
        if not record.change_id:
            return hash_of_macs(stored.macs.get(record.id, [])) == record.after_hash
        states = stored.of_change.get(record.change_id)
        if record.states and record.operation not in self._operations:
            return len(states or ()) == int(record.states)
        if states is None:
            return False if record.states else None
        values = values_of(states).values()
        return (
            hash_of_values([before for before, _ in values]) == record.before_hash
            and hash_of_values([after for _, after in values]) == record.after_hash
        )

    async def _check_rows(
        self, db: ReadTransaction, evidence: Evidence, stored: StoredStates, older: set[str]
    ) -> None:
        left = dict(stored.last)
        kinds = set()
        for proven in self._proven:
            kinds.add(proven.kind)
            async for state in proven.every(db):
                kinds.add(state.kind)
                evidence.compared += 1
                last = left.pop((state.kind, state.id), None)
                if older.isdisjoint((state.id, state.label)):
                    _compare(evidence, state, last)
                else:
                    about = f"{state.kind} {state.label or state.id}, which an older server changed"
                    evidence.unproven[about] = None
        for (kind, id), last in left.items():
            if kind in kinds and last.digests is not None and id not in older:
                evidence.differs("removed", kind, id, "is gone, and no operation deleted it")


def _compare(evidence: Evidence, state: RowState, stored: StoredState | None) -> None:
    about = {"label": state.label}
    if stored is None:
        evidence.differs("forged", state.kind, state.id, "no operation made it", **about)
        return
    if stored.digests is None:
        detail = "is there, though an operation deleted it"
        evidence.differs("forged", state.kind, state.id, detail, **about)
        return
    expected = msgspec.json.decode(stored.digests, type=dict[str, str])
    found = msgspec.json.decode(digests_of(evidence.chain, state), type=dict[str, str])
    for name, digest in expected.items():
        # Columns dropped or added by a later release are not compared.
        if name in found and found[name] != digest:
            detail = "is not what an operation wrote"
            evidence.differs("edited", state.kind, state.id, detail, field=name, **about)


def values_of(states: Sequence[StoredState]) -> dict[int, tuple[Any, Any]]:
    """Return the values before and after each effect that has no revision.

    The key is the index of the effect in its change.
    """
    found = {state.place: state.told for state in states if state.told is not None}
    return {place: tuple(msgspec.json.decode(told)) for place, told in found.items()}
