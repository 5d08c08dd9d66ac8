"""What is affected, step by step, and the linter on the texts of an item."""

from __future__ import annotations

from accord.hub.domain.impact import Link, Reach, Step, steps
from accord.hub.domain.item_lint import lint_item


def test_the_end_that_leans_on_the_other_is_affected() -> None:
    assert list(steps(Link("a", "b", "depends_on", "is_depended_on_by"))) == [
        Step("b", "a", "is_depended_on_by")
    ]
    assert list(steps(Link("a", "b", "blocks", "is_blocked_by"))) == [Step("a", "b", "blocks")]
    assert list(steps(Link("a", "b", "duplicates", "is_duplicated_by"))) == [
        Step("a", "b", "duplicates"),
        Step("b", "a", "is_duplicated_by"),
    ]
    assert list(steps(Link("a", "b", "relates_to", "relates_to", is_symmetric=True))) == [
        Step("a", "b", "relates_to"),
        Step("b", "a", "relates_to"),
    ]


def test_everything_is_reached_once_by_one_of_its_shortest_ways() -> None:
    reach = Reach("a", limit=10)
    reach.advance([Step("a", "b", "1"), Step("a", "c", "2")])
    assert reach.front == ("b", "c")
    reach.advance(
        [Step("b", "a", "3"), Step("b", "d", "4"), Step("c", "d", "5"), Step("c", "e", "6")]
    )
    assert reach.distances == {"a": 0, "b": 1, "c": 1, "d": 2, "e": 2}
    assert reach.path("d") == [Step("a", "b", "1"), Step("b", "d", "4")]
    assert [(depth, step.label) for depth, step in reach.tree()] == [
        *((1, "1"), (2, "4"), (1, "2"), (2, "6")),
    ]
    assert not reach.is_cut


def test_no_more_is_reached_than_was_asked_for() -> None:
    reach = Reach("a", limit=1)
    reach.advance([Step("a", "b", "1"), Step("a", "b", "2"), Step("a", "c", "3")])
    assert (reach.front, reach.is_cut) == (("b",), True)


def test_the_statement_of_an_item_is_its_description_or_else_its_title() -> None:
    only_title = lint_item("requirement", {"title": "Fast login", "description": "  "})
    assert [each.rule for each in only_title["title"].findings] == ["vague-word", "missing-shall"]
    both = lint_item("requirement", {"title": "Fast login", "description": "Log in."})
    assert [each.rule for each in both["title"].findings] == ["vague-word"]
    assert [each.rule for each in both["description"].findings] == ["missing-shall"]


def test_a_story_has_its_form_in_title_and_description_together() -> None:
    told = {"title": "As a guest I want to pay", "description": "So that I can leave."}
    assert all(not each.findings for each in lint_item("user_story", told).values())
    untold = lint_item("user_story", {**told, "title": "Pay"})
    assert [each.rule for each in untold["description"].findings] == ["story-form"]
