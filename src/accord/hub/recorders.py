"""Recorders: functions that run with every write, after its effects are known.

`record` stores the change and its revisions. Two kinds of effects are stored with the change: an
effect of kind `change` names the earlier change that the new change undoes, and an effect on an
accepted `proposal` names the proposal that the new change carries out. `announce` notifies all
processes after the commit.

`add_hints` adds hints on suspect links, lint findings and unfinished children. A hint never refuses
a write. `add_hints` runs inside the transaction, so a dry run returns the same hints.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from accord.hub.domain.lint import FIELDS, lint_item
from accord.hub.domain.rules import CONTENT_FIELDS, KINDS, Kind, changes_content
from accord.hub.storage import items, relationships, revisions
from accord.hub.storage.relationships import LinkRow
from accord.operations.context import Effect, Hint, OperationContext
from accord.operations.operation import RecordedChange

FOREIGN_KINDS: Final = frozenset(
    {"user", "token", "session", "agent", "workflow", "run", "dead_letter"}
)
"""Kinds of entities that are not content of the hub, such as users.

Only the audit trail records changes of these entities."""


async def record(work: OperationContext, change: RecordedChange) -> None:
    """Record a write as a change with its revisions, unless it had no effect."""
    effects = [effect for effect in work.effects if effect.kind not in FOREIGN_KINDS]
    if not effects:
        return
    undoes, proposal_id, reason = None, None, change.reason
    for effect in effects:
        if effect.kind == "change":
            undoes = effect.id
        elif effect.kind == "proposal" and effect.after and effect.after["state"] == "accepted":
            proposal_id, reason = effect.id, effect.after["reason"]
    await revisions.add(
        work,
        change,
        [effect for effect in effects if effect.kind != "change"],
        reason=reason,
        undoes=undoes,
        proposal_id=proposal_id,
    )


CHANNEL: Final = "accord_hub_changes"


async def announce(work: OperationContext, _change: RecordedChange) -> None:
    """Notify all processes of a change after its commit.

    A recorder. The processes read the change itself from the tables.
    """
    # The store sends it with the commit, so no process looks for the change too early.
    if any(effect.kind not in FOREIGN_KINDS for effect in work.effects):
        await work.db.notify(CHANNEL)


MAX_HINTED_ITEMS: Final = 10
"""The maximum number of items per write that get hints; after bulk writes, ask for coverage."""
MAX_CHARACTERS: Final = 10_000
"""The number of characters at the beginning of a text that are linted during a write."""
MAX_FINDINGS: Final = 5
"""The maximum number of lint findings reported per item."""
MAX_NAMED: Final = 10

DEPENDENT_TYPES: Final = frozenset({"depends_on", "derives_from", "refines", "satisfies"})
"""Relationship types with a source that depends on the target."""
CLOSED_STATUSES: Final = frozenset({"Obsolete", "Cancelled"})


async def add_hints(work: OperationContext, _change: RecordedChange) -> None:
    """Add hints to a write that changes content or status.

    Runs for the first `MAX_HINTED_ITEMS` items that the write created or updated.
    """
    written = [effect for effect in work.effects if effect.kind in KINDS and effect.after]
    for effect in written[:MAX_HINTED_ITEMS]:
        changed = _changed_fields(effect)
        if changes_content(changed):
            await _hint_findings(work, effect)
        if effect.action == "updated" and (changes_content(changed) or "status" in changed):
            await _hint_links(work, effect, changed)
        if "status" in changed and (effect.after or {}).get("status") == "Done":
            await _hint_open_below(work, effect)


def _changed_fields(effect: Effect) -> set[str]:
    before, after = effect.before or {}, effect.after or {}
    return {name for name in {*CONTENT_FIELDS, "status"} if before.get(name) != after.get(name)}


async def _hint_findings(work: OperationContext, effect: Effect) -> None:
    if effect.kind == "prompt":
        return
    kind: Kind = effect.kind  # type: ignore[assignment] # one of KINDS
    after = effect.after or {}
    # A new item has no suppressions unless the same write added one: skip the query.
    has_none = effect.action == "created" and not _has_effect_on(work, "lint_suppression")
    suppressions = {} if has_none else await items.suppressions_of_item(work.db, effect.id)
    texts = {name: str(after.get(name, ""))[:MAX_CHARACTERS] for name in FIELDS}
    reports = lint_item(kind, texts, without=frozenset(suppressions))
    found = [(field, each) for field, report in reports.items() for each in report.findings]
    for field, each in found[:MAX_FINDINGS]:
        _hint(work, effect, each.rule, f"{field}: {each.message}; {each.hint}")
    if len(found) > MAX_FINDINGS:
        message = f"{len(found) - MAX_FINDINGS} more findings: see lint_requirement"
        _hint(work, effect, "lint", message)


def _has_effect_on(work: OperationContext, kind: str) -> bool:
    return any(effect.kind == kind for effect in work.effects)


async def _hint_links(work: OperationContext, effect: Effect, changed: set[str]) -> None:
    links = await relationships.of_item(work.db, effect.id)
    before, after = effect.before or {}, effect.after or {}
    suspect = [link for link in links if _is_newly_suspect(link, effect.id, before, after)]
    if suspect:
        message = f"links become suspect, confirm those that still hold: {_named(suspect)}"
        _hint(work, effect, "suspect-links", message)
    if "status" in changed and after.get("status") in CLOSED_STATUSES:
        dependents = [
            link for link in links if link.target_id == effect.id and link.type in DEPENDENT_TYPES
        ]
        if dependents:
            _hint(work, effect, "still-needed", f"other items still need it: {_named(dependents)}")


async def _hint_open_below(work: OperationContext, effect: Effect) -> None:
    """Add a hint about unfinished stories and requirements below a finished item."""
    found = await items.open_below(work.db, effect.id)
    if found:
        more = f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
        named = ", ".join(found[:MAX_NAMED]) + more
        _hint(work, effect, "open-below", f"still open below it: {named}")


def _is_newly_suspect(
    link: LinkRow, id: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> bool:
    remembered = link.source_version if link.source_id == id else link.target_version
    return bool(before.get("said_version", 0) <= remembered < after.get("said_version", 0))


def _named(links: list[LinkRow]) -> str:
    more = f" and {len(links) - MAX_NAMED} more" if len(links) > MAX_NAMED else ""
    return ", ".join(link.reference for link in links[:MAX_NAMED]) + more


def _hint(work: OperationContext, effect: Effect, code: str, message: str) -> None:
    work.hint(Hint(code=code, message=message, reference_id=effect.reference_id))
