"""Properties: every change can be undone, and lists have every item once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from accord.operations.errors import ServiceError
from accord.operations.operation import Outcome
from tests.hub.operations.state import state
from tests.hub.world import World

UNHURRIED = settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.reuse, Phase.generate],  # a world that failed is no place to look for less
)

Pick = Callable[[int], int]
"""Draws a number below its argument."""


class Author:
    """A writer of random changes."""

    def __init__(self, world: World, pick: Pick) -> None:
        self._world = world
        self._pick = pick

    async def write(self) -> Outcome:
        """Make a random change. Raises ServiceError if the rules forbid it."""
        writes = (
            *(self._create, self._create, self._create, self._update, self._update, self._delete),
            *(self._move, self._comment, self._answer, self._link, self._unlink, self._steer),
            *(self._activate, self._several),
        )
        return await writes[self._pick(len(writes))]()

    async def _call(self, name: str, /, **arguments: Any) -> Outcome:
        return await self._world.outcome(name, self._world.admin, **arguments)

    async def _any(self, *kinds: str) -> str:
        """Return the reference id of an item of these kinds.

        Return one that does not exist if there are no items.
        """
        rows = await self._world.store.fetch(
            "SELECT kind, reference_id FROM items ORDER BY number, kind"
        )
        names = [row["reference_id"] for row in rows if row["kind"] in kinds] or ["EP-999999"]
        found: str = names[self._pick(len(names))]
        return found

    def _create(self) -> Awaitable[Outcome]:
        return (self._epic, self._story, self._criteria, self._requirement)[self._pick(4)]()

    async def _epic(self) -> Outcome:
        return await self._call("create_epic", title=f"epic {self._pick(9)}")

    async def _story(self) -> Outcome:
        return await self._call("create_user_story", epic_id=await self._any("epic"), title="story")

    async def _criteria(self) -> Outcome:
        story = await self._any("user_story")
        return await self._call("create_acceptance_criteria", user_story_id=story, description="ok")

    async def _requirement(self) -> Outcome:
        story = await self._any("user_story")
        criteria = await self._any("acceptance_criteria") if self._pick(2) else None
        return await self._call(
            "create_requirement", user_story_id=story, title="r", acceptance_criteria_id=criteria
        )

    async def _update(self) -> Outcome:
        match self._pick(4):
            case 0:
                return await self._call(
                    "update_epic",
                    id=await self._any("epic"),
                    title=f"t{self._pick(3)}",
                    status="Draft",
                )
            case 1:
                story = await self._any("user_story")
                return await self._call(
                    "update_user_story", id=story, epic_id=await self._any("epic")
                )
            case 2:
                requirement = await self._any("requirement")
                return await self._call(
                    "update_requirement", id=requirement, status="Active", assignee=None
                )
            case _:
                some = await self._any("epic", "user_story", "requirement", "acceptance_criteria")
                return await self._call("append_text", id=some, text="more")

    async def _delete(self) -> Outcome:
        kind = ("epic", "user_story", "acceptance_criteria", "requirement")[self._pick(4)]
        return await self._call(f"delete_{kind}", id=await self._any(kind), force=True)

    async def _move(self) -> Outcome:
        kind = ("epic", "user_story", "requirement")[self._pick(3)]
        return await self._call("move_item", id=await self._any(kind), before=await self._any(kind))

    async def _comment(self) -> Outcome:
        return await self._call(
            "add_comment", target_id=await self._any("epic", "requirement"), text="why?"
        )

    async def _answer(self) -> Outcome:
        rows = await self._world.store.fetch(
            "SELECT id, target_id FROM comments ORDER BY created_at, id"
        )
        if not rows:
            return await self._comment()
        row = rows[self._pick(len(rows))]
        match self._pick(4):
            case 0:
                return await self._call("delete_comment", id=row["id"], force=True)
            case 1:
                return await self._call("resolve_comment", id=row["id"])
            case 2:
                return await self._call("update_comment", id=row["id"], text=f"or {self._pick(5)}")
            case _:
                return await self._call(
                    "add_comment", target_id=row["target_id"], reply_to=row["id"], text="so"
                )

    async def _link(self) -> Outcome:
        kinds = ("epic", "requirement")
        return await self._call(
            "create_relationship",
            source_id=await self._any(*kinds),
            target_id=await self._any(*kinds),
            type="depends_on",
        )

    async def _unlink(self) -> Outcome:
        rows = await self._world.store.fetch("SELECT id FROM relationships ORDER BY created_at, id")
        if not rows:
            return await self._link()
        return await self._call("delete_relationship", id=rows[self._pick(len(rows))]["id"])

    async def _steer(self) -> Outcome:
        epics = [await self._any("epic") for _ in range(self._pick(3))]
        return await self._call("create_steering_document", title="Law", epic_ids=epics)

    async def _activate(self) -> Outcome:
        rows = await self._world.store.fetch(
            "SELECT name FROM items WHERE kind = 'prompt' ORDER BY number"
        )
        if len(rows) < 2:
            return await self._call("create_prompt", name=f"p{self._pick(5)}", content="Be kind.")
        return await self._call("activate_prompt", id=rows[self._pick(len(rows))]["name"])

    async def _several(self) -> Outcome:
        epic = {"operation": "create_epic", "arguments": {"title": "of several"}}
        story = {"operation": "create_user_story", "arguments": {"epic_id": "$1.id", "title": "s"}}
        change = {
            "operation": "update_epic",
            "arguments": {"id": await self._any("epic"), "title": "t"},
        }
        return await self._call("apply_changes", steps=[epic, story, change])


@UNHURRIED
@given(st.lists(st.integers(0, 10**6), min_size=150, max_size=150))
async def test_any_writes_can_be_undone_and_done_again(world: World, chances: list[int]) -> None:
    left = iter(chances)
    author = Author(world, lambda count: next(left) % count)
    empty = await state(world)
    changes = []
    for _ in range(15):
        try:
            outcome = await author.write()
        except ServiceError:
            continue
        if outcome.change_id:
            changes.append(outcome.change_id)
    full = await state(world)

    undos = []
    for change in reversed(changes):
        undone = await world.outcome("undo", world.admin, change_id=change)
        undos.append(undone.change_id)
    assert await state(world) == empty

    redone = [
        await world.outcome("undo", world.admin, change_id=change) for change in reversed(undos)
    ]
    assert await state(world) == full

    for outcome in reversed(redone):
        await world.outcome("undo", world.admin, change_id=outcome.change_id)
    assert await state(world) == empty


@UNHURRIED
@given(
    st.lists(st.tuples(st.integers(1, 4), st.sampled_from("abc")), min_size=1, max_size=12),
    st.sampled_from(
        [
            "reference_id",
            "-reference_id",
            "priority",
            "-priority",
            "title",
            "-title",
            "position",
            "created_at",
            "status",
        ]
    ),
    st.integers(1, 4),
    st.lists(st.booleans(), min_size=30, max_size=30),
)
async def test_what_comes_and_goes_between_pages_neither_repeats_nor_hides_others(
    world: World, epics: list[tuple[int, str]], sort: str, limit: int, comings: list[bool]
) -> None:
    await world.store.execute("DELETE FROM items")
    going = []
    for priority, title in epics:
        made = await world.call("create_epic", title=title, priority=priority)
        going.append(made.reference_id)
    stays = set(going[: len(going) // 2 + 1])
    going = [name for name in going if name not in stays]
    seen: list[str] = []
    cursor = None
    for is_coming in comings:
        page = await world.call("list_epics", sort=sort, limit=limit, cursor=cursor)
        seen += [each.reference_id for each in page.items]
        counted = await world.store.fetch("SELECT COUNT(*) AS total FROM items")
        assert page.total == counted[0]["total"]
        assert page.has_more == (page.next_cursor is not None)
        cursor = page.next_cursor
        if cursor is None:
            break
        if is_coming:
            await world.call("create_epic", title="b", priority=2)
        elif going:
            await world.call("delete_epic", id=going.pop())
    assert len(seen) == len(set(seen))
    if cursor is None:
        assert stays <= set(seen)
