"""Prompts: at most one is active."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import to_builtins

from accord.operations.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError
from tests.hub.world import World

pytestmark = pytest.mark.req("H-12")


async def test_a_prompt_is_created_read_changed_and_deleted_by_administrators(
    world: World,
) -> None:
    made = await world.call("create_prompt", world.admin, name="reviewer", content="Be kind.\n")
    assert to_builtins(await world.call("get_prompt", world.commenter, id="prompt-1")) == {
        "id": made.id,
        "reference_id": "PROMPT-001",
        "version": 1,
        "created_at": made.created_at,
        "updated_at": made.created_at,
        "name": "reviewer",
        "title": "reviewer",
        "description": "",
        "content": "Be kind.\n",
        "role": "user",
        "active": False,
        "creator": "ada",
    }
    await world.call("update_prompt", world.admin, id="reviewer", content="Be strict.")
    assert (await world.call("get_prompt", id="REVIEWER")).content == "Be strict."
    await world.call("delete_prompt", world.admin, id="reviewer")
    with pytest.raises(NotFoundError):
        await world.call("get_prompt", id="PROMPT-001")


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("create_prompt", {"name": "other", "content": "x"}),
        ("update_prompt", {"id": "reviewer", "title": "x"}),
        ("delete_prompt", {"id": "reviewer"}),
        ("activate_prompt", {"id": "reviewer"}),
        ("deactivate_prompt", {"id": "reviewer"}),
        ("append_text", {"id": "PROMPT-001", "field": "content", "text": "x"}),
        ("edit_text", {"id": "PROMPT-001", "field": "content", "old": "kind", "new": "x"}),
    ],
)
async def test_only_administrators_write_prompts(
    world: World, operation: str, arguments: dict[str, Any]
) -> None:
    await world.call("create_prompt", world.admin, name="reviewer", content="Be kind.")
    for caller in (world.user, world.commenter):
        with pytest.raises(ForbiddenError):
            await world.outcome(operation, caller, **arguments)


@pytest.mark.req("H-11")
async def test_activating_one_prompt_ends_the_other(world: World) -> None:
    for name in ("one", "two"):
        await world.call("create_prompt", world.admin, name=name, content=name)
    with pytest.raises(NotFoundError, match="no prompt is active"):
        await world.call("get_active_prompt")
    await world.call("activate_prompt", world.admin, id="one")
    active = await world.call("activate_prompt", world.admin, id="PROMPT-002")
    assert (active.active, active.version) == (True, 1)
    assert (await world.call("get_active_prompt")).name == "two"
    again = await world.outcome("activate_prompt", world.admin, id="two")
    assert again.effects == ()
    await world.call("deactivate_prompt", world.admin, id="two")
    with pytest.raises(NotFoundError):
        await world.call("get_active_prompt")


@pytest.mark.req("H-11")
async def test_the_database_holds_at_most_one_active_prompt_under_concurrent_activation(
    world: World,
) -> None:
    names = [f"p{number}" for number in range(8)]
    for name in names:
        await world.call("create_prompt", world.admin, name=name, content=name)
    for _ in range(3):
        await asyncio.gather(
            *(world.call("activate_prompt", world.admin, id=name) for name in names)
        )
        active = await world.store.fetch("SELECT name FROM items WHERE active = 1")
        assert len(active) == 1


async def test_names_are_unique_in_any_letter_case(world: World) -> None:
    await world.call("create_prompt", world.admin, name="reviewer", content="x")
    with pytest.raises(ConflictError, match="PROMPT-001 has the name 'reviewer' already"):
        await world.call("create_prompt", world.admin, name="Reviewer", content="x")
    await world.call("update_prompt", world.admin, id="reviewer", name="Reviewer")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "two words"),
        ("name", "ümlaut"),
        ("name", "PROMPT-7"),
        ("name", ""),
        ("content", ""),
        ("content", "bell \x07"),
        ("role", "system"),
    ],
)
async def test_what_no_prompt_can_have_is_refused(world: World, field: str, value: str) -> None:
    arguments: dict[str, Any] = {"name": "reviewer", "content": "x", field: value}
    with pytest.raises(InvalidError) as refused:
        await world.outcome("create_prompt", world.admin, **arguments)
    assert refused.value.errors[0].pointer == f"/{field}"
