"""Check of the hub's rows: replay all revisions against the audit trail.

An audit record holds hashes of the states before and after its change. Revisions are replayed
change by change, and the replayed states must have these hashes; in the end they must equal the
tables. Rows without revisions are checked by their row states (`accord.operations.audit.states`).
Baselines are compared with the replayed state at the time when they were made.

A state that an older release wrote lacks columns that later migrations added, and rows that come
with an empty database have no revision that creates them. Such fields are taken from the table;
they are accepted if the hash of the completed state is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from accord.hub.domain.rules import KINDS
from accord.hub.storage import revisions, rows
from accord.hub.storage.items import COLUMNS
from accord.hub.storage.proposals import STORED
from accord.hub.storage.revisions import RevisionRow, items_of
from accord.hub.storage.rows import TABLES, Table
from accord.operations.audit.record import MAX_TARGETS, Record, hash_of_values
from accord.operations.audit.states import (
    ProvenRows,
    ProvenTable,
    StoredState,
    StoredStates,
    values_of,
)
from accord.operations.audit.verify import AuditFinding, Evidence, record_of
from accord.operations.context import Action
from accord.store.store import ReadTransaction

Fields = dict[str, Any]
Key = tuple[str, str]
"""The kind and the id of an entity."""

PROVEN_TABLES: Final[tuple[ProvenRows, ...]] = (
    ProvenTable(
        "proposal",
        "proposals",
        (
            *("id", "author_id", "reason", "steps", "preview", "state", "decided_by", "decided_at"),
            *("decision_reason", "created_at", "via", "face", "client", "token_id", "run_id"),
        ),
        "id",
    ),
    ProvenTable(
        "requirement_type",
        "requirement_types",
        ("name", "name_key", "description", "created_at"),
        "name",
        "name",
    ),
    ProvenTable(
        "relationship_type",
        "relationship_types",
        ("name", "inverse", "is_symmetric", "is_acyclic"),
        "name",
        "name",
    ),
)
OPERATIONS: Final = frozenset(
    (
        *("propose_changes", "accept_proposal", "reject_proposal"),
        *("create_requirement_type", "update_requirement_type", "delete_requirement_type"),
        *("create_relationship_type", "delete_relationship_type"),
    )
)
"""Operations of which every run writes to a table in `PROVEN_TABLES`."""
REPLAYED_TABLES: Final[dict[str, Table]] = {
    **TABLES,
    "proposal": Table("proposals"),
    "baseline": Table("baselines"),
}
"""The table of the entities that have revisions, by kind of entity."""

CHANGES_PER_READ: Final = 100
"""The number of changes read in one statement."""
PAGE: Final = 1_000
ADDED_TABLES: Final = {"item_sources": "item_sources"}
"""The migration that adds a table, by table. Databases without the migration are checked without
the table."""
OLD_DEMO: Final = "load_demo"
"""The only operation of older releases that changed entities with revisions and users at once.

Users have no revisions, so the replayed states do not prove such a change completely."""

_NEVER: Final = -(2**63)


class _Revision(RevisionRow, frozen=True):
    """A revision, with the ids of the items that list it in their history."""

    items: tuple[str | None, str | None]


class RevisionCheck:
    """A check that replays all revisions; implements `FurtherCheck`."""

    def __init__(self, operations: Iterable[str]) -> None:
        """Take the names of the hub's operations; a write of each makes revisions."""
        self._operations = tuple(operations)

    async def check(self, db: ReadTransaction, evidence: Evidence, kept: StoredStates) -> None:
        """Report all rows that differ from the replayed revisions."""
        migrated = await revisions.hub_migrations(db)
        if migrated:
            tables = {each.name for each in REPLAYED_TABLES.values()}
            tables -= {table for table, name in ADDED_TABLES.items() if name not in migrated}
            await _Replay(db, evidence, kept, self._operations).run(sorted(tables))


class _Replay:
    """One run of the check, which replays all revisions."""

    def __init__(
        self,
        db: ReadTransaction,
        evidence: Evidence,
        kept: StoredStates,
        operations: tuple[str, ...],
    ) -> None:
        self._db = db
        self._evidence = evidence
        self._kept = kept
        self._operations = operations
        self._states: dict[Key, bytes] = {}
        """The replayed state of each entity, as JSON to save memory."""

    async def run(self, tables: Sequence[str]) -> None:
        """Replay all changes, then compare the tables with the replayed states."""
        after: Any = _NEVER
        while changes := await revisions.recorded_changes(self._db, after, CHANGES_PER_READ):
            done = await self._revisions([row["change_key"] for row in changes])
            for row in changes:
                await self._play(row, done.get(row["change_key"], []))
            after = changes[-1]["change_sequence"]
        await self._look_for_strays()
        for table in tables:
            await self._compare(table)
        for (kind, id), state in self._states.items():
            label = _label(msgspec.json.decode(state))
            detail = "is gone, and no operation deleted it"
            self._evidence.differs("removed", kind, id, detail, label=label)

    async def _revisions(self, ids: Sequence[str]) -> dict[str, list[_Revision]]:
        found: dict[str, list[_Revision]] = {}
        for row in await revisions.revisions_of_changes(self._db, ids):
            found.setdefault(row["change_id"], []).append(self._revision(row))
        return found

    def _revision(self, row: Any) -> _Revision:
        """Return a row as a revision; report a state that is no JSON object, and omit it.

        The hash of such a change differs, so the change is reported as edited, too.
        """
        states = [_state_of(row[name]) for name in ("before", "after")]
        if any(state is _UNREADABLE for state in states):
            detail = f"a revision of change {row['change_id']} is no JSON object"
            kind, id, label = row["kind"], row["entity_id"], row["reference_id"]
            self._evidence.differs("unreadable", kind, id, detail, label=label)
        before, after = (None if state is _UNREADABLE else state for state in states)
        columns = dict(row)
        items = (columns.get("item_id"), columns.get("other_item_id"))
        values = {name: columns[name] for name in RevisionRow.__struct_fields__}
        return _Revision(**values | {"before": before, "after": after}, items=items)

    async def _play(self, row: Any, revisions: list[_Revision]) -> None:
        """Replay the revisions of a change, and compare the states with its audit record.

        The audit record has a hash of the states before the change and one of those after it.
        """
        record = self._record(row)
        kept = self._kept.of_change.get(row["change_key"], [])
        undoes = row["undoes"] is not None
        if record is not None:
            befores, afters = await self._played(revisions)
            good = _hashes(befores, afters, kept, undoes=undoes)
            if good != (record.before_hash, record.after_hash):
                # The replayed states may lack columns that a migration added later.
                befores, afters = await self._played(revisions, completed=True)
                good = _hashes(befores, afters, kept, undoes=undoes)
            if good != (record.before_hash, record.after_hash):
                if record.operation == OLD_DEMO and not kept:
                    self._evidence.unproven["the sample project, as an older release loaded it"] = (
                        None
                    )
                else:
                    self._blame(record, revisions)
        else:
            befores, afters = await self._played(revisions)
        # Also after a mismatch: otherwise every later change of the entity would be reported too.
        for revision, before, after in zip(revisions, befores, afters, strict=True):
            self._compare_revision(revision, before, after)
            key = (revision.kind, revision.entity_id)
            if after is None:
                self._states.pop(key, None)
            else:
                self._states[key] = msgspec.json.encode(after)
            if revision.kind == "baseline" and revision.action == "created":
                await self._compare_baseline(after or {})

    def _compare_revision(
        self, revision: _Revision, before: Fields | None, after: Fields | None
    ) -> None:
        """Compare the columns of a revision with its replayed states."""
        state = after or before or {}
        expected = {
            "action": _action(revision),
            "version": state.get("version", revision.version),
            "reference_id": state.get("reference_id", revision.reference_id),
        }
        wrong = [name for name, value in expected.items() if getattr(revision, name) != value]
        if revision.items not in ((None, None), items_of(revision.kind, state)):
            wrong.append("item_id")
        for field in wrong:
            detail = f"the {field} of a revision is not what an operation wrote"
            about = {"label": str(state.get("reference_id") or revision.reference_id)}
            self._evidence.differs(
                "edited", revision.kind, revision.entity_id, detail, field=field, **about
            )

    async def _played(
        self, revisions: Sequence[RevisionRow], *, completed: bool = False
    ) -> tuple[list[Fields | None], list[Fields | None]]:
        """Return the states of the entities of a change, before and after each revision.

        With `completed`, columns that later migrations added are added to states that lack them.
        """
        now: dict[Key, Fields | None] = {}
        befores: list[Fields | None] = []
        afters: list[Fields | None] = []
        for each in revisions:
            key = (each.kind, each.entity_id)
            old = now[key] if key in now else self._state(key)
            before = after = None
            if each.action != "created":
                if completed or old is None:
                    old = {**await self._first(each.kind, each.entity_id), **(old or {})}
                before = {**old, **(each.before or {})}
            if each.action == "deleted":
                before = each.before
            else:
                after = {**(before or {}), **(each.after or {})}
            now[key] = after
            befores.append(before)
            afters.append(after)
        return befores, afters

    def _state(self, key: Key) -> Fields | None:
        found = self._states.get(key)
        return None if found is None else msgspec.json.decode(found)

    async def _first(self, kind: str, id: str) -> Fields:
        """Return the initial state of an entity, before its first revision.

        Fields that a revision changed come from the revision, all other fields from the table.
        """
        found: Fields = {}
        for before in await revisions.former_states(self._db, id, kind):
            found = {**(_state_of(before) or {}), **found}
        table = REPLAYED_TABLES.get(kind)
        if table is None:
            return found
        row = await rows.get(self._db, table, table.key_of(id))
        return found if row is None else {**_stored(kind, row), **found}

    def _record(self, row: Any) -> Record | None:
        """Check a change against its audit record, and return the audit record.

        Returns None if the audit record is missing or forged.
        """
        id = row["change_key"]
        if row["id"] is None:
            self._evidence.differs("forged", "change", id, "has no audit record")
            return None
        record = record_of(row)
        if not self._evidence.chain.is_genuine(record, row["mac"]):
            return None  # the check of the records reports that
        for field in ("actor_id", "actor", "operation", "face", "token_id", "client"):
            if row[f"change_{field}"] != getattr(record, field):
                detail = f"is not that of the audit record, {getattr(record, field)!r}"
                self._evidence.differs("edited", "change", id, detail, field=field)
        targets = record.target.split(", ")
        for field, operation in (("undoes", "undo"), ("proposal_id", "accept_proposal")):
            is_about = record.operation == operation
            named = row[field] in targets or (is_about and len(targets) >= MAX_TARGETS)
            if (row[field] is not None and not named) or (row[field] is None and is_about):
                detail = f"is none of those that the audit record names, {record.target!r}"
                self._evidence.differs("edited", "change", id, detail, field=field)
        return record

    def _blame(self, record: Record, revisions: Sequence[RevisionRow]) -> None:
        """Report that the revisions of a change do not match its audit record."""
        detail = f"the revisions of {record.operation} on {record.target or 'it'} were changed"
        only = {(each.kind, each.entity_id, each.reference_id) for each in revisions}
        if len(only) == 1:
            [(kind, id, label)] = only
            self._evidence.differs("edited", kind, id, f"{detail}, or removed", label=label)
        else:
            self._evidence.differs("edited", "change", record.change_id, f"{detail}, or removed")

    async def _look_for_strays(self) -> None:
        """Report revisions without a change, and audit records whose change is missing."""
        for id, total in await revisions.stray_revisions(self._db):
            detail = f"{total} revisions belong to no change"
            self._evidence.found(AuditFinding("forged", f"change {id}", detail, "change"))
        for row in await revisions.records_without_change(self._db, self._operations):
            record = record_of(row)
            if self._evidence.chain.is_genuine(record, row["mac"]):
                detail = f"{record.operation} on {record.target or 'it'} is gone"
                self._evidence.differs("removed", "change", record.change_id, detail)

    # The tables

    async def _compare(self, name: str) -> None:
        """Compare all rows of a table with the replayed states."""
        table = next(each for each in REPLAYED_TABLES.values() if each.name == name)
        after: tuple[Any, ...] = ("",) * len(table.key)
        while True:
            found = await rows.after(self._db, table, after, PAGE)
            for row in found:
                self._compare_row(name, dict(row))
            if len(found) < PAGE:
                return
            after = tuple(found[-1][column] for column in table.key)

    def _compare_row(self, name: str, row: Fields) -> None:
        """Compare a row with its replayed state, and remove the state from `_states`.

        The states that remain in `_states` after all comparisons are those of missing rows.
        """
        kind = row["kind"] if name == "items" else _KIND_OF[name]
        self._evidence.compared += 1
        if kind not in REPLAYED_TABLES:
            self._evidence.differs("forged", str(kind), str(row["id"]), "there is no such kind")
            return
        id = REPLAYED_TABLES[kind].id_of(row)
        state = self._states.pop((kind, id), None)
        label = _label(row)
        if state is None:
            if kind not in _PROVEN_KINDS:  # those are compared with their kept states
                detail = "no operation made it"
                self._evidence.differs("forged", kind, id, detail, label=label)
            return
        for field, value in msgspec.json.decode(state).items():
            if field in row and row[field] != value:
                detail = "is not what an operation wrote"
                self._evidence.differs("edited", kind, id, detail, label=label, field=field)

    # Baselines

    async def _compare_baseline(self, baseline: Fields) -> None:
        """Compare the entries of a baseline with the replayed states at its creation."""
        expected = self._baseline_entries(baseline.get("epic_id"))
        id, label = baseline["id"], baseline["name"]
        for row in await revisions.baseline_entries(self._db, id):
            self._evidence.compared += 1
            about = {"label": label, "field": row["reference_id"]}
            replayed = expected.pop((row["kind"], row["entity_id"]), None)
            if replayed is None:
                detail = "was not there when the baseline was made"
                self._evidence.differs("forged", "baseline", id, detail, **about)
                continue
            found = (row["reference_id"], row["version"], _decoded(row["content"]))
            names = ("reference id", "version", "content")
            for name, one, other in zip(names, found, replayed, strict=True):
                if one != other:
                    detail = f"{_differing_fields(one, other) or name} is not what it was"
                    self._evidence.differs("edited", "baseline", id, detail, **about)
        for reference_id, _, _ in expected.values():
            about = {"label": label, "field": reference_id}
            self._evidence.differs("removed", "baseline", id, "its entry is gone", **about)

    def _baseline_entries(self, epic_id: str | None) -> dict[Key, tuple[str, int, Fields]]:
        """Return the replayed content of everything, or of an epic, as baseline entries."""
        items, links, steering = dict[str, Fields](), list[Fields](), list[Fields]()
        for (kind, id), state in self._states.items():
            if kind in KINDS:
                items[id] = {**_EMPTY_CONTENT, **msgspec.json.decode(state), "kind": kind}
            elif kind == "relationship":
                links.append(msgspec.json.decode(state))
            elif kind == "steering_link":
                steering.append(msgspec.json.decode(state))
        inside = _items_in_scope(items, steering, epic_id)
        entries = _item_entries(items, inside)
        for link in links:
            ends = (link["source_id"], link["target_id"])
            if epic_id is None or not inside.isdisjoint(ends):
                source, target = (_reference_id(items, end) for end in ends)
                content = {"source": source, "type": link["type"], "target": target}
                entries["relationship", link["id"]] = (
                    f"{source} {link['type']} {target}",
                    1,
                    content,
                )
        for link in steering:
            if link["epic_id"] in inside:
                source = _reference_id(items, link["steering_id"])
                target = _reference_id(items, link["epic_id"])
                id = TABLES["steering_link"].id_of(link)
                content = {"source": source, "target": target}
                entries["steering_link", id] = (f"{source} steers {target}", 1, content)
        return entries


def _item_entries(
    items: Mapping[str, Fields], inside: Iterable[str]
) -> dict[Key, tuple[str, int, Fields]]:
    """Return the baseline entries of items."""
    entries: dict[Key, tuple[str, int, Fields]] = {}
    for id in inside:
        item = items[id]
        content = {field: item[field] for field in _CONTENT_FIELDS}
        content["parent"] = _reference_id(items, item["parent_id"])
        content["acceptance_criteria"] = _reference_id(items, item["criteria_id"])
        entries[item["kind"], id] = (item["reference_id"], item["version"], content)
    return entries


def _reference_id(items: Mapping[str, Fields], id: str | None) -> str | None:
    return items[id]["reference_id"] if id is not None and id in items else None


_UNREADABLE: Final[Fields] = {}
"""A sentinel, compared by identity: a state that is no JSON object."""
_CONTENT_FIELDS: Final = ("title", "description", "status", "priority", "type")
_EMPTY_CONTENT: Final = {
    "title": "",
    "description": "",
    "status": "",
    "priority": 0,
    "type": None,
    "parent_id": None,
    "criteria_id": None,
}
"""The values of the content columns that a kind of item does not use."""
_KIND_OF: Final = {table.name: kind for kind, table in REPLAYED_TABLES.items()}
_PROVEN_KINDS: Final = frozenset(each.kind for each in PROVEN_TABLES)


def _items_in_scope(
    items: Mapping[str, Fields], steering: Sequence[Fields], epic_id: Any
) -> set[str]:
    """Return the ids of the items in the scope of a baseline."""
    if epic_id is None:
        return {id for id, item in items.items() if item["kind"] != "prompt"}
    stories = {id for id, item in items.items() if item["parent_id"] == epic_id}
    children = {id for id, item in items.items() if item["parent_id"] in stories}
    documents = {link["steering_id"] for link in steering if link["epic_id"] == epic_id}
    return ({epic_id} | stories | children | documents) & items.keys()


def _hashes(
    befores: Sequence[Fields | None],
    afters: Sequence[Fields | None],
    kept: Sequence[StoredState],
    *,
    undoes: bool,
) -> tuple[str, str]:
    """Return the hashes of all states before a change and after it.

    `befores` and `afters` are the states of entities with revisions. `kept` are the stored states
    of the change; they supply the states of entities without revisions.
    """
    unrevised = values_of(kept)
    played = iter(zip(befores, afters, strict=True))
    both = [
        unrevised[place] if place in unrevised else next(played, (None, None))
        for place in range(len(befores) + len(unrevised))
    ]
    if undoes:
        both.append((None, None))  # the effect on the change that is undone
    return hash_of_values([one for one, _ in both]), hash_of_values([other for _, other in both])


def _stored(kind: str, row: Fields) -> Fields:
    """Return the columns of a row that effects contain."""
    names: Iterable[str] = row
    if kind in KINDS:
        names = COLUMNS[kind]
    elif kind == "proposal":
        names = STORED
    return {name: row[name] for name in names}


def _label(row: Mapping[str, Any]) -> str:
    """Return the name that people use for an entity."""
    return str(row.get("reference_id") or row.get("name") or "")


def _state_of(text: Any) -> Fields | None:
    """Decode the state before or after a revision.

    Returns None if there is no state, and `_UNREADABLE` if the text is no JSON object.
    """
    if text is None:
        return None
    state = _decoded(text)
    return state if isinstance(state, dict) else _UNREADABLE


def _action(revision: RevisionRow) -> Action:
    if revision.before is None:
        return "created"
    return "deleted" if revision.after is None else "updated"


def _decoded(text: Any) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, TypeError, UnicodeDecodeError):
        return text


def _differing_fields(one: Any, other: Any) -> str:
    """Return the names of the fields that differ between two contents."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return ""
    return ", ".join(name for name in other if one.get(name) != other[name])
