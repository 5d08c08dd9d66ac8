"""Proposals: changes that another person accepts or rejects."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET, to_builtins
from msgspec.structs import replace

from accord.hub.domain.rules import AcceptancePolicy
from accord.operations.context import Caller, Scope
from accord.operations.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError
from tests.hub.operations.state import state
from tests.hub.world import World


def step(operation: str, **arguments: Any) -> dict[str, Any]:
    return {"operation": operation, "arguments": arguments}


RENAME = [step("update_epic", id="EP-001", title="Check-out")]


async def test_a_proposal_changes_nothing_and_says_what_it_would(world: World) -> None:
    epic = await world.call("create_epic", title="Checkout")
    before = await state(world)
    robot = replace(world.other, via="token", scopes=frozenset({"read", "propose"}))
    made = await world.call(
        "propose_changes",
        robot,
        reason="clearer",
        steps=[*RENAME, step("create_user_story", epic_id="EP-001", title="Pay by card")],
    )
    assert await state(world) == before
    assert (
        await world.store.fetch("SELECT last FROM counters WHERE kind = 'user_story' AND last > 0")
        == []
    )
    found = await world.call("get_proposal", id=made.id)
    assert (found.author, found.reason, found.state, found.stale) == ("otto", "clearer", "open", [])
    assert to_builtins(found.preview) == [
        {
            "action": "updated",
            "kind": "epic",
            "id": epic.id,
            "reference_id": "EP-001",
            "version": 1,
            "differences": [{"field": "title", "before": "Checkout", "after": "Check-out"}],
        },
        {
            "action": "created",
            "kind": "user_story",
            "id": "",
            "reference_id": "US-001",
            "version": 0,
            "differences": [
                {"field": "epic_id", "before": None, "after": "EP-001"},
                {"field": "title", "after": "Pay by card"},
                {"field": "status", "after": "Backlog"},
                {"field": "priority", "after": 3},
                {"field": "creator", "before": None, "after": "otto"},
                {"field": "assignee", "before": None, "after": "otto"},
            ],
        },
    ]


async def test_an_accepted_proposal_is_a_change_of_who_accepts_with_its_author_named(
    world: World,
) -> None:
    await world.call("create_epic", title="Checkout")
    made = await world.call("propose_changes", world.other, reason="clearer", steps=RENAME)
    outcome = await world.outcome("accept_proposal", id=made.id)
    assert outcome.result.state == "accepted"
    assert outcome.result.results[0].result["title"] == "Check-out"
    newest = (await world.call("history", id="EP-001")).items[0].change
    assert (newest.actor, newest.proposed_by, newest.proposal_id, newest.reason) == (
        *("uma", "otto", made.id, "clearer"),
    )
    assert (await world.call("get_proposal", id=made.id)).applied_as == outcome.change_id
    with pytest.raises(ConflictError, match="was accepted by uma already"):
        await world.call("accept_proposal", id=made.id)
    await world.call("undo", change_id=outcome.change_id)
    assert (await world.call("get_epic", id="EP-001")).title == "Checkout"
    assert (await world.call("get_proposal", id=made.id)).state == "accepted"


async def test_a_proposal_for_what_was_changed_since_is_not_accepted(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    made = await world.call("propose_changes", world.other, reason="clearer", steps=RENAME)
    await world.call("update_epic", id="EP-001", title="Till")
    assert (await world.call("get_proposal", id=made.id)).stale == ["EP-001"]
    with pytest.raises(ConflictError) as refused:
        await world.call("accept_proposal", id=made.id)
    assert refused.value.data == {"stale": ["EP-001"]}
    assert (await world.call("get_epic", id="EP-001")).title == "Till"


async def test_a_rejected_proposal_stays_with_the_reason(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    made = await world.call("propose_changes", world.other, reason="clearer", steps=RENAME)
    await world.call("reject_proposal", id=made.id, reason="it is not")
    found = await world.call("get_proposal", id=made.id)
    assert (found.state, found.decided_by, found.decision_reason) == (
        *("rejected", "uma", "it is not"),
    )
    with pytest.raises(ConflictError, match="was rejected by uma already"):
        await world.call("accept_proposal", id=made.id)


async def test_what_cannot_be_done_cannot_be_proposed(world: World) -> None:
    with pytest.raises(NotFoundError, match="step 1, update_epic: there is no epic"):
        await world.call("propose_changes", reason="clearer", steps=RENAME)
    with pytest.raises(ForbiddenError, match="step 1, create_prompt"):
        await world.call(
            "propose_changes", reason="x", steps=[step("create_prompt", name="x", content="x")]
        )
    with pytest.raises(InvalidError):
        await world.call("propose_changes", reason="x", steps=[])
    assert (await world.call("list_proposals")).total == 0


async def test_proposing_is_nothing_for_commenters_nor_deciding_for_proposers(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    with pytest.raises(ForbiddenError):
        await world.call("propose_changes", world.commenter, reason="x", steps=RENAME)
    robot = replace(world.other, via="token", scopes=frozenset({"read", "propose"}))
    made = await world.call("propose_changes", robot, reason="x", steps=RENAME)
    for caller in (robot, world.commenter):
        with pytest.raises(ForbiddenError):
            await world.call("accept_proposal", caller, id=made.id)
        with pytest.raises(ForbiddenError):
            await world.call("reject_proposal", caller, id=made.id, reason="x")


async def test_who_accepts_needs_the_rights_of_every_step(world: World) -> None:
    await world.call("create_epic", world.other, title="Checkout")
    made = await world.call(
        "propose_changes", world.other, reason="x", steps=[step("delete_epic", id="EP-001")]
    )
    with pytest.raises(ForbiddenError, match="EP-001 belongs to somebody else"):
        await world.call("accept_proposal", id=made.id)
    await world.call("accept_proposal", world.admin, id=made.id)


async def test_proposals_are_listed_by_state(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    made = [
        await world.call("propose_changes", reason=str(number), steps=RENAME) for number in range(3)
    ]
    await world.call("reject_proposal", id=made[0].id, reason="no")
    page = await world.call("list_proposals", state="open", limit=1)
    assert (page.items[0].reason, page.total, page.has_more) == ("1", 2, True)
    rest = await world.call("list_proposals", state="open", limit=1, cursor=page.next_cursor)
    assert (rest.items[0].reason, rest.has_more) == ("2", False)


async def test_decided_proposals_are_listed_newest_first(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    made = [
        await world.call("propose_changes", reason=str(number), steps=RENAME) for number in range(4)
    ]
    await world.call("reject_proposal", id=made[2].id, reason="no")
    await world.call("reject_proposal", id=made[0].id, reason="no")
    await world.call("accept_proposal", world.other, id=made[1].id)
    page = await world.call("list_decided_proposals", limit=2)
    assert ([each.reason for each in page.items], page.total) == (["1", "0"], 3)
    rest = await world.call("list_decided_proposals", limit=2, cursor=page.next_cursor)
    assert ([each.reason for each in rest.items], rest.has_more) == (["2"], False)
    accepted = await world.call("list_decided_proposals", state="accepted")
    assert [each.reason for each in accepted.items] == ["1"]


async def test_a_proposal_tells_by_which_program_it_was_made_and_what_it_is_about(
    world: World,
) -> None:
    steps = [step("create_epic", title=f"Epic {number}") for number in range(5)]
    robot = replace(world.other, face="mcp", client="scribe 1.0")
    await world.call("propose_changes", robot, reason="more", steps=steps)
    (found,) = (await world.call("list_proposals")).items
    assert (found.face, found.client, found.about, found.total) == (
        *("mcp", "scribe 1.0", ["EP-001", "EP-002", "EP-003"], 5),
    )


async def test_what_would_follow_is_told_and_nothing_is_changed(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    await world.call("create_user_story", epic_id="EP-001", title="Pay")
    await world.call("create_requirement", user_story_id="US-001", title="Charge")
    await world.call(
        "create_relationship", source_id="US-001", target_id="REQ-001", type="relates_to"
    )
    text = "The till shall charge quickly."
    steps = [step("update_requirement", id="REQ-001", description=text)]
    made = await world.call("propose_changes", world.other, reason="more", steps=steps)
    before = await state(world)
    checked = await world.outcome("check_proposal", id=made.id)
    assert [(each.code, each.reference_id) for each in checked.result.follows] == [
        ("vague-word", "REQ-001"),
        ("suspect-links", "REQ-001"),
    ]
    assert (checked.change_id, checked.effects, checked.hints) == ("", (), ())
    assert await state(world) == before
    await world.call("update_requirement", id="REQ-001", title="Charge once")
    with pytest.raises(ConflictError, match="changed since it was proposed: REQ-001"):
        await world.call("check_proposal", id=made.id)
    with pytest.raises(ForbiddenError):
        await world.call("check_proposal", world.commenter, id=made.id)


def with_token(caller: Caller, *scopes: Scope, id: str = "t-1") -> Caller:
    return replace(
        caller, via="token", token_id=id, scopes=frozenset(scopes or ("read", "write", "propose"))
    )


def in_run(caller: Caller) -> Caller:
    return replace(caller, face="system", run_id="r-1")


OWN: list[tuple[str, str, bool]] = [
    ("session", "session", False),
    ("session", "token", False),
    ("session", "local", False),
    ("session", "run", False),
    ("local", "session", False),
    ("local", "token", False),
    ("token", "token", False),
    ("token", "another token", False),
    ("token", "run", False),
    ("token", "session", True),
    ("token", "local", True),
    ("run", "run", False),
    ("run", "token", False),
    ("run", "session", True),
]


def ways(caller: Caller) -> dict[str, Caller]:
    return {
        "session": caller,
        "local": replace(caller, via="local", face="cli"),
        "token": with_token(caller),
        "another token": with_token(caller, id="t-2"),
        "run": in_run(caller),
    }


@pytest.mark.req("H-30")
@pytest.mark.parametrize(("proposed", "accepted", "allowed"), OWN)
async def test_who_proposed_accepts_only_in_person_what_a_program_of_theirs_proposed(
    world: World, proposed: str, accepted: str, allowed: bool
) -> None:
    await world.call("create_epic", title="Checkout")
    way = ways(world.user)
    made = await world.call("propose_changes", way[proposed], reason="clearer", steps=RENAME)
    found = await world.call("get_proposal", way[accepted], id=made.id)
    if allowed:
        assert found.cannot_accept is UNSET
        await world.call("accept_proposal", way[accepted], id=made.id)
    else:
        assert found.cannot_accept.startswith("you proposed it yourself")
        with pytest.raises(ForbiddenError, match="you proposed it yourself"):
            await world.call("accept_proposal", way[accepted], id=made.id)
        assert (await world.call("get_epic", id="EP-001")).title == "Checkout"
        assert (await world.call("get_proposal", id=made.id)).state == "open"
        # Whoever else has the rights may, by any way.
        for way_of_another in ways(world.other).values():
            shown = await world.call("get_proposal", way_of_another, id=made.id)
            assert shown.cannot_accept is UNSET
        await world.call("accept_proposal", with_token(world.other), id=made.id)


@pytest.mark.req("H-30")
async def test_no_dry_run_and_no_step_gets_around_it(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    robot = with_token(world.user)
    made = await world.call("propose_changes", robot, reason="clearer", steps=RENAME)
    with pytest.raises(ForbiddenError, match="you proposed it yourself"):
        await world.call("accept_proposal", robot, id=made.id, dry_run=True)
    accept = step("accept_proposal", id=made.id)
    for operation in ("apply_changes", "propose_changes"):
        more = {"reason": "x"} if operation == "propose_changes" else {}
        with pytest.raises(InvalidError, match="no operation for a step"):
            await world.call(operation, robot, steps=[accept], **more)
    await world.call("reject_proposal", robot, id=made.id, reason="I was wrong")


@pytest.mark.req("H-30")
async def test_a_setting_has_somebody_else_accept_what_tokens_proposed(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    made = await world.call("propose_changes", with_token(world.user), reason="x", steps=RENAME)
    world.set_policy(AcceptancePolicy(own=False))
    with pytest.raises(ForbiddenError, match="setting accept_own_proposals"):
        await world.call("accept_proposal", id=made.id)
    await world.call("accept_proposal", world.other, id=made.id)


async def test_how_a_proposal_was_made_is_kept_with_it(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    robot = replace(with_token(world.user), face="mcp", client="scribe 1.0", run_id="r-1")
    made = await world.call("propose_changes", robot, reason="x", steps=RENAME)
    [row] = await world.store.fetch(
        "SELECT via, face, client, token_id, run_id FROM proposals WHERE id = $1", made.id
    )
    assert tuple(row) == ("token", "mcp", "scribe 1.0", "t-1", "r-1")


@pytest.mark.req("H-30")
async def test_a_proposal_of_an_older_release_without_a_token_waits_for_somebody_else(
    world: World,
) -> None:
    await world.call("create_epic", title="Checkout")
    made = await world.call("propose_changes", with_token(world.user), reason="x", steps=RENAME)
    await world.store.execute("UPDATE proposals SET via = '', token_id = ''")
    for caller in (world.user, with_token(world.user)):
        with pytest.raises(ForbiddenError, match="you proposed it yourself"):
            await world.call("accept_proposal", caller, id=made.id)
    await world.call("accept_proposal", world.other, id=made.id)
