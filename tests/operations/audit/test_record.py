"""The target of records without effects: ids that a call named, and names of what it gave."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct

from accord.operations.audit.record import MAX_TARGETS, target_of

pytestmark = pytest.mark.req("H-46")

UUID = "0190b3a0-0000-7000-8000-000000000001"


class Item(Struct):
    id: str = ""
    reference_id: str = ""


class Step(Struct):
    name: str


class Page(Struct):
    items: list[Any]


@pytest.mark.parametrize(
    ("arguments", "result", "target"),
    [
        ({"id": "EP-001"}, None, "EP-001"),
        ({"id": UUID}, Item(UUID, "EP-001"), "EP-001"),
        ({"id": "ep-001"}, Item(UUID, "EP-001"), "EP-001"),
        ({"id": UUID, "step": "pay"}, Step("pay"), f"{UUID}, pay"),
        ({"id": UUID, "reference_id": "EP-001"}, Item("", "EP-001"), f"{UUID}, EP-001"),
        ({"a": UUID, "b": "EP-001"}, Page([]), f"{UUID}, EP-001"),
        ({"epic_id": "EP-001"}, Page([Step("one"), Step("two")]), "EP-001, one, two"),
        ({}, Page([Step("one"), Step("one"), 7]), "one"),
        ({"query": "EP-001", "id": "a secret", "run": 7}, None, ""),
        ({}, {"id": UUID, "reference_id": "EP-001"}, "EP-001"),
        ({}, ["not named"], ""),
    ],
)
def test_a_target_has_ids_that_were_named_and_names_that_were_given(
    arguments: dict[str, Any], result: Any, target: str
) -> None:
    assert target_of(arguments, result) == target


def test_a_target_names_so_many_things() -> None:
    page = Page([Step(f"s{number}") for number in range(100)])
    assert target_of({}, page).split(", ") == [f"s{number}" for number in range(MAX_TARGETS)]
