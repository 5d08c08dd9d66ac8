"""Operations on proposals: changes that somebody else decides on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from accord.hub.bulk import (
    OperationStep,
    StepResult,
    Steps,
    dry_run,
    is_step,
    may_do,
    may_propose,
    run_steps,
)
from accord.hub.domain.rules import AcceptancePolicy, ProposalOrigin, acceptance_problem
from accord.hub.entities import Cursor, Difference, Limit, Page
from accord.hub.lifecycle import check_text
from accord.hub.recorders import add_hints
from accord.hub.storage import proposals, rows
from accord.hub.storage.proposals import ProposalRow
from accord.hub.storage.rows import DEFAULT_LIMIT, StatePair, named_differences
from accord.operations.context import Action, Changed, Database, Effect, Hint, OperationContext
from accord.operations.errors import ConflictError, ForbiddenError
from accord.operations.operation import RecordedChange, Rest
from accord.operations.pages import map_page
from accord.operations.registry import Registry

ProposalId: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
Reason: TypeAlias = Annotated[str, Meta(min_length=1, max_length=2_000)]
Decision: TypeAlias = Annotated[str, Meta(max_length=2_000)]
State: TypeAlias = Literal["open", "accepted", "rejected"]
DecidedState: TypeAlias = Literal["accepted", "rejected"]

MAX_OPEN: Final = 200
"""The maximum number of open proposals of one author."""
MAX_SHOWN: Final = 100
MAX_ABOUT: Final = 3
"""The number of affected entities that a list names for each proposal."""

operations: Final = Registry()


class ProposedEffect(Struct, kw_only=True):
    """What a proposal would do to one thing."""

    __schema_name__ = "Proposed"

    action: Action
    kind: str
    id: str
    reference_id: str
    """Of something new: what it would have been called when this was proposed."""
    version: int
    """Before it; 0 of something new."""
    differences: list[Difference]


class _NamedEntity(Struct):
    """The part of `ProposedEffect` that lists show."""

    __schema_name__ = "_Named"

    kind: str
    reference_id: str


class ProposalSummary(Changed, kw_only=True):
    id: str
    author: str
    reason: str
    state: State
    created_at: str
    face: str | UnsetType = UNSET
    client: str | UnsetType = UNSET
    """The program that made it."""
    token: str | UnsetType = UNSET
    """The name of the token that it used."""
    about: list[str]
    """The first few things that it would change."""
    total: int
    """How many things it would change."""
    decided_by: str | UnsetType = UNSET
    decided_at: str | UnsetType = UNSET
    decision_reason: str | UnsetType = UNSET
    applied_as: str | UnsetType = UNSET
    """The change that carried it out."""


class Proposal(ProposalSummary, kw_only=True):
    steps: list[OperationStep]
    preview: list[ProposedEffect]
    """What it would have changed when it was proposed."""
    stale: list[str]
    """Reference ids of what was changed since: then it cannot be accepted."""
    cannot_accept: str | UnsetType = UNSET
    """Why you may not accept it, as its author."""


class ProposalCheck(Changed, kw_only=True):
    """What would follow from a proposal."""

    __schema_name__ = "Checked"

    follows: list[Hint]
    """Links that would become suspect, what the linter says, what would lack something."""


class ProposalAcceptance(ProposalSummary, kw_only=True):
    __schema_name__ = "Accepted"

    results: list[StepResult]


@operations.write(
    right="propose",
    rest=Rest("POST", "/proposals", 201, "/proposals/{id}"),
    tag="proposals",
    cost=20,
)
async def propose_changes(work: OperationContext, *, steps: Steps, reason: Reason) -> Proposal:
    """Propose writes for somebody to accept or reject. Steps are as in apply_changes."""
    check_text("reason", reason)
    if await proposals.count_open(work.db, work.caller.user_id) >= MAX_OPEN:
        raise ConflictError(f"{MAX_OPEN} proposals of yours wait already to be decided")
    # The steps really run and are rolled back, so the preview cannot differ from the acceptance.
    preview = await dry_run(work, lambda: _previewed(work, steps))
    values = {
        "id": work.new_id(),
        "author_id": work.caller.user_id,
        "reason": reason,
        "steps": msgspec.json.encode(steps).decode(),
        "preview": msgspec.json.encode(preview).decode(),
        "created_at": work.now,
        "via": work.caller.via,
        "face": work.caller.face,
        "client": work.caller.client,
        "token_id": work.caller.token_id,
        "run_id": work.caller.run_id,
    }
    await rows.insert(work.db, "proposals", values)
    row = await proposals.find(work.db, str(values["id"]))
    _record_proposal(work, None, row)
    return await _detail(work, row)


@operations.read(rest=Rest("GET", "/proposals/{id}"), tag="proposals", snapshot=True)
async def get_proposal(work: OperationContext, *, id: ProposalId) -> Proposal:
    """Get a proposal: its steps, what they would change, and whether that still holds."""
    return await _detail(work, await proposals.find(work.db, id))


@operations.read(rest=Rest("GET", "/proposals"), tag="proposals", snapshot=True)
async def list_proposals(
    work: OperationContext,
    *,
    state: State | None = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor | None = None,
) -> Page[ProposalSummary]:
    """List proposals, oldest first."""
    page = await proposals.oldest(work.db, state, limit, cursor)
    return map_page(page, lambda row: ProposalSummary(**_summary(row)))


@operations.read(rest=Rest("GET", "/decided-proposals"), tag="proposals", tool=False, snapshot=True)
async def list_decided_proposals(
    work: OperationContext,
    *,
    state: DecidedState | None = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor | None = None,
) -> Page[ProposalSummary]:
    """List proposals that were accepted or rejected, those decided last first."""
    page = await proposals.last_decided(work.db, state, limit, cursor)
    return map_page(page, lambda row: ProposalSummary(**_summary(row)))


@operations.write(rest=Rest("POST", "/proposals/{id}/check"), tag="proposals", tool=False, cost=20)
async def check_proposal(work: OperationContext, *, id: ProposalId) -> ProposalCheck:
    """Tell what would follow if you accepted a proposal; nothing is changed."""
    row = await _acceptable(work.db, id)

    async def body() -> list[Hint]:
        first = len(work.hints)
        await run_steps(work, _steps(row), may_do)
        await add_hints(work, RecordedChange(id="", operation="check_proposal"))
        return work.hints[first:]

    return ProposalCheck(follows=await dry_run(work, body))


@operations.write(
    rest=Rest("POST", "/proposals/{id}/accept"), tag="proposals", cost=20, runs=is_step
)
async def accept_proposal(
    work: OperationContext, *, id: ProposalId, reason: Decision = ""
) -> ProposalAcceptance:
    """Carry out a proposal as a change of yours. No token accepts what its owner proposed; signed
    in, you may accept what a token of yours proposed."""
    row = await _acceptable(work.db, id)
    problem = _problem(work, row)
    if problem:
        raise ForbiddenError(problem)
    # With the rights of the caller who accepts: the proposal itself grants nothing.
    results = await run_steps(work, _steps(row), may_do)
    return ProposalAcceptance(
        **_summary(await _decide(work, row, "accepted", reason)), results=results
    )


@operations.write(rest=Rest("POST", "/proposals/{id}/reject"), tag="proposals")
async def reject_proposal(
    work: OperationContext, *, id: ProposalId, reason: Reason
) -> ProposalSummary:
    """Reject a proposal."""
    row = await _undecided(work.db, id)
    return ProposalSummary(**_summary(await _decide(work, row, "rejected", reason)))


async def _previewed(
    work: OperationContext, steps: Sequence[OperationStep]
) -> list[ProposedEffect]:
    first = len(work.effects)
    await run_steps(work, steps, may_propose)
    net = _net(work.effects[first:])
    pairs = [StatePair(each.kind, each.before, each.after) for each in net]
    return [
        ProposedEffect(
            action=each.action,
            kind=each.kind,
            id="" if each.action == "created" else each.id,
            reference_id=each.reference_id,
            version=(each.before or {}).get("version", 0),
            differences=differences,
        )
        for each, differences in zip(net, await named_differences(work.db, pairs), strict=True)
    ]


def _net(effects: Sequence[Effect]) -> list[Effect]:
    """Merge all effects on an entity into one effect, for each entity.

    A merged effect has the state before the first effect and the state after the last. Entities
    that were created and deleted again have none.
    """
    by_id: dict[str, list[Effect]] = {}
    for effect in effects:
        by_id.setdefault(effect.id, []).append(effect)
    net = []
    for some in by_id.values():
        before, after = some[0].before, some[-1].after
        if before is None and after is None:
            continue
        action: Action = "created" if before is None else "deleted" if after is None else "updated"
        net.append(msgspec.structs.replace(some[-1], action=action, before=before, after=after))
    return net


async def _stale(db: Database, preview: Sequence[ProposedEffect]) -> list[str]:
    """Return the reference ids of previewed entities that changed since the proposal.

    Entities without a reference id are returned by id.
    """
    found = []
    for each in preview:
        table = rows.TABLES.get(each.kind)
        if table is None or each.action == "created":
            continue
        row = await rows.get(db, table, table.key_of(each.id))
        if row is None or row.get("version", 0) != each.version:
            found.append(each.reference_id or each.id)
    return found


async def _undecided(db: Database, id: str) -> ProposalRow:
    """Return the proposal with this id, if it is open.

    Raises NotFoundError if there is none, and ConflictError if it was decided already.
    """
    row = await proposals.find(db, id)
    if row.state != "open":
        raise ConflictError(f"the proposal was {row.state} by {row.decider} already")
    return row


async def _acceptable(db: Database, id: str) -> ProposalRow:
    """Return the proposal with this id, if it is open and not stale.

    A proposal is stale if an entity that it affects has changed since it was made.

    Raises NotFoundError if there is none, and ConflictError if it was decided already or an entity
    has changed.
    """
    row = await _undecided(db, id)
    stale = await _stale(db, _preview(row))
    if stale:
        raise ConflictError(f"changed since it was proposed: {', '.join(stale)}", stale=stale)
    return row


async def _decide(
    work: OperationContext, row: ProposalRow, state: State, reason: str
) -> ProposalRow:
    check_text("reason", reason)
    values = {
        "state": state,
        "decided_by": work.caller.user_id,
        "decided_at": work.now,
        "decision_reason": reason,
    }
    await rows.update(work.db, "proposals", {"id": row.id}, values)
    decided = await proposals.find(work.db, row.id)
    _record_proposal(work, row, decided)
    return decided


def _record_proposal(
    work: OperationContext, before: ProposalRow | None, after: ProposalRow
) -> None:
    work.record(
        Effect(
            action="created" if before is None else "updated",
            kind="proposal",
            id=after.id,
            before=before.stored() if before else None,
            after=after.stored(),
        )
    )


async def _detail(work: OperationContext, row: ProposalRow) -> Proposal:
    preview = _preview(row)
    is_open = row.state == "open"
    return Proposal(
        **_summary(row),
        steps=_steps(row),
        preview=preview[:MAX_SHOWN],
        stale=await _stale(work.db, preview) if is_open else [],
        cannot_accept=(_problem(work, row) or UNSET) if is_open else UNSET,
    )


def _problem(work: OperationContext, row: ProposalRow) -> str:
    """Return the reason that the caller may not accept a proposal; empty if none."""
    caller = work.caller
    return acceptance_problem(
        work.service(AcceptancePolicy),
        ProposalOrigin(row.author_id, row.via, row.run_id),
        ProposalOrigin(caller.user_id, caller.via, caller.run_id),
    )


def _steps(row: ProposalRow) -> list[OperationStep]:
    return msgspec.json.decode(row.steps, type=list[OperationStep])


def _preview(row: ProposalRow) -> list[ProposedEffect]:
    return msgspec.json.decode(row.preview, type=list[ProposedEffect])


def _summary(row: ProposalRow) -> dict[str, Any]:
    named = msgspec.json.decode(row.preview, type=list[_NamedEntity])
    return {
        "id": row.id,
        "author": row.author,
        "reason": row.reason,
        "state": row.state,
        "created_at": row.created_at,
        "face": row.face or UNSET,
        "client": row.client or UNSET,
        "token": row.token or UNSET,
        "about": [each.reference_id or each.kind for each in named[:MAX_ABOUT]],
        "total": len(named),
        "decided_by": row.decider or UNSET,
        "decided_at": row.decided_at or UNSET,
        "decision_reason": row.decision_reason or UNSET,
        "applied_as": row.change_id or UNSET,
    }
