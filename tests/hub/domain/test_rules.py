"""Rules for statuses, priorities, parents, cycles and names; impact; acceptance of proposals."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, strategies as st

from accord.hub.domain.lint import lint_item
from accord.hub.domain.rules import (
    CHILDREN,
    KINDS,
    PRIORITIES,
    STATUSES,
    AcceptancePolicy,
    CycleError,
    HierarchyError,
    ImpactLink,
    ImpactSearch,
    ImpactStep,
    Kind,
    ProposalOrigin,
    Reference,
    TransitionError,
    acceptance_problem,
    changed_ends,
    changes_content,
    check_acyclic,
    check_criteria,
    check_linkable,
    check_transition,
    impact_steps,
    parse_priority,
    parse_reference,
    shortest_path,
)
from accord.hub.domain.text import MAX_CHOICES, fold, no_such

WORK = {
    ("Backlog", "Draft"),
    ("Backlog", "In Progress"),
    ("Backlog", "Cancelled"),
    ("Draft", "Backlog"),
    ("Draft", "In Progress"),
    ("Draft", "Cancelled"),
    ("In Progress", "Done"),
    ("In Progress", "Cancelled"),
    ("Done", "In Progress"),
    ("Cancelled", "Backlog"),
}
REQUIREMENTS = {
    ("Draft", "Active"),
    ("Draft", "Obsolete"),
    ("Active", "Obsolete"),
    ("Obsolete", "Active"),
}
EDGES = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=14)


@pytest.mark.parametrize(
    ("kind", "allowed"),
    [("epic", WORK), ("user_story", WORK), ("requirement", REQUIREMENTS)],
)
def test_statuses_follow_as_the_table_says_and_no_other_way(
    kind: Kind, allowed: set[tuple[str, str]]
) -> None:
    followed = set()
    for before, after in product(STATUSES[kind], repeat=2):
        try:
            check_transition(kind, before, after)
        except TransitionError:
            continue
        followed.add((before, after))
    assert followed == allowed | {(status, status) for status in STATUSES[kind]}


def test_a_status_that_does_not_follow_is_answered_with_those_that_do() -> None:
    with pytest.raises(TransitionError) as refused:
        check_transition("epic", "In Progress", "Backlog")
    assert str(refused.value) == (
        "'Backlog' does not follow on 'In Progress'; allowed: Done, Cancelled"
    )
    assert refused.value.allowed == ("Done", "Cancelled")


def test_what_has_no_status_takes_none() -> None:
    with pytest.raises(TransitionError, match="allowed: none"):
        check_transition("acceptance_criteria", "", "Draft")


@pytest.mark.parametrize(
    ("text", "priority"),
    [
        *(("1", 1), ("critical", 1), (" HIGH ", 2), ("Medium", 3), ("4", 4)),
        *(("5", None), ("0", None), ("", None), ("urgent", None), ("01", None)),
    ],
)
def test_priorities_are_named_by_number_or_word(text: str, priority: int | None) -> None:
    assert parse_priority(text) == priority
    assert priority is None or priority in PRIORITIES


def test_each_kind_stands_under_one_other_or_none() -> None:
    assert {kind: rules.parent for kind, rules in KINDS.items()} == {
        "epic": None,
        "user_story": "epic",
        "acceptance_criteria": "user_story",
        "requirement": "user_story",
        "steering_document": None,
        "prompt": None,
    }
    assert CHILDREN["user_story"] == ("acceptance_criteria", "requirement")


def test_a_requirement_and_its_criteria_are_of_one_story() -> None:
    check_criteria("story", "story")
    with pytest.raises(HierarchyError, match="another user story"):
        check_criteria("story", "other")


def test_all_but_prompts_have_relationships() -> None:
    for kind in KINDS:
        if kind != "prompt":
            check_linkable(kind)
    with pytest.raises(HierarchyError) as refused:
        check_linkable("prompt")
    assert str(refused.value) == (
        "Prompt has no relationships; these have: "
        "Epic, User story, Acceptance criteria, Requirement, Steering document"
    )


def test_a_link_that_closes_a_circle_is_refused_with_the_way_around() -> None:
    edges = [("b", "c"), ("b", "x"), ("x", "y"), ("y", "a"), ("c", "a")]
    with pytest.raises(CycleError) as refused:
        check_acyclic("depends_on", edges, "a", "b")
    assert refused.value.path == ("a", "b", "c", "a")
    assert str(refused.value) == "depends_on would close a circle: a -> b -> c -> a"
    check_acyclic("depends_on", edges, "b", "a")


@given(EDGES)
def test_links_that_are_all_checked_never_close_a_circle(edges: list[tuple[str, str]]) -> None:
    kept: list[tuple[str, str]] = []
    for source, target in edges:
        try:
            check_acyclic("blocks", kept, source, target)
        except CycleError as error:
            walked = list(zip(error.path, error.path[1:], strict=False))
            assert walked[0] == (source, target)
            assert set(walked[1:]) <= set(kept)
            assert walked[-1][1] == source
        else:
            kept.append((source, target))
    assert not [
        each
        for each in "abcdef"
        for start, end in kept
        if start == each and shortest_path(kept, end, each)
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Business Rule", "  business   rule "),
        ("STRASSE", "straße"),
        ("Ångström", "A\u030angstro\u0308m"),
        ("ﬁne", "fine"),
        ("no\u200bthing", "nothing"),
    ],
)
def test_names_that_look_alike_are_one(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@given(st.text())
def test_folding_twice_is_folding_once(name: str) -> None:
    assert fold(fold(name)) == fold(name)


def test_a_wrong_name_is_answered_with_the_nearest_first() -> None:
    valid = ("blocks", "depends_on", "refines")
    assert no_such("relationship type", "depend_on", valid) == (
        "there is no relationship type 'depend_on'; there are: depends_on, blocks, refines"
    )
    assert no_such("label", "x", ()) == "there is no label 'x': there are none at all"


def test_of_many_names_some_are_told() -> None:
    valid = [f"{number:03d}" for number in range(MAX_CHOICES + 5)]
    answer = no_such("label", "?" * 500, valid)
    assert answer.endswith(f"{MAX_CHOICES - 1:03d} and 5 more")
    assert answer.count("?") == 80


def test_all_names_are_told_where_there_are_no_more_than_fit() -> None:
    valid = [f"name {number}" for number in range(MAX_CHOICES)]
    assert no_such("label", "?", valid) == (f"there is no label '?'; there are: {', '.join(valid)}")
    assert no_such("label", "?", [*valid, "one"]).endswith(f"name {MAX_CHOICES - 1} and 1 more")


def test_the_three_nearest_names_come_first_and_once() -> None:
    valid = ["far", "blocks", "blocked", "block", "blocker"]
    assert no_such("type", "block", valid) == (
        "there is no type 'block'; there are: block, blocks, blocker, far, blocked"
    )


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("REQ-001", Reference("requirement", 1)),
        (" ep-1000 ", Reference("epic", 1000)),
        ("us-7", Reference("user_story", 7)),
        ("XX-001", None),
        ("EP-000", None),
        ("EP-٣", None),
        ("EP", None),
    ],
)
def test_references_are_read_in_any_case_and_width(text: str, reference: Reference | None) -> None:
    assert parse_reference(text) == reference


def test_references_are_padded_and_grow() -> None:
    assert [str(Reference("prompt", number)) for number in (1, 999, 1000)] == [
        *("PROMPT-001", "PROMPT-999", "PROMPT-1000"),
    ]


def test_what_an_item_says_is_in_its_texts_and_its_type() -> None:
    assert changes_content({"status": "Active", "type": "Data"})
    assert not changes_content({"status": "Active", "assignee_id": None})


def test_a_link_is_suspect_for_each_end_that_changed() -> None:
    assert changed_ends((1, 2), (1, 2)) == (False, False)
    assert changed_ends((1, 2), (3, 2)) == (True, False)
    assert changed_ends((1, 2), (1, 3)) == (False, True)
    assert changed_ends((4, 4), (1, 3)) == (False, False)


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


pytestmark = pytest.mark.req("H-30")

TOKEN, SESSION, LOCAL = (ProposalOrigin("uma", via, "") for via in ("token", "session", "local"))
RUN = ProposalOrigin("uma", "local", "run-1")
UNKNOWN = ProposalOrigin("uma", "", "")

SAME_WAY = "nobody accepts with a token what they proposed"
SOMEBODY_ELSE = "somebody else has to accept it"
SETTING = "accept_own_proposals"


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("proposed", [TOKEN, SESSION, LOCAL, RUN, UNKNOWN])
@pytest.mark.parametrize("accepts", [TOKEN, SESSION, LOCAL, RUN])
def test_others_are_not_asked_how_they_called(
    proposed: ProposalOrigin, accepts: ProposalOrigin, own: bool
) -> None:
    other = ProposalOrigin("otto", accepts.via, accepts.run_id)
    assert acceptance_problem(AcceptancePolicy(own=own), proposed, other) == ""


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("proposed", [TOKEN, SESSION, LOCAL, RUN, UNKNOWN])
@pytest.mark.parametrize("accepts", [TOKEN, RUN, UNKNOWN])
def test_programs_never_accept_what_their_owner_proposed(
    proposed: ProposalOrigin, accepts: ProposalOrigin, own: bool
) -> None:
    assert SAME_WAY in acceptance_problem(AcceptancePolicy(own=own), proposed, accepts)


@pytest.mark.parametrize("accepts", [SESSION, LOCAL])
def test_people_accept_in_person_what_their_programs_proposed(accepts: ProposalOrigin) -> None:
    for proposed in (TOKEN, RUN):
        assert acceptance_problem(AcceptancePolicy(), proposed, accepts) == ""
        assert SETTING in acceptance_problem(AcceptancePolicy(own=False), proposed, accepts)
    for proposed in (SESSION, LOCAL, UNKNOWN):
        assert SOMEBODY_ELSE in acceptance_problem(AcceptancePolicy(), proposed, accepts)
