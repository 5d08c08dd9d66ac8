"""Search over both databases: the hits, their order, and the index after writes.

No query that somebody types breaks a search or makes it large.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from accord.hub.domain.text import problem_of_text
from accord.hub.search_index import MAX_WORD, facet, rebuild, spelling_keys, words
from accord.hub.search_query import MAX_WORDS, ParsedQuery, groups_of, match
from accord.operations.errors import InvalidError, NotFoundError
from tests.hub.world import World


async def story(world: World) -> str:
    epic = await world.call("create_epic", title="Boarding", description="How people come aboard.")
    made = await world.call("create_user_story", epic_id=epic.id, title="Scan a ticket")
    return str(made.id)


async def add(world: World, *titles: str, **fields: Any) -> list[Any]:
    """Requirements with these titles, in a story of their own."""
    under = await story(world)
    return [
        await world.call("create_requirement", user_story_id=under, title=title, **fields)
        for title in titles
    ]


async def found(world: World, query: str, **filters: Any) -> list[str]:
    page = await world.call("search_global", query=query, **filters)
    return [each.reference_id for each in page.items]


@pytest.mark.req("H-02", "H-08")
async def test_the_whole_answer(world: World) -> None:
    [requirement] = await add(
        world, "Show the result", description="When a Ticket is scanned, the scanner shall beep."
    )
    page = await world.call("search_requirements", query="ticket")
    assert [
        {name: getattr(each, name) for name in each.__struct_fields__} for each in page.items
    ] == [
        {
            "kind": "requirement",
            "id": requirement.id,
            "reference_id": "REQ-001",
            "title": "Show the result",
            "status": "Draft",
            "snippet": "When a Ticket is scanned, the scanner shall beep.",
            "marks": [[7, 13]],
            "score": 2,
        }
    ]
    assert (page.next_cursor, page.has_more, page.total, page.total_is_exact, page.corrected) == (
        *(None, False, 1, True, None),
    )


async def test_a_reference_id_comes_first_and_then_what_mentions_it(world: World) -> None:
    await add(world, "One", "Two", "See REQ-001", "REQ-010")
    assert await found(world, "req-1") == ["REQ-001", "REQ-003"]
    assert await found(world, " REQ-0001 ") == ["REQ-001", "REQ-003"]
    assert await found(world, "REQ-") == ["REQ-004", "REQ-003", "REQ-002", "REQ-001"]


async def test_titles_come_before_descriptions_and_newer_things_before_older_ones(
    world: World,
) -> None:
    under = await story(world)
    for title, description in (
        ("Queue", "a ferry"),
        ("Ferry deck", ""),
        ("The ferry leaves", ""),
        ("Ferry", ""),
        ("Ferryman", ""),
        ("Quay", "the ferry"),
    ):
        await world.call(
            "create_requirement", user_story_id=under, title=title, description=description
        )
    assert await found(world, "ferry") == [
        *("REQ-004", "REQ-002", "REQ-003", "REQ-005", "REQ-006", "REQ-001"),
    ]


WRITTEN = {
    "Resume upload": "Résumé",
    "Ärger im Hafen": "arger",
    "Straße": "STRASSE",
    "Łódź harbour": "lodz",
    "Payment timeout": "pay time",
    "支付超时": "超时",
    "한국어 검색": "한국",
    "Zahlungsabwicklung": "zahlungs",
    "Send e-mail": "e-mail",
    "C++ and #hashtags": "#hashtag",
}


async def test_words_are_found_however_they_are_written(world: World) -> None:
    made = await add(world, *WRITTEN)
    for requirement, query in zip(made, WRITTEN.values(), strict=True):
        assert await found(world, query) == [requirement.reference_id], query


MISSPELT = {
    "recieve": "receive",
    "boarddng": "boarding",
    "cancelation": "cancellation",
    "cancellatoin": "cancellation",
    "pasenger": "passenger",
    "pasenger lits": "passenger list",
}


async def test_misspelt_words_are_found(world: World) -> None:
    await add(world, "Receive a boarding pass", "Cancellation", "Passenger list")
    for query, corrected in MISSPELT.items():
        page = await world.call("search_requirements", query=query)
        assert (len(page.items), page.corrected) == (1, corrected)


@pytest.mark.req("H-58")
async def test_words_that_there_are_are_not_corrected(world: World) -> None:
    await add(world, "Open the door", "A poor signal", "Keep the pine wood")
    page = await world.call("search_requirements", query="door pine")
    assert (page.corrected, len(page.items)) == (None, 2)
    page = await world.call("search_requirements", query="doo pinx")
    assert page.corrected in (None, "doo pine")
    page = await world.call("search_requirements", query="dorr pine")
    assert page.corrected == "door pine"


async def test_where_nothing_has_all_words_whatever_has_most_of_them_comes_first(
    world: World,
) -> None:
    await add(world, "Pay by card", "Pay for a car by card", "Nothing of it")
    assert await found(world, "why would one pay for my car") == ["REQ-002", "REQ-001"]


async def test_filters_narrow_what_is_found(world: World) -> None:
    under = await story(world)
    call = world.call
    await call("create_label", name="Safety")
    one = await call("create_requirement", user_story_id=under, title="Ferry one", priority=1)
    await call("create_requirement", user_story_id=under, title="Ferry two", status="Active")
    await call("create_requirement", user_story_id=under, title="Ferry three", type="data")
    await call("create_requirement", user_story_id=under, title="Ferry four", assignee="otto")
    await call("label_item", id=one.id, label="safety")
    await call("create_epic", title="Ferry epic")
    for filters, expected in (
        ({"kinds": ["epic"]}, ["EP-002"]),
        ({"priority": 1}, ["REQ-001"]),
        ({"status": "Active"}, ["REQ-002"]),
        ({"type": "Data"}, ["REQ-003"]),
        ({"assignee": "otto"}, ["REQ-004"]),
        ({"label": "SAFETY"}, ["REQ-001"]),
        ({"epic_id": "ep-1"}, ["REQ-001", "REQ-004", "REQ-003", "REQ-002"]),
        ({"epic_id": "ep-1", "status": "Draft", "priority": 3, "type": "Data"}, ["REQ-003"]),
    ):
        assert await found(world, "ferry", **filters) == expected, filters
    assert await found(world, "*", kinds=["epic"]) == ["EP-002", "EP-001"]


async def test_a_wrong_name_in_a_filter_is_answered_with_the_valid_ones(world: World) -> None:
    await world.call("create_label", name="Safety")
    with pytest.raises(InvalidError, match="there are: Safety"):
        await world.call("search_global", query="x", label="saftey")
    with pytest.raises(InvalidError, match="Functional"):
        await world.call("search_global", query="x", type="nope")
    with pytest.raises(InvalidError, match="otto"):
        await world.call("search_global", query="x", assignee="nobody")
    with pytest.raises(NotFoundError):
        await world.call("search_global", query="x", epic_id="EP-9")


async def test_the_index_follows_every_change(world: World) -> None:
    [one] = await add(world, "Ferry")
    await world.call("update_requirement", id=one.id, title="Boat")
    assert (await found(world, "ferry"), await found(world, "boat")) == ([], ["REQ-001"])
    other = await world.call("create_epic", title="Other")
    await world.call("update_user_story", id="US-001", epic_id=other.id)
    assert await found(world, "boat", epic_id="EP-001") == []
    assert await found(world, "boat", epic_id="EP-002") == ["REQ-001"]
    outcome = await world.outcome("delete_requirement", id=one.id)
    assert await found(world, "boat") == []
    await world.call("undo", change_id=outcome.change_id)
    assert await found(world, "boat") == ["REQ-001"]
    await world.call("update_requirement", id=one.id, title="Raft", dry_run=True)
    assert await found(world, "raft") == []


async def test_comments_are_found_by_what_they_are_on(world: World) -> None:
    await add(world, "Ferry")
    comment = await world.call("add_comment", target_id="REQ-001", text="Which lighthouse?")
    [hit] = (await world.call("search_global", query="lighthouse")).items
    assert (hit.kind, hit.id, hit.reference_id, hit.title) == (
        *("comment", comment.id, "REQ-001", "Ferry"),
    )
    assert await found(world, "lighthouse", kinds=["requirement"]) == []
    await world.call("delete_comment", id=comment.id)
    assert await found(world, "lighthouse") == []


async def test_pages_follow_each_other_and_new_things_do_not_move_them(world: World) -> None:
    await add(world, *(f"Ferry {number}" for number in range(7)))
    first = await world.call("search_requirements", query="ferry", limit=3)
    await world.call("create_requirement", user_story_id="US-001", title="Ferry")
    second = await world.call(
        "search_requirements", query="ferry", limit=3, cursor=first.next_cursor
    )
    third = await world.call(
        "search_requirements", query="ferry", limit=3, cursor=second.next_cursor
    )
    seen = [each.reference_id for page in (first, second, third) for each in page.items]
    assert seen == [f"REQ-00{number}" for number in (7, 6, 5, 4, 3, 2, 1)]
    assert [(page.total, page.has_more) for page in (first, second, third)] == [
        *((7, True), (7, True), (7, False)),
    ]


async def test_a_cursor_of_another_query_is_refused(world: World) -> None:
    await add(world, "Ferry", "Ferry")
    page = await world.call("search_requirements", query="ferry", limit=1)
    for arguments in (
        {"query": "boat", "cursor": page.next_cursor},
        {"query": "ferry", "status": "Draft", "cursor": page.next_cursor},
        {"query": "ferry", "cursor": "nonsense"},
    ):
        with pytest.raises(InvalidError, match="cursor"):
            await world.call("search_requirements", **arguments)


async def test_totals_say_when_they_are_not_exact(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.hub.search_query.MAX_CHECKED", 3)
    monkeypatch.setattr("accord.hub.search_query.MAX_RANKED", 3)
    monkeypatch.setattr("accord.hub.operations.search.MAX_RANKED", 3)
    await add(world, "Ferry", "Ferry", "Ferry", "Ferry")
    page = await world.call("search_requirements", query="ferry")
    assert ([each.reference_id for each in page.items], page.total, page.total_is_exact) == (
        *(["REQ-004", "REQ-003", "REQ-002"], 3, False),
    )


async def test_a_rebuilt_index_finds_the_same(world: World) -> None:
    await add(world, "Ferry one", "Ferry two", description="recieve")
    await world.call("add_comment", target_id="REQ-001", text="ferry")
    before = await world.call("search_global", query="ferry")
    count = await world.store.transact(lambda db: rebuild(db, world.store.engine))
    after = await world.call("search_global", query="ferry")
    assert (count, after) == (5, before)


async def test_each_word_is_kept_with_the_keys_of_its_spelling(world: World) -> None:
    await add(world, "Abba ferry", "Ferry observatory", description="Überfähre 東京 und")
    rows = await world.store.fetch("SELECT key, word FROM search_spellings")
    kept: dict[str, set[str]] = {}
    for row in rows:
        kept.setdefault(row["word"], set()).add(row["key"])
    words = ("aboard", "abba", "boarding", "come", "ferry", "observatory", "people", "scan")
    assert kept == {word: set(spelling_keys(word)) for word in (*words, "ticket", "uberfahre")}


async def test_what_is_made_together_is_found_as_if_it_came_alone(world: World) -> None:
    await world.call(
        "apply_changes",
        steps=[
            {"operation": "create_epic", "arguments": {"title": "Ferry"}},
            {
                "operation": "create_user_story",
                "arguments": {"epic_id": "$1.id", "title": "Ferry story"},
            },
            {
                "operation": "create_requirement",
                "arguments": {"user_story_id": "$2.id", "title": "Ferry one"},
            },
            {
                "operation": "add_comment",
                "arguments": {"target_id": "$3.id", "text": "ferry"},
            },
        ],
    )
    before = await world.call("search_global", query="ferry", epic_id="EP-001")
    await world.store.transact(lambda db: rebuild(db, world.store.engine))
    after = await world.call("search_global", query="ferry", epic_id="EP-001")
    assert ([each.kind for each in before.items], after) == (
        *(["epic", "requirement", "user_story", "comment"], before),
    )


async def test_everybody_may_search(world: World) -> None:
    await add(world, "Ferry")
    page = await world.call("search_global", world.commenter, query="ferry")
    assert [each.reference_id for each in page.items] == ["REQ-001"]


@pytest.mark.req("H-57")
async def test_filters_take_several_values_and_find_the_unassigned(world: World) -> None:
    await add(world, "Gate opens", "Gate closes", "Gate beeps", "Door opens")
    await world.call("update_requirement", id="REQ-001", assignee=None, status="Active")
    await world.call("update_requirement", id="REQ-002", assignee="otto", type="Data")
    await world.call("update_requirement", id="REQ-004", assignee=None, priority=1)
    await world.call("create_label", name="Later")
    await world.call("label_item", id="REQ-003", label="Later")
    await world.call("add_comment", target_id="REQ-002", text="Which gate?")
    nobody = {"assignee": "unassigned", "kinds": ["requirement"]}
    assert await found(world, "gate", **nobody) == ["REQ-001"]
    assert await found(world, "gate", assignee="UNASSIGNED") == ["REQ-001"]
    assert await found(world, "*", **nobody) == ["REQ-004", "REQ-001"]
    assert set(await found(world, "gate", assignee=["unassigned", "otto"])) == {
        "REQ-001",
        "REQ-002",
    }
    assert await found(world, "gate", assignee=["otto", "ada"]) == ["REQ-002"]
    assert await found(world, "gate", status=["Active", "Obsolete"]) == ["REQ-001"]
    assert set(
        await found(world, "gate", status=["draft", "active"], type=["Data", "Functional"])
    ) == {
        *("REQ-001", "REQ-002", "REQ-003"),
    }
    assert await found(world, "*", priority=[1, 2]) == ["REQ-004"]
    assert await found(world, "gate", label=["later"]) == ["REQ-003"]
    page = await world.call("search_requirements", query="gate", assignee=["unassigned", "uma"])
    assert {each.reference_id for each in page.items} == {"REQ-001", "REQ-003"}
    for wrong in ({"assignee": ["unassigned", "zoe"]}, {"label": ["later", "never"]}):
        with pytest.raises(InvalidError):
            await found(world, "gate", **wrong)


@pytest.mark.req("H-57")
async def test_the_unassigned_are_found_where_nobody_is_assigned_anything(world: World) -> None:
    epic = await world.call("create_epic", title="Alone", assignee=None)
    await world.call("create_prompt", world.admin, name="alone", content="Be kind.")
    assert await found(world, "alone", assignee="unassigned") == [epic.reference_id]
    assert await found(world, "*", assignee=["unassigned", "uma"]) == [epic.reference_id]


@pytest.mark.req("H-57")
async def test_pages_of_a_search_for_the_unassigned_follow_each_other(world: World) -> None:
    await add(world, *(f"Gate {number}" for number in range(5)), assignee=None)
    seen: list[str] = []
    cursor = None
    while cursor is not None or not seen:
        page = await world.call(
            "search_requirements", query="gate", assignee="unassigned", limit=2, cursor=cursor
        )
        assert page.total == 5
        seen += [each.reference_id for each in page.items]
        cursor = page.next_cursor
    assert sorted(seen) == [f"REQ-00{number}" for number in range(1, 6)]


HOSTILE = [
    *("", " ", "*", "**", "?!", "'", '"', "''", '""', ";", "--", "/*", "\\", "%", "_", "$1", ":*"),
    *("AND", "OR", "NOT", "NEAR", "NEAR(a b, 3)", "a AND", "NOT a", "(a", "a)", "((((", "^a", "+a"),
    *("title:a", "{title body} : a", "facets : x", '"a" + "b"', 'a" OR "b', "a* OR b*", "-a -b"),
    *("a & b", "a | !b", "a <-> b", "'a':*A", "a:ABCD", "foo\\", "'; DROP TABLE items; --"),
    *("1 OR 1=1", "${jndi:x}", "<script>alert(1)</script>", "\u202e\u200b\ufeff", "😀👩‍👩‍👧"),
    *("ﷺ" * 500, "Ṱ̺̺̕o͞ ̷i̲̬n̛v̧o̷k̷e", "İıſKſ", "\ud7ff\ue000\uffff", "ʼn" * 99),
    *(
        "a" * 10_000,
        "a " * 5_000,
        " ".join(f"word{number}" for number in range(1_100)),
        "=" * 10_000,
    ),
]


async def test_hostile_queries_are_answered(world: World) -> None:
    for query in HOSTILE:
        await world.call("create_epic", title="AND a NOT b OR title", description=_kept(query))
    for query in HOSTILE:
        page = await world.call("search_global", query=query)
        assert page.total <= len(HOSTILE)
        assert len(groups_of(query)) <= MAX_WORDS


def _kept(query: str) -> str:
    """What a description may have of it."""
    return query if problem_of_text(query) is None else ""


async def test_every_query_that_hypothesis_thinks_of_is_answered(world: World) -> None:
    """One world for all: each query is also what an entry says."""
    epic = await world.call("create_epic", title="Anything")

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=300))
    def queries(text: str) -> None:
        collected.append(text)

    collected: list[str] = []
    queries()
    for query in collected:
        await world.call("search_global", query=query)
        await world.call("search_requirements", query=f'{query}" OR "a')
    assert (await world.call("search_global", query="anything")).items[0].id == epic.id


@given(st.text(max_size=2_000))
def test_words_hold_no_sign_that_a_query_language_knows(text: str) -> None:
    for word in words(text):
        assert all(each.isalnum() or not each.isascii() for each in word)
        assert len(word) <= MAX_WORD


@given(st.text(max_size=500))
def test_queries_are_made_of_quoted_words_only(text: str) -> None:
    asked = ParsedQuery(groups=groups_of(text), facets=((facet("label", text),),))
    assert match(asked, "sqlite").count('"') == 2 * (1 + len(asked.groups))
    assert match(asked, "postgresql").count("'") == 2 * (1 + len(asked.groups))
