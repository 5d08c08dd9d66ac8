"""News: what was done lately and to what, and comments that wait for somebody."""

from __future__ import annotations

from msgspec import to_builtins

from tests.hub.world import World


async def test_news_tell_what_each_change_did_to_the_first_things_it_touched(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    await world.call("update_epic", id="EP-001", status="In Progress")
    await world.call("add_comment", target_id="EP-001", text="To whom?")
    steps = [
        {"operation": "create_epic", "arguments": {"title": f"Epic {number}"}}
        for number in range(5)
    ]
    await world.call("apply_changes", steps=steps)
    await world.call("delete_epic", world.admin, id="EP-006")
    found = await world.call("list_news", world.other)
    assert found.total == 5
    told = [
        [(each.action, each.kind, each.reference_id, each.heading) for each in news.touched]
        for news in found.items
    ]
    assert told == [
        [("deleted", "epic", "EP-006", "Epic 4")],
        [("created", "epic", f"EP-00{number}", f"Epic {number - 2}") for number in (2, 3, 4)],
        [("created", "comment", "EP-001", "To whom?")],
        [("updated", "epic", "EP-001", "Checkout")],
        [("created", "epic", "EP-001", "Checkout")],
    ]
    assert [news.total for news in found.items] == [1, 5, 1, 1, 1]
    [status] = found.items[3].touched[0].differences
    assert to_builtins(status) == {"field": "status", "before": "Backlog", "after": "In Progress"}


async def test_news_are_paged_and_leave_out_what_people_save_for_themselves(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    await world.call("create_view", name="Mine", filter={"assignee": "uma"})
    await world.call("create_epic", title="Refunds")
    first = await world.call("list_news", limit=1)
    assert [each.touched[0].heading for each in first.items] == ["Refunds"]
    rest = await world.call("list_news", limit=1, cursor=first.next_cursor)
    assert [each.touched[0].heading for each in rest.items] == ["Checkout"]
    assert (first.total, rest.has_more) == (2, False)


async def test_open_comments_of_others_wait_for_whom_the_item_is_assigned_to(world: World) -> None:
    await world.call("create_epic", title="Checkout", assignee="uma")
    await world.call("create_epic", title="Refunds", assignee="otto")
    waiting = [
        await world.call("add_comment", world.commenter, target_id="EP-001", text=text)
        for text in ("First", "Second", "Third")
    ]
    await world.call("add_comment", target_id="EP-001", text="My own")
    await world.call("add_comment", world.commenter, target_id="EP-002", text="For another")
    await world.call("resolve_comment", world.commenter, id=waiting[1].id)
    first = await world.call("list_comments_for_me", limit=1)
    rest = await world.call("list_comments_for_me", limit=1, cursor=first.next_cursor)
    assert [each.text for each in (*first.items, *rest.items)] == ["First", "Third"]
    assert (first.total, rest.has_more) == (2, False)
