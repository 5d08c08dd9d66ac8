"""Nothing that somebody types can break a query, or make it large."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings, strategies as st

from accord.hub.domain.text import problem_of_text
from accord.hub.search.query import MAX_WORDS, ParsedQuery, facet, groups_of, match
from accord.hub.search.words import MAX_WORD, words
from tests.hub.world import World

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
