"""Which URIs a change concerns."""

from __future__ import annotations

import pytest

from accord.hub.mcp.resources import (
    ChangedEntity,
    ItemPlace,
    canonical,
    changes_items,
    changes_prompts,
    uris_of,
)

PLACES = {
    place.id: place
    for place in (
        ItemPlace("epic", "e1", "EP-001"),
        ItemPlace("epic", "e2", "EP-002"),
        ItemPlace("user_story", "s1", "US-001", "e1"),
        ItemPlace("requirement", "r1", "REQ-001", "s1"),
        ItemPlace("requirement", "r2", "REQ-002", "s1"),
    )
}
UUID = "00000000-0000-4000-8000-0000000000AB"


def revision(
    kind: str, id: str, reference: str, action: str = "updated", **values: object
) -> ChangedEntity:
    return ChangedEntity(kind, id, reference, action, {}, values)


def by_reference(uris: set[str]) -> list[str]:
    """Those that name things as people do; each is there by its id as well."""
    return sorted(uri for uri in uris if uri.partition("://")[2][:1].isupper() or "s://" in uri)


def test_a_requirement_concerns_its_story_and_epic() -> None:
    assert by_reference(uris_of(revision("requirement", "r1", "REQ-001"), PLACES)) == [
        "epic://EP-001/hierarchy",
        "requirement://REQ-001",
        "requirement://REQ-001/relationships",
        "requirements://requirements",
        "user-story://US-001/hierarchy",
        "user-story://US-001/requirements",
    ]


def test_each_is_told_by_its_id_too() -> None:
    assert uris_of(revision("epic", "e1", "EP-001"), PLACES) == {
        "requirements://epics",
        *("epic://EP-001", "epic://EP-001/hierarchy", "epic://e1", "epic://e1/hierarchy"),
    }


def test_a_story_that_moves_concerns_both_epics() -> None:
    moved = ChangedEntity("user_story", "s1", "US-001", "updated", {"parent_id": "e2"}, {})
    found = uris_of(moved, PLACES)
    assert {f"epic://EP-00{number}/user-stories" for number in (1, 2)} <= found


def test_what_was_deleted_concerns_where_it_stood() -> None:
    gone = ChangedEntity("requirement", "r9", "REQ-009", "deleted", {"parent_id": "s1"}, {})
    found = uris_of(gone, PLACES)
    assert {"requirement://REQ-009", "user-story://US-001/requirements"} <= found


def test_a_relationship_concerns_both_ends() -> None:
    made = revision("relationship", "l1", "", "created", source_id="r1", target_id="r2")
    assert by_reference(uris_of(made, PLACES)) == [
        "requirement://REQ-001/relationships",
        "requirement://REQ-002/relationships",
    ]


def test_labels_concern_what_has_them() -> None:
    assert "requirement://REQ-001" in uris_of(revision("item_label", "r1:l1", ""), PLACES)


def test_types_and_prompts_concern_their_lists() -> None:
    assert uris_of(revision("requirement_type", "Data", ""), {}) == {
        "requirements://requirement-types"
    }
    found = uris_of(revision("prompt", "p1", "PROMPT-001"), {})
    assert {"requirements://prompts", "requirements://prompts/active"} <= found


def test_comments_concern_no_resource() -> None:
    assert uris_of(revision("comment", "c1", "", "created", target_id="r1"), PLACES) == set()


def test_lists_change_where_something_comes_goes_or_is_renamed() -> None:
    assert changes_prompts(revision("prompt", "p1", "", "created"))
    assert changes_prompts(revision("prompt", "p1", "", name="new"))
    assert not changes_prompts(revision("prompt", "p1", "", content="new"))
    assert changes_items(revision("epic", "e1", "", "deleted"))
    assert not changes_items(revision("epic", "e1", ""))
    assert not changes_items(revision("comment", "c1", "", "created"))


@pytest.mark.parametrize(
    ("spelled", "known"),
    [
        ("epic://ep-1", "epic://EP-001"),
        ("epic://EP-0001/hierarchy", "epic://EP-001/hierarchy"),
        (f"epic://{UUID}", f"epic://{UUID.lower()}"),
        ("prompt://be-kind", "prompt://be-kind"),
        ("requirements://epics", "requirements://epics"),
        ("nonsense", "nonsense"),
    ],
)
def test_every_spelling_is_known(spelled: str, known: str) -> None:
    assert canonical(spelled) == known
