"""Edits of parts of texts, and the linter on items."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from accord.hub.operations.texts import LintFinding, LintResult, LintStatement
from accord.operations.errors import ForbiddenError, InvalidError, NotFoundError, StaleError
from tests.hub.operations.shop import Shop
from tests.hub.world import World


async def test_a_part_that_occurs_once_is_replaced_and_the_diff_comes_back(world: World) -> None:
    await world.call("create_epic", title="Checkout", description="one\ntwo\nthree")
    changed = await world.call("edit_text", id="EP-001", old="two", new="2")
    assert (changed.reference_id, changed.version, changed.field) == ("EP-001", 2, "description")
    assert changed.diff == "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"
    assert (await world.call("get_epic", id="EP-001")).description == "one\n2\nthree"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"old": "four", "new": "4"}, "old: occurs not at all"),
        ({"old": "o", "new": "0"}, "old: occurs 2 times: give more of what is around it"),
        ({"old": "aa", "new": "b", "field": "title"}, "old: occurs 2 times"),
        ({"old": "aaa", "new": "", "field": "title"}, "title: would be empty"),
        ({"old": "one", "new": "x", "field": "content"}, "field: EP-001 has only title, descr"),
        ({"old": "one", "new": "\x07"}, "description: has the character U\\+0007"),
        ({"old": "one", "new": "x" * 50_000}, "description: would have 50,010 characters, over"),
    ],
)
async def test_an_edit_that_cannot_be_done_says_why(
    world: World, arguments: dict[str, Any], message: str
) -> None:
    await world.call("create_epic", title="aaa", description="one\ntwo\nthree")
    with pytest.raises(InvalidError, match=message):
        await world.call("edit_text", id="EP-001", **arguments)
    assert (await world.call("get_epic", id="EP-001")).version == 1


async def test_text_is_added_on_a_new_line(world: World) -> None:
    await world.call("create_epic", title="Checkout")
    for text in ("one", "two\n", "three"):
        await world.call("append_text", id="EP-001", text=text)
    assert (await world.call("get_epic", id="EP-001")).description == "one\ntwo\nthree"
    await world.call("append_text", id="EP-001", field="title", text="now")
    assert (await world.call("get_epic", id="EP-001")).title == "Checkout now"


async def test_a_stale_edit_is_refused(world: World) -> None:
    await world.call("create_epic", title="Checkout", description="one")
    await world.call("append_text", id="EP-001", text="two")
    with pytest.raises(StaleError):
        await world.call("edit_text", id="EP-001", old="one", new="1", expected_version=1)


async def test_commenters_edit_nothing(world: World) -> None:
    await world.call("create_epic", title="Checkout", description="one")
    with pytest.raises(ForbiddenError):
        await world.call("edit_text", world.commenter, id="EP-001", old="one", new="1")


VAGUE = "The till shall charge the card fast."


async def test_a_text_is_looked_at_before_it_is_written_down(shop: Shop) -> None:
    assert await shop.call("lint_requirement", text=VAGUE) == LintResult(
        reference_id=UNSET,
        findings=[
            LintFinding(
                field="text",
                rule="vague-word",
                start=31,
                end=35,
                quote="fast",
                message="'fast' is vague",
                hint="say how long it may take, with a unit",
            )
        ],
        statements=[LintStatement(field="text", start=0, end=36, pattern="ubiquitous")],
        suppressed=[],
        left_out=0,
    )
    story = await shop.call("lint_requirement", text="Pay", form="story")
    assert [each.rule for each in story.findings] == ["story-form"]


@pytest.mark.parametrize(
    ("id", "rules"),
    [
        ("REQ-001", [("title", "missing-shall")]),
        ("US-001", [("title", "story-form")]),
        ("EP-001", []),
        ("AC-001", []),
        ("STD-001", []),
    ],
)
async def test_every_item_is_looked_at_by_the_rules_that_fit_it(
    shop: Shop, id: str, rules: list[tuple[str, str]]
) -> None:
    found = await shop.call("lint_requirement", id=id)
    assert found.reference_id == id
    assert [(each.field, each.rule) for each in found.findings] == rules


async def test_the_title_is_prose_beside_a_description(shop: Shop) -> None:
    await shop.call("update_requirement", id="REQ-001", title="Fast charge", description=VAGUE)
    found = await shop.call("lint_requirement", id="REQ-001")
    assert [(each.field, each.rule, each.quote) for each in found.findings] == [
        ("title", "vague-word", "Fast"),
        ("description", "vague-word", "fast"),
    ]


async def test_a_story_says_its_form_in_title_and_description_together(shop: Shop) -> None:
    await shop.call(
        "update_user_story",
        id="US-001",
        title="As a guest I want to pay by card",
        description="so that I need no cash",
    )
    assert (await shop.call("lint_requirement", id="US-001")).findings == []


@pytest.mark.parametrize("arguments", [{}, {"id": "REQ-001", "text": "x"}])
async def test_an_item_or_a_text_is_looked_at(shop: Shop, arguments: dict[str, str]) -> None:
    with pytest.raises(InvalidError, match="one of the two"):
        await shop.world.call("lint_requirement", None, **arguments)


async def test_a_rule_is_put_aside_with_a_reason_and_taken_up_again(shop: Shop) -> None:
    await shop.edit("REQ-001", VAGUE)
    await shop.call("suppress_lint", id="REQ-001", rule="Vague-Word", reason="A slogan.")
    again = await shop.outcome(
        "suppress_lint", shop.world.other, id="REQ-001", rule="vague-word", reason="Law says so."
    )
    assert [(each.action, each.reference_id) for each in again.effects] == [
        ("updated", "REQ-001 vague-word")
    ]
    found = await shop.call("lint_requirement", id="REQ-001")
    assert found.findings == []
    assert [(each.rule, each.reason, each.author) for each in found.suppressed] == [
        ("vague-word", "Law says so.", "otto")
    ]
    await shop.call("unsuppress_lint", id="REQ-001", rule="vague-word")
    assert len((await shop.call("lint_requirement", id="REQ-001")).findings) == 1
    with pytest.raises(NotFoundError, match="vague-word is not suppressed for REQ-001"):
        await shop.call("unsuppress_lint", id="REQ-001", rule="vague-word")


async def test_a_wrong_rule_is_answered_with_the_rules_there_are(shop: Shop) -> None:
    with pytest.raises(InvalidError) as refused:
        await shop.call("suppress_lint", id="REQ-001", rule="vague", reason="x")
    assert "there are: vague-word, " in refused.value.message
    with pytest.raises(ForbiddenError):
        await shop.call(
            "suppress_lint", shop.world.commenter, id="REQ-001", rule="passive", reason="x"
        )


async def test_a_write_is_told_what_the_linter_says(shop: Shop) -> None:
    made = await shop.outcome("update_requirement", id="REQ-001", description=VAGUE)
    assert [(each.code, each.reference_id, each.message) for each in made.hints] == [
        (
            "vague-word",
            "REQ-001",
            "description: 'fast' is vague; say how long it may take, with a unit",
        )
    ]
    same = await shop.outcome("update_requirement", id="REQ-001", status="Active")
    assert same.hints == ()


async def test_of_many_findings_a_write_is_told_some(shop: Shop) -> None:
    made = await shop.outcome(
        "update_requirement", id="REQ-001", description="It shall be " + "fast " * 20
    )
    assert [each.code for each in made.hints] == [*["vague-word"] * 5, "lint"]
    assert made.hints[-1].message == "15 more findings: see lint_requirement"


async def test_a_dry_run_says_which_links_it_would_make_suspect(shop: Shop) -> None:
    await shop.link("REQ-001", "verifies", "AC-001")
    text = "The till shall charge the card."
    preview = await shop.call("update_requirement", id="REQ-001", description=text, dry_run=True)
    assert [(each.code, each.message) for each in preview.hints] == [
        (
            "suspect-links",
            "links become suspect, confirm those that still hold: REQ-001 verifies AC-001",
        )
    ]
    assert (await shop.call("list_relationships", suspect=True)).total == 0
    await shop.edit("REQ-001", text)
    second = await shop.outcome("update_requirement", id="REQ-001", description=f"{text} Once.")
    assert second.hints == ()  # it is suspect already


async def test_what_ends_is_told_who_still_needs_it(shop: Shop) -> None:
    await shop.link("REQ-002", "depends_on", "REQ-001")
    await shop.link("REQ-001", "depends_on", "REQ-003")
    ended = await shop.outcome("update_requirement", id="REQ-001", status="Obsolete")
    assert [(each.code, each.message) for each in ended.hints] == [
        ("still-needed", "other items still need it: REQ-002 depends_on REQ-001")
    ]


async def test_prompts_are_not_looked_at(shop: Shop) -> None:
    made = await shop.outcome(
        "create_prompt", shop.world.admin, name="p", title="Fast", content="Be fast, etc."
    )
    assert made.hints == ()
