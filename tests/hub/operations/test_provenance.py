"""Comments, items, baselines and accepted proposals name the assistant that made them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from accord.hub.entities import Provenance
from accord.operations.context import Caller
from tests.hub.world import World

pytestmark = pytest.mark.req("H-60")

ASSISTANT = Provenance(face="mcp", client="scribe 1.0", token="laptop")


async def token_of(world: World, owner: Caller, name: str = "laptop") -> Caller:
    """Return an assistant of `owner` with a token of this name."""
    id = f"token-of-{owner.username}"
    await world.store.execute(
        "INSERT INTO tokens (id, user_id, name, prefix, last_four, hash, scopes, created_at, "
        "expires_at) VALUES ($1, $2, $3, '', '', $1, '', '2026-01-01', '2027-01-01')",
        *(id, owner.user_id, name),
    )
    scopes: Any = frozenset({"read", "write", "comment", "propose", "delete"})
    return replace(owner, via="token", face="mcp", token_id=id, client="scribe 1.0", scopes=scopes)


async def test_comments_of_an_assistant_name_its_program_and_token(world: World) -> None:
    robot = await token_of(world, world.user)
    await world.call("create_epic", title="Checkout")
    own = await world.call("add_comment", target_id="EP-001", text="By hand")
    made = await world.call("add_comment", robot, target_id="EP-001", text="By a program")
    listed = {
        each.id: each for each in (await world.call("list_comments", target_id="EP-001")).items
    }
    assert listed[own.id].provenance is UNSET
    assert listed[made.id].provenance == ASSISTANT
    assert (await world.call("get_comment", id=made.id)).provenance == ASSISTANT
    context = await world.call("get_context", id="EP-001")
    assert "- uma (through scribe 1.0, token laptop):" in context.text
    assert "- uma:" in context.text

    await world.call("resolve_comment", robot, id=own.id)
    found = await world.call("get_comment", id=own.id)
    assert (found.resolved_by, found.resolved_with) == ("uma", ASSISTANT)
    await world.call("resolve_comment", id=own.id, resolved=False)
    await world.call("resolve_comment", id=own.id)
    assert (await world.call("get_comment", id=own.id)).resolved_with is UNSET


async def test_a_restored_comment_keeps_its_program(world: World) -> None:
    robot = await token_of(world, world.user)
    await world.call("create_epic", title="Checkout")
    made = await world.call("add_comment", robot, target_id="EP-001", text="By a program")
    deleted = await world.outcome("delete_comment", id=made.id)
    await world.call("undo", change_id=deleted.change_id)
    assert (await world.call("get_comment", id=made.id)).provenance == ASSISTANT


async def test_items_and_baselines_name_the_program_that_made_them(world: World) -> None:
    robot = await token_of(world, world.user)
    await world.call("create_epic", robot, title="Checkout")
    await world.call("create_epic", title="By hand")
    await world.call("update_epic", id="EP-001", title="Check-out")
    around = await world.call("get_surroundings", id="EP-001")
    assert around.provenance == ASSISTANT
    assert (await world.call("get_surroundings", id="EP-002")).provenance is UNSET
    await world.call("create_baseline", robot, name="R1")
    await world.call("create_baseline", name="R2")
    listed = (await world.call("list_baselines")).items
    assert [each.provenance for each in listed] == [UNSET, ASSISTANT]
    assert (await world.call("get_baseline", id="R1")).provenance == ASSISTANT


async def test_what_an_accepted_proposal_made_names_the_assistant_that_proposed_it(
    world: World,
) -> None:
    robot = await token_of(world, world.user)
    await world.call("create_epic", title="Checkout")
    proposal = await world.call(
        "propose_changes",
        robot,
        reason="clearer",
        steps=[
            {"operation": "update_epic", "arguments": {"id": "EP-001", "title": "Pay"}},
            {"operation": "add_comment", "arguments": {"target_id": "EP-001", "text": "Why?"}},
        ],
    )
    accepted = await world.outcome("accept_proposal", id=proposal.id)
    expected = ("uma", "uma", "mcp", "scribe 1.0", "laptop")

    def named(change: Any) -> tuple[str, ...]:
        return (
            change.actor,
            change.proposed_by,
            change.proposed_face,
            change.proposed_client,
            change.proposed_token,
        )

    assert named(await world.call("get_change", change_id=accepted.change_id)) == expected
    assert named((await world.call("list_changes", limit=1)).items[0]) == expected
    assert named((await world.call("list_news", limit=1)).items[0]) == expected
    revision = (await world.call("history", id="EP-001", limit=1)).items[0]
    assert named(revision.change) == expected
    [comment] = (await world.call("list_comments", target_id="EP-001")).items
    assert comment.author == "uma"
    assert comment.provenance == Provenance(
        face="mcp", client="scribe 1.0", token="laptop", proposed_by="uma"
    )
