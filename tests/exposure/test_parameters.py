"""What the parameters of a route are called."""

from __future__ import annotations

import keyword

import pytest
from hypothesis import given, strategies as st

from accord.exposure.find import flat_parameters, nested_parameters
from accord.exposure.operation import NO_BODY, Body
from accord.exposure.routes import Location, RouteParameter
from accord.schema.schema import Schema

LOCATIONS: tuple[Location, ...] = ("path", "query", "header", "cookie", "body")


def parameter(location: Location, name: str, *, required: bool = False) -> RouteParameter:
    return RouteParameter(name=name, wire_name=name, location=location, required=required)


def split(parameters: list[RouteParameter]) -> tuple[list[RouteParameter], Body]:
    members = tuple(each for each in parameters if each.location == "body")
    rest = [each for each in parameters if each.location != "body"]
    return rest, Body(form="json", members=members) if members else NO_BODY


def names(*declared: tuple[Location, str]) -> list[str]:
    return [each.name for each in flat_parameters(*split([parameter(*each) for each in declared]))]


@pytest.mark.parametrize(
    ("location", "wire_name", "expected"),
    [
        ("query", "page", "page"),
        ("query", "pageSize", "pageSize"),
        ("query", "page_size", "page_size"),
        ("query", "page-size", "page_size"),
        ("query", "filter[name]", "filter_name"),
        ("query", "$top", "_top"),
        ("query", "a.b", "a_b"),
        ("query", "größe", "größe"),
        ("query", "2fa", "_2fa"),
        ("query", "from", "from_"),
        ("query", "None", "None_"),
        ("query", "[]", "value"),
        ("query", "_", "value"),
        ("query", "X-Page", "X_Page"),
        ("header", "X-Request-Id", "x_request_id"),
        ("cookie", "last-seen", "last_seen"),
        ("body", "deliverOn", "deliverOn"),
    ],
)
def test_a_name_is_that_of_the_wire_as_an_identifier(
    location: Location, wire_name: str, expected: str
) -> None:
    assert names((location, wire_name)) == [expected]


def test_whoever_comes_first_in_the_request_keeps_the_name() -> None:
    declared = [(location, "id") for location in reversed(LOCATIONS)]
    assert names(*declared) == ["id_cookie", "id_header", "id_query", "id", "id_body"]


def test_a_name_that_is_made_does_not_take_the_name_of_another() -> None:
    assert names(("path", "id"), ("query", "id_body"), ("body", "id")) == [
        "id",
        "id_body",
        "id_body_2",
    ]


def test_names_that_only_differ_on_the_wire_are_told_apart() -> None:
    assert names(("query", "a-b"), ("query", "a_b"), ("query", "a.b"), ("query", "a b")) == [
        "a_b",
        "a_b_query",
        "a_b_query_2",
        "a_b_query_3",
    ]


def test_required_parameters_stand_first_and_keep_their_order() -> None:
    declared = [
        parameter("query", "a"),
        parameter("query", "b", required=True),
        parameter("header", "c"),
        parameter("cookie", "d", required=True),
    ]
    assert [each.name for each in flat_parameters(declared, NO_BODY)] == ["b", "d", "a", "c"]


def test_a_whole_body_is_called_body_unless_that_is_taken() -> None:
    whole = RouteParameter(name="body", wire_name="", location="body")
    body = Body(form="json", whole=whole)
    assert [each.name for each in flat_parameters([], body)] == ["body"]
    assert [each.name for each in flat_parameters([parameter("query", "body")], body)] == [
        "body",
        "body_body",
    ]


def test_definitions_of_members_go_along_in_the_nested_form() -> None:
    numbers = {"N": {"type": "integer"}}
    declared = [
        RouteParameter(name="n", wire_name="n", location="query", schema=Schema({"$ref": "#/$defs/N"}, numbers)),
        parameter("query", "m"),
    ]  # fmt: skip
    [group] = nested_parameters(declared, NO_BODY)
    assert group == RouteParameter(
        name="query",
        wire_name="",
        location="query",
        schema=Schema(
            {
                "type": "object",
                "properties": {"n": {"$ref": "#/$defs/N"}, "m": {}},
                "additionalProperties": False,
            },
            numbers,
        ),
        members=tuple(declared),
    )


DECLARED = st.lists(
    st.tuples(
        st.sampled_from(LOCATIONS),
        st.sampled_from(["id", "ID", "id_body", "id_query", "id-query", "from", "1", "-", "ä ö"])
        | st.text(min_size=1, max_size=6),
        st.booleans(),
    ),
    unique_by=lambda each: each[:2],
    max_size=8,
)


@given(declared=DECLARED)
def test_names_are_unique_usable_and_lead_back_to_the_wire(
    declared: list[tuple[Location, str, bool]],
) -> None:
    given_ = [parameter(place, name, required=needed) for place, name, needed in declared]
    found = flat_parameters(*split(given_))
    assert len({each.name for each in found}) == len(found)
    assert all(each.name.isidentifier() and not keyword.iskeyword(each.name) for each in found)
    assert sorted((it.location, it.wire_name, it.required) for it in found) == sorted(declared)
    required = [each.required for each in found]
    assert required == sorted(required, reverse=True)


@given(declared=DECLARED, data=st.data())
def test_names_across_places_do_not_depend_on_the_order_of_declaration(
    declared: list[tuple[Location, str, bool]], data: st.DataObject
) -> None:
    """Within one place they may: whoever is declared first keeps the name."""
    ordered = sorted(declared, key=lambda each: LOCATIONS.index(each[0]))
    shuffled = data.draw(st.permutations(LOCATIONS))
    other = sorted(ordered, key=lambda each: shuffled.index(each[0]))

    def named(rows: list[tuple[Location, str, bool]]) -> dict[tuple[str, str], str]:
        found = flat_parameters(
            *split([parameter(place, name, required=it) for place, name, it in rows])
        )
        return {(each.location, each.wire_name): each.name for each in found}

    assert named(ordered) == named(other)
