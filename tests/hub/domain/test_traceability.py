"""Impact analysis step by step, and the linter on the texts of an item."""

from __future__ import annotations

from accord.hub.domain.lint import lint_item
from accord.hub.domain.traceability import ImpactLink, ImpactSearch, ImpactStep, impact_steps


def test_the_end_that_leans_on_the_other_is_affected() -> None:
    assert list(impact_steps(ImpactLink("a", "b", "depends_on", "is_depended_on_by"))) == [
        ImpactStep("b", "a", "is_depended_on_by")
    ]
    assert list(impact_steps(ImpactLink("a", "b", "blocks", "is_blocked_by"))) == [
        ImpactStep("a", "b", "blocks")
    ]
    assert list(impact_steps(ImpactLink("a", "b", "duplicates", "is_duplicated_by"))) == [
        ImpactStep("a", "b", "duplicates"),
        ImpactStep("b", "a", "is_duplicated_by"),
    ]
    assert list(
        impact_steps(ImpactLink("a", "b", "relates_to", "relates_to", is_symmetric=True))
    ) == [
        ImpactStep("a", "b", "relates_to"),
        ImpactStep("b", "a", "relates_to"),
    ]


def test_everything_is_reached_once_by_one_of_its_shortest_ways() -> None:
    reach = ImpactSearch("a", limit=10)
    reach.advance([ImpactStep("a", "b", "1"), ImpactStep("a", "c", "2")])
    assert reach.front == ("b", "c")
    reach.advance(
        [
            ImpactStep("b", "a", "3"),
            ImpactStep("b", "d", "4"),
            ImpactStep("c", "d", "5"),
            ImpactStep("c", "e", "6"),
        ]
    )
    assert reach.distances == {"a": 0, "b": 1, "c": 1, "d": 2, "e": 2}
    assert reach.path("d") == [ImpactStep("a", "b", "1"), ImpactStep("b", "d", "4")]
    assert [(depth, step.label) for depth, step in reach.tree()] == [
        *((1, "1"), (2, "4"), (1, "2"), (2, "6")),
    ]
    assert not reach.is_cut


def test_no_more_is_reached_than_was_asked_for() -> None:
    reach = ImpactSearch("a", limit=1)
    reach.advance([ImpactStep("a", "b", "1"), ImpactStep("a", "b", "2"), ImpactStep("a", "c", "3")])
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
