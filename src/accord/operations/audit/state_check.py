"""Compares users, tokens and whatever else has no revisions with the states that were kept."""

from __future__ import annotations

from collections.abc import Sequence
from hmac import compare_digest
from typing import Any, Final, Protocol

import msgspec

from accord.operations.audit.record import Record, hash_of_values
from accord.operations.audit.states import (
    ADOPT,
    KeptState,
    Proven,
    State,
    digests_of,
    hash_of_macs,
)
from accord.operations.audit.storage import READ_STATES, STATES_MIGRATED
from accord.operations.audit.verify import Evidence, Finding
from accord.store.store import Reading

PAGE: Final = 1_000
_BEFORE_ALL: Final = -(2**63)


class KeptStates:
    """The genuine rows of `audit_states`."""

    def __init__(self) -> None:
        self.of_change: dict[str, list[KeptState]] = {}
        """States by change id; for records without a change, by record id."""
        self.macs: dict[str, list[str]] = {}
        self.last: dict[tuple[str, str], KeptState] = {}
        """The newest state by kind and id."""

    async def read(self, db: Reading, evidence: Evidence) -> None:
        """Read all states, and report changed or missing ones."""
        after: Any = _BEFORE_ALL
        expected = 1
        while rows := await db.fetch(READ_STATES, after, PAGE):
            for row in rows:
                *values, mac = row
                state = KeptState(*values)
                if not compare_digest(str(mac).encode(), evidence.chain.state_mac(state).encode()):
                    where, detail = f"state {state.sequence}", "a kept state was changed"
                    evidence.found(Finding("edited", where, detail))
                    continue
                if state.sequence > expected:
                    where, detail = f"state {expected}", "kept states are gone"
                    evidence.found(Finding("removed", where, detail))
                expected = state.sequence + 1
                self.of_change.setdefault(state.change_id, []).append(state)
                self.macs.setdefault(state.change_id, []).append(mac)
                self.last[state.kind, state.entity_id] = state
            after = rows[-1]["sequence"]


class FurtherCheck(Protocol):
    """A check that needs the stored states as well."""

    async def check(self, db: Reading, evidence: Evidence, kept: KeptStates) -> None: ...


class StateCheck:
    """Compares rows with their stored states; implements `DataCheck`."""

    def __init__(
        self,
        proven: Sequence[Proven],
        operations: frozenset[str],
        others: frozenset[str] = frozenset(),
        further: Sequence[FurtherCheck] = (),
    ) -> None:
        """Create a check of the rows in `proven`.

        `operations` are those that change these rows and nothing else; `others` always change them
        and something else.
        """
        self._proven = proven
        self._operations = operations
        self._others = others
        self._further = further

    def keeps(self, record: Record) -> bool:
        if record.change_id:
            return bool(record.states) or record.operation in self._operations | self._others
        return bool(record.after_hash)

    async def check(self, db: Reading, evidence: Evidence) -> None:
        kept = KeptStates()
        if await db.fetch(STATES_MIGRATED):
            await kept.read(db, evidence)
        adopted, older = self._check_records(evidence, kept)
        if adopted:
            await evidence.attempt(self._check_rows(db, evidence, kept, older))
        else:
            evidence.unproven["accounts, tokens, agents and workflows: start this release once"] = (
                None
            )
        for each in self._further:
            await evidence.attempt(each.check(db, evidence, kept))

    def _check_records(self, evidence: Evidence, kept: KeptStates) -> tuple[bool, set[str]]:
        """Compare records with their states.

        Return whether the rows of an older release, or of an empty database, were adopted; and the
        targets of records that a server of an older release wrote next to this one.
        """
        adopted, older = False, set[str]()
        for record in evidence.records:
            if record.operation == ADOPT:
                if adopted:
                    detail = "rows were taken in a second time: what is kept of them had been gone"
                    evidence.found(Finding("forged", record.id, detail))
                adopted = True
            if not record.change_id:
                good = hash_of_macs(kept.macs.get(record.id, [])) == record.after_hash
            elif record.states and record.operation not in self._operations:
                good = len(kept.of_change.get(record.change_id, ())) == int(record.states)
            elif record.change_id in kept.of_change:
                told = told_of(kept.of_change[record.change_id]).values()
                good = hash_of_values([before for before, _ in told]) == record.before_hash
                good = good and hash_of_values([after for _, after in told]) == record.after_hash
            elif record.states:
                good = False
            elif adopted:
                older.update(record.target.split(", "))
                continue
            elif record.operation in self._others:
                continue  # its revisions are compared instead
            else:
                evidence.unproven["changes of accounts, agents, workflows by older releases"] = None
                continue
            if not good:
                detail = f"the states that {record.operation} left are gone or of another change"
                evidence.found(Finding("removed", record.change_id or record.id, detail))
        return adopted, older

    async def _check_rows(
        self, db: Reading, evidence: Evidence, kept: KeptStates, older: set[str]
    ) -> None:
        left = dict(kept.last)
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


def _compare(evidence: Evidence, state: State, kept: KeptState | None) -> None:
    about = {"label": state.label}
    if kept is None:
        evidence.differs("forged", state.kind, state.id, "no operation made it", **about)
        return
    if kept.digests is None:
        detail = "is there, though an operation deleted it"
        evidence.differs("forged", state.kind, state.id, detail, **about)
        return
    expected = msgspec.json.decode(kept.digests, type=dict[str, str])
    found = msgspec.json.decode(digests_of(evidence.chain, state), type=dict[str, str])
    for name, digest in expected.items():
        # Columns dropped or added by a later release are not compared.
        if name in found and found[name] != digest:
            detail = "is not what an operation wrote"
            evidence.differs("edited", state.kind, state.id, detail, field=name, **about)


def told_of(states: Sequence[KeptState]) -> dict[int, tuple[Any, Any]]:
    """Return the values before and after each effect without a revision, by place."""
    found = {state.place: state.told for state in states if state.told is not None}
    return {place: tuple(msgspec.json.decode(told)) for place, told in found.items()}
