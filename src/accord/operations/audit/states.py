"""Row states: what rows that have no revisions look like after each write, as keyed digests.

Effects of the hub are kept as revisions, which the hashes in audit records prove. Users, tokens,
agents and workflows have none, and effects tell no secrets. So each write of them also keeps a
digest of every column, under the key of the trail: `verify` compares them with the rows.

change   rows of a change belong to its audit record, whose `after_hash` is that of the effects
others   the first run, the adoption of rows of an older release, and a password that is hashed
         anew change no entity; the `after_hash` of their records is that of the MACs of the rows
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from accord.operations.audit.chain import Chain
from accord.operations.audit.record import Record, Trail
from accord.operations.audit.storage import (
    ANY_STATE,
    INSERT_STATE,
    LAST_STATE,
    select_page,
    select_row,
)
from accord.operations.caller import SYSTEM
from accord.operations.identifiers import new_id, utc_now
from accord.operations.outcome import Change
from accord.operations.storage import LANE
from accord.operations.work import Database, Work
from accord.store.store import Store, Transaction

ADOPT: Final = "adopt_states"
"""The operation of the record that adopts the rows of an older release."""
PAGE: Final = 500


class State(Struct, frozen=True):
    """The columns of one row, by name; None if the row is deleted."""

    kind: str
    id: str
    values: Mapping[str, Any] | None
    label: str = ""
    """The name that people use."""


class Proven(Protocol):
    """Rows that have stored states."""

    @property
    def kind(self) -> str:
        """The kind of the effects that change these rows."""

    async def of(self, db: Database, id: str) -> list[State]:
        """Return the rows that an effect on `id` may have changed."""

    def every(self, db: Database) -> AsyncIterator[State]:
        """Yield all rows."""


class ProvenTable(Struct, frozen=True):
    """A table with one row for each entity; implements `ProvenRows`."""

    kind: str
    table: str
    columns: tuple[str, ...]
    """Without columns that change on their own, such as the last-used time of a token."""
    label: str
    key: str = "id"

    async def of(self, db: Database, id: str) -> list[State]:
        found = await db.fetch(select_row(self.table, self.columns, self.key), id)
        return [self._state(row) for row in found] or [State(self.kind, id, None)]

    async def every(self, db: Database) -> AsyncIterator[State]:
        after, page = "", select_page(self.table, self.columns, self.key, PAGE)
        while True:
            found = await db.fetch(page, after)
            for row in found:
                yield self._state(row)
            if len(found) < PAGE:
                return
            after = found[-1][self.key]

    def _state(self, row: Any) -> State:
        values = {name: row[name] for name in self.columns}
        return State(self.kind, str(row[self.key]), values, str(row[self.label]))


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
ACCOUNTS: Final[tuple[Proven, ...]] = (USERS, TOKENS)


class KeptState(Struct, frozen=True):
    """A row of `audit_states`, without its MAC."""

    sequence: int
    change_id: str
    place: int
    kind: str
    entity_id: str
    told: str | None
    """The values before and after its effect, as JSON, if no revision has them."""
    digests: str | None
    """By column, as JSON; None if the row is deleted."""


class StateKeeper:
    """Stores the states of changed rows together with the audit record."""

    def __init__(
        self,
        key: bytes,
        proven: Sequence[Proven] = ACCOUNTS,
        elsewhere: frozenset[str] = frozenset(),
    ) -> None:
        """Create a recorder.

        `elsewhere` are the kinds of effects without revisions.
        """
        self._chain = Chain(key)
        self._proven = {each.kind: each for each in proven}
        self._elsewhere = elsewhere

    async def record(self, work: Work, change: Change) -> None:
        """Store the states of rows changed without revisions; a `Recorder`."""
        kinds = {effect.kind for effect in work.effects}
        # If only a part of the effects has revisions, the others are stored here, so that the hash
        # of all of them can be recomputed.
        mixed = not kinds <= self._elsewhere and not kinds.isdisjoint(self._elsewhere)
        if kinds.isdisjoint(self._proven) and not mixed:
            return
        rows: list[tuple[int, State, str | None]] = []
        for place, effect in enumerate(work.effects):
            proven = self._proven.get(effect.kind)
            told = effect.kind in self._elsewhere and (mixed or proven is not None)
            if proven is None and not told:
                continue
            states = [] if proven is None else await proven.of(work.db, effect.id)
            first, *others = states or [State(effect.kind, effect.id, None)]
            said = (effect.before, effect.after)
            rows.append((place, first, _json(said) if told else None))
            rows += [(place, other, None) for other in others]
        work.states = len(await self._keep(work.db, change.id, rows))

    async def keep(self, db: Transaction, record: Record, states: Iterable[State]) -> Record:
        """Store states for a record without a change; return the record with their proof."""
        rows = [(place, state, None) for place, state in enumerate(states)]
        macs = await self._keep(db, record.id, rows)
        return replace(record, after_hash=hash_of_macs(macs), states=str(len(macs)))

    async def keep_of(self, db: Transaction, record: Record, *of: tuple[Proven, str]) -> Record:
        """Store the current states of the named rows; return the record with their proof."""
        states = [state for proven, id in of for state in await proven.of(db, id)]
        return await self.keep(db, record, states)

    async def adopt(self, store: Store, trail: Trail) -> None:
        """Store the states of all existing rows, once.

        From then on, rows of an older release and those of an empty database cannot be changed
        unnoticed. Raises StoreError.
        """

        async def work(transaction: Transaction) -> None:
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
        self, db: Transaction, change_id: str, rows: Sequence[tuple[int, State, str | None]]
    ) -> list[str]:
        if not rows:
            return []
        [found] = await db.fetch(LAST_STATE)
        macs = []
        for number, (place, state, told) in enumerate(rows, found["last"] + 1):
            kept = KeptState(
                number,
                change_id,
                place,
                state.kind,
                state.id,
                told,
                None if state.values is None else digests_of(self._chain, state),
            )
            macs.append(self._chain.state_mac(kept))
            await db.execute(INSERT_STATE, *msgspec.structs.astuple(kept), macs[-1])
        return macs


def digests_of(chain: Chain, state: State) -> str:
    """Return the digests of all columns, in their stored form."""
    values = state.values or {}
    told = {
        name: chain.digest((state.kind, state.id, name, value)) for name, value in values.items()
    }
    return _json(told)


def hash_of_macs(macs: Sequence[str]) -> str:
    """Return the hash of states that belong to a record without a change."""
    return sha256(msgspec.json.encode(macs)).hexdigest()


def _json(value: Any) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()
