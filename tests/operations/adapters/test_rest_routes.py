"""The tree of paths, and words of queries."""

from __future__ import annotations

import pytest

from accord.operations.adapters.rest_messages import read_query
from accord.operations.adapters.rest_routes import MatchedRoute, RouteTree, path_names
from accord.operations.errors import InvalidError, MalformedRequestError

NONE: frozenset[str] = frozenset()


def routes() -> RouteTree[str]:
    made: RouteTree[str] = RouteTree()
    for verb, path in (
        ("GET", "/prompts"),
        ("GET", "/prompts/active"),
        ("GET", "/prompts/{id}"),
        ("PATCH", "/prompts/{id}/activate"),
        ("GET", "/prompts/active/history"),
        ("GET", "/{kind}/{id}/comments"),
    ):
        made.add(verb, path, f"{verb} {path}")
    return made


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("prompts", MatchedRoute({"GET": "GET /prompts"}, (), "/prompts")),
        ("prompts/active", MatchedRoute({"GET": "GET /prompts/active"}, (), "/prompts/active")),
        (
            "prompts/PROMPT-1",
            MatchedRoute({"GET": "GET /prompts/{id}"}, ("PROMPT-1",), "/prompts/{id}"),
        ),
        (
            "prompts/x/activate",
            MatchedRoute(
                {"PATCH": "PATCH /prompts/{id}/activate"}, ("x",), "/prompts/{id}/activate"
            ),
        ),
        (
            "prompts/active/activate",
            MatchedRoute(
                {"PATCH": "PATCH /prompts/{id}/activate"}, ("active",), "/prompts/{id}/activate"
            ),
        ),
        (
            "prompts/p/comments",
            MatchedRoute(
                {"GET": "GET /{kind}/{id}/comments"}, ("prompts", "p"), "/{kind}/{id}/comments"
            ),
        ),
        (
            "epics/e/comments",
            MatchedRoute(
                {"GET": "GET /{kind}/{id}/comments"}, ("epics", "e"), "/{kind}/{id}/comments"
            ),
        ),
        ("", None),
        ("epics", None),
        ("prompts/", None),
        ("prompts//activate", None),
        ("prompts/x/y", None),
        ("/prompts", None),
    ],
)
def test_a_word_goes_before_a_value(place: str, found: MatchedRoute[str] | None) -> None:
    assert routes().find(place) == found


def test_paths_name_their_values() -> None:
    assert path_names("/epics/{epic_id}/stories/{id}") == ("epic_id", "id")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", {}),
        ("&&", {}),
        ("a=1", {"a": "1"}),
        ("a", {"a": ""}),
        ("a=b=c", {"a": "b=c"}),
        ("a=%2B+%25", {"a": "+ %"}),
        ("%61=1", {"a": "1"}),
        ("l=1", {"l": ["1"]}),
        ("l=1&a=2&l=3", {"l": ["1", "3"], "a": "2"}),
        ("a=%zz", {"a": "%zz"}),
    ],
)
def test_queries_are_read(query: str, words: dict[str, object]) -> None:
    assert read_query(query, known={"a", "l"}, lists={"l"}) == words


def test_queries_are_refused_with_what_there_is() -> None:
    with pytest.raises(InvalidError, match="b: there is no such parameter; there are: a, l"):
        read_query("b=1", known={"a", "l"}, lists=NONE)
    with pytest.raises(InvalidError, match="a: is given twice"):
        read_query("a=1&a=1", known={"a"}, lists=NONE)
    with pytest.raises(MalformedRequestError, match="the query is not UTF-8"):
        read_query("a=%FF", known={"a"}, lists=NONE)
    with pytest.raises(InvalidError, match="there are: none"):
        read_query("x" * 9_000, known=NONE, lists=NONE)
