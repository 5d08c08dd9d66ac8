"""The ways to query the index, which all find the same, and snippets."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from accord.hub import search_query as asking
from accord.hub.search_index import facet
from accord.hub.search_query import (
    SNIPPET_LENGTH,
    ParsedQuery,
    Snippet,
    Snippets,
    groups_of,
    query_for_many,
)
from tests.hub.world import World

KIND = (facet("kind", "requirement"),)


async def fill(world: World) -> None:
    epic = await world.call("create_epic", title="Ferries")
    story = await world.call("create_user_story", epic_id=epic.id, title="Ferry")
    for title, priority in (("A ferry sails", 2), ("A ferry waits", 3), ("A ferryman rests", 2)):
        await world.call(
            "create_requirement", user_story_id=story.id, title=title, priority=priority
        )


@pytest.mark.parametrize("few", [0, 1, 3, 1000])
async def test_words_and_filters_find_the_same_whether_words_are_common_or_not(
    world: World, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    await fill(world)
    monkeypatch.setattr(asking, "MAX_CHECKED", few)
    for query, filters, expected in (
        ("ferry", {}, ["REQ-002", "REQ-001", "REQ-003"]),
        ("ferry", {"priority": 2}, ["REQ-001", "REQ-003"]),
        ("ferryman", {"priority": 2}, ["REQ-003"]),
        ("ferryman", {"priority": 3}, []),
        ("ferr rest", {"priority": 2, "status": "Draft"}, ["REQ-003"]),
    ):
        for _ in range(2):  # whether it is known by now that they are
            page = await world.call("search_requirements", query=query, **filters)
            assert [each.reference_id for each in page.items] == expected
            assert page.total == len(expected)


async def test_sqlite_is_asked_for_longer_words_only_where_there_are_any(world: World) -> None:
    if world.store.engine != "sqlite":
        pytest.skip("only on SQLite: PostgreSQL plans by itself")
    await fill(world)

    async def asked(query: str, *facets: tuple[str, ...]) -> str:
        asked = ParsedQuery(groups=groups_of(query), facets=facets)
        return (await query_for_many(world.store, "sqlite", asked)).match

    assert await asked("ferry") == '{title body} : (("ferry"*))'
    assert await asked("ferryman") == '{title body} : (("ferryman"))'
    assert await asked("*", KIND) == f'facets : ("{KIND[0]}")'


def marked(text: str, query: str) -> list[str]:
    piece = Snippets(groups_of(query)).of(text)
    return [piece.text[begin:end] for begin, end in piece.marks]


def test_a_short_text_is_shown_whole() -> None:
    assert Snippets(groups_of("ferry")).of("The ferry leaves.") == Snippet(
        "The ferry leaves.", [[4, 9]]
    )


def test_of_a_long_text_what_is_around_the_first_word_is_shown() -> None:
    text = "nothing " * 100 + "the lighthouse keeper sleeps. " + "nothing " * 100
    piece = Snippets(groups_of("keeper")).of(text)
    assert (piece.text[0], piece.text[-1]) == ("…", "…")
    assert "lighthouse keeper sleeps" in piece.text
    assert marked(text, "keeper") == ["keeper"]


def test_accents_and_beginnings_are_marked() -> None:
    assert marked("Der Fährmann fährt zur Fähre", "fahr") == ["Fährmann", "fährt", "Fähre"]
    assert marked("See REQ-007 and REQ-0071", "req-7") == ["REQ-007"]


@given(st.text(max_size=600), st.text(max_size=20))
def test_marks_lie_within_the_snippet(text: str, query: str) -> None:
    piece = Snippets(groups_of(query)).of(text)
    assert len(piece.text) <= SNIPPET_LENGTH + 2
    assert all(0 <= begin < end <= len(piece.text) for begin, end in piece.marks)


@given(
    st.lists(st.sampled_from(["ferry", "ferryman", "Ferry", "wherry", "x", "-", "_", " ", "\n"]))
)
def test_just_the_words_that_were_asked_for_are_marked(parts: list[str]) -> None:
    text = "".join(parts)
    piece = Snippets(groups_of("ferry")).of(text)
    for begin, end in piece.marks:
        assert piece.text[begin:end].lower().startswith("ferry")
        assert not piece.text[begin - 1 : begin].isalnum()
    if len(text) <= SNIPPET_LENGTH:  # shown whole
        expected = [at.span() for at in re.finditer(r"(?i)(?<![a-z])ferry[a-z]*", piece.text)]
        assert [(begin, end) for begin, end in piece.marks] == expected


def test_a_mark_ends_where_the_snippet_ends() -> None:
    piece = Snippets(groups_of("ferry")).of("x " + "ferry" * 100)
    assert piece.text == "x " + ("ferry" * 100)[: SNIPPET_LENGTH - 2] + "…"
    assert piece.marks == [[2, SNIPPET_LENGTH]]


def test_blanks_are_put_together_and_marks_moved() -> None:
    text = "A  long\n text " + "before " * 20 + "\tthe\n\nferry  sails"
    piece = Snippets(groups_of("ferry")).of(text)
    assert piece.text == "…before before before before the ferry sails"
    assert marked(text, "ferry") == ["ferry"]


def test_words_that_stand_behind_other_signs_are_marked() -> None:
    text = "pre-boarding, old_boarding (Boarding) and a-12, but not onboarding"
    assert marked(text, "boarding 12") == ["boarding", "boarding", "Boarding", "12"]
    assert marked("A plan, a b c", "a") == ["A", "a"]
