"""Changes are told as people would tell them, and commands are found by what somebody types."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from markupsafe import Markup
from msgspec import UNSET

from accord.hub.entities import Difference
from accord.hub.operations.changes import NewsEntity, NewsEntry
from accord.operations.context import Caller, Role
from accord.web.activity import activity_entry, days
from accord.web.formatting import marked
from accord.web.pages.home import shares
from accord.web.pages.palette import actions, matching, places

pytestmark = pytest.mark.req("H-21")


def news(operation: str, *touched: NewsEntity, total: int = 0, **more: Any) -> NewsEntry:
    return NewsEntry(
        id="c-1",
        time="2026-03-04T10:00:00.000000Z",
        actor="ada",
        operation=operation,
        face=more.pop("face", "web"),
        touched=list(touched),
        total=total or len(touched),
        **more,
    )


def told(
    action: Any, kind: str, name: str, heading: str = "", *differences: Difference
) -> NewsEntity:
    return NewsEntity(
        action=action,
        kind=kind,
        reference_id=name,
        heading=heading,
        differences=list(differences),
    )


def changed(field: str, before: Any, after: Any) -> Difference:
    return Difference(field=field, before=before, after=after)


def said(each: NewsEntry) -> str:
    return "".join(part.text + part.behind for part in activity_entry(each).parts).strip()


@pytest.mark.parametrize(
    ("expected", "each"),
    [
        ("created REQ-012", news("create_requirement", told("created", "requirement", "REQ-012"))),
        ("deleted EP-001", news("delete_epic", told("deleted", "epic", "EP-001"))),
        (
            "set REQ-012 to Active",
            news(
                "update_requirement",
                told("updated", "requirement", "REQ-012", "", changed("status", "Draft", "Active")),
            ),
        ),
        (
            "assigned US-001 to uma",
            news(
                "update_user_story",
                told("updated", "user_story", "US-001", "", changed("assignee", None, "uma")),
            ),
        ),
        (
            "unassigned US-001",
            news(
                "update_user_story",
                told("updated", "user_story", "US-001", "", changed("assignee", "uma", None)),
            ),
        ),
        (
            "moved US-001 to EP-002",
            news(
                "move_item",
                told("updated", "user_story", "US-001", "", changed("epic_id", "EP-001", "EP-002")),
            ),
        ),
        ("moved US-001", news("move_item", told("updated", "user_story", "US-001"))),
        ("commented on REQ-012", news("add_comment", told("created", "comment", "REQ-012"))),
        (
            "resolved a comment on REQ-012",
            news(
                "resolve_comment",
                told("updated", "comment", "REQ-012", "", changed("resolved", 0, 1)),
            ),
        ),
        (
            "linked REQ-012 depends on REQ-009",
            news(
                "create_relationship",
                told("created", "relationship", "REQ-012 depends_on REQ-009"),
            ),
        ),
        (
            "took a label off REQ-012 urgent",
            news("unlabel_item", told("deleted", "item_label", "REQ-012 urgent")),
        ),
        (
            "accepted a proposal about REQ-012",
            news(
                "accept_proposal",
                told("updated", "proposal", ""),
                told("updated", "requirement", "REQ-012"),
            ),
        ),
        ("proposed changes", news("propose_changes", told("created", "proposal", ""))),
        ("rejected a proposal", news("reject_proposal", told("updated", "proposal", ""))),
        ("took back a change of REQ-012", news("undo", told("updated", "requirement", "REQ-012"))),
        ("activated PROMPT-001", news("activate_prompt", told("updated", "prompt", "PROMPT-001"))),
        ("imported 120 things", news("import_items", told("created", "epic", "EP-1"), total=120)),
        (
            "created EP-001, EP-002 and 3 more",
            news(
                "apply_changes",
                told("created", "epic", "EP-001"),
                told("created", "epic", "EP-002"),
                total=5,
            ),
        ),
        (
            "changed EP-001, REQ-002",
            news(
                "apply_changes",
                told("created", "epic", "EP-001"),
                told("updated", "requirement", "REQ-002"),
            ),
        ),
        ("created a robot", news("create_robot", told("created", "robot", ""))),
    ],
)
def test_a_change_is_told_in_plain_words(expected: str, each: NewsEntry) -> None:
    assert said(each) == expected


def test_an_edit_shows_what_went_and_what_came() -> None:
    each = news(
        "update_requirement",
        told(
            "updated",
            "requirement",
            "REQ-012",
            "Refuse cards",
            changed("title", "Accept cards", "Refuse cards"),
            changed("priority", 2, 1),
            changed("type", "Functional", "Security"),
        ),
    )
    found = activity_entry(each)
    assert (found.heading, [line.field for line in found.redlines]) == (
        "Refuse cards",
        ["title", "priority"],
    )
    assert found.redlines[0].text == Markup("<del>Accept</del><ins>Refuse</ins> cards")


def test_texts_of_others_stay_texts() -> None:
    each = news(
        "update_epic",
        told("updated", "epic", "EP-001", "", changed("title", "<b>", "<script>")),
    )
    assert "<script>" not in str(activity_entry(each).redlines[0].text)
    assert marked("<b>bold</b>", [[3, 7]]) == Markup("&lt;b&gt;<mark>bold</mark>&lt;/b&gt;")


def test_programs_are_named_and_people_are_not() -> None:
    programs = [
        activity_entry(news("x", face=face)).program for face in ("web", "mcp", "rest", "system")
    ]
    assert programs == ["", "assistant", "API", "workflow"]
    assert activity_entry(news("x", client="editor 1.0")).client == "editor 1.0"
    assert activity_entry(news("x", undone_by="c-2")).is_undone
    assert activity_entry(news("x", client=UNSET)).client == ""


def test_days_have_names_that_people_use() -> None:
    found = days([news("x"), news("y")], date(2026, 3, 4))
    assert [(day.name, len(day.changes)) for day in found] == [("Today", 2)]
    assert days([news("x")], date(2026, 3, 5))[0].name == "Yesterday"
    assert days([news("x")], date(2026, 4, 1))[0].name == "Wednesday, 4 March 2026"


def test_every_state_of_runs_is_seen_in_the_bar() -> None:
    found = shares({"completed": 9_999, "failed": 1})
    assert [(each.state, each.count) for each in found] == [("completed", 9_999), ("failed", 1)]
    assert found[1].width > 1.5
    assert round(found[1].start + found[1].width, 1) == 100
    assert shares({}) == []


def caller(role: Role) -> Caller:
    return Caller(user_id="u", username="ada", role=role, via="session", face="web")


def test_commands_are_found_by_beginnings_of_their_words() -> None:
    admin = caller("Administrator")
    everything = [*actions(admin, "/"), *places(admin)]
    assert [each.label for each in matching(everything, "cr ep")] == ["Create an epic"]
    assert matching(everything, "sign")[0].label == "Sign out"
    assert matching(everything, "dark")[0].fields == (("theme", "dark"), ("next", "/"))
    assert matching(everything, "zebra") == []


@pytest.mark.req("H-63")
def test_the_list_of_changes_is_found_by_what_people_call_it() -> None:
    everything = list(places(caller("User")))
    for query in ("changes", "change", "what changed", "history", "undo"):
        assert "/changes" in {each.href for each in matching(everything, query)}, query
    assert [each.keys for each in everything if each.href == "/changes"] == ["g c"]


def test_nobody_is_offered_what_they_may_not_do() -> None:
    commenter = caller("Commenter")
    labels = {each.label for each in (*actions(commenter, "/items/US-004"), *places(commenter))}
    assert labels.isdisjoint(
        {"Create an epic", "Import a file", "Users", "Audit log", "Create a requirement in US-004"}
    )
    assert {"Sign out", "Home", "Show US-004 in the graph"} <= labels


def test_on_a_page_of_an_item_it_is_about_that_item() -> None:
    for at in ("/items/US-004", "/items/us-4?tab=history", "/items/US-004/history"):
        assert [each.href for each in actions(caller("User"), at)][:3] == [
            "/new?kind=requirement&parent=US-004",
            "/new?kind=acceptance_criteria&parent=US-004",
            "/traceability/graph?item=US-004",
        ]
    assert next(actions(caller("User"), "/items/")).href == "/new?kind=epic"
