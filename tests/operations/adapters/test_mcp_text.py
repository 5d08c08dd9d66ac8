"""What a page says to models does not depend on how it is taken apart."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

import pytest
from msgspec import UNSET, Raw, Struct, UnsetType, json, to_builtins

from accord.operations.adapters.mcp_results import Results
from accord.operations.adapters.mcp_text import as_text as lines_of
from accord.operations.context import OperationContext
from accord.operations.operation import Operation, Outcome
from accord.operations.pages import Page
from accord.operations.registry import Registry


class Colour(Enum):
    RED = "red"


class Seed(Struct):
    size: int


class Fruit(Struct, kw_only=True, rename={"kind": "type"}):
    id: str = "7"
    reference_id: str = ""
    kind: str = "fruit"
    name: str | None = None
    weight: float | UnsetType = UNSET
    picked_at: str = "2026-01-02T03:04:05.000006Z"
    labels: list[str] = []
    marks: list[list[int]] = []
    seeds: list[Seed] | UnsetType = UNSET
    colour: Colour | UnsetType = UNSET


class Stone(Struct, tag="stone"):
    name: str


class Leaf(Struct, omit_defaults=True):
    name: str
    green: bool = True


class Basket(Page[Any], kw_only=True):
    owner: str
    best: Fruit | None = None


def _operation() -> Operation:
    registry = Registry()

    @registry.read(tag="fruit")
    async def list_fruit(work: OperationContext, *, limit: int = 20) -> Basket:
        """List fruit."""
        raise NotImplementedError

    return registry["list_fruit"]


OPERATION = _operation()


def page(*items: Any, **more: Any) -> Basket:
    return Basket(items=list(items), next_cursor=None, has_more=False, total=7, owner="uma", **more)


def told(result: Any) -> tuple[str, Any]:
    """What a model and what a program is told."""
    answer = Results(OPERATION, "").of(Outcome(result=result))
    [content] = answer.content
    assert isinstance(answer.structured_content, Raw)
    text = to_builtins(content)["text"]
    return re.sub(r"[0-9a-f]{8}", "MARK", text), json.decode(answer.structured_content)


@pytest.mark.parametrize(
    "basket",
    [
        page(),
        page(Fruit()),
        page(Fruit(name="Fig", reference_id="F-1", weight=0.0), Fruit(name="Pear")),
        page(Fruit(name="Fig\n and\tmore", labels=["a", "b"], marks=[[1, 2]]), Fruit()),
        page(Fruit(name="x" * 500), best=Fruit(name="Fig")),
        page(Fruit(seeds=[Seed(1), Seed(2)]), Fruit()),
        page(Fruit(colour=Colour.RED), Fruit(name="", weight=1.5)),
        page(*(Fruit(name="x" * 3000) for _ in range(5))),
        page(Fruit(), Stone("a"), Seed(1)),
        page(Stone("a"), Stone("b")),
        page(Leaf("a"), Leaf("b")),
        page("a", Seed(1)),
    ],
)
def test_a_page_is_told_as_what_it_is_made_of(basket: Basket) -> None:
    assert told(basket) == told(to_builtins(basket))


@pytest.mark.req("M-23")
@pytest.mark.parametrize("name", ["output", "input", "arguments", "data"])
@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        [[1, 2], [3]],
        {"title": "", "assignee": None, "labels": []},
        {"id": "7", "reference_id": "EP-007"},
        {"at": "2026-01-02T03:04:05.000006Z"},
    ],
)
def test_what_lines_would_leave_out_of_any_json_is_told_as_json(name: str, value: Any) -> None:
    written = f"{name}: {json.encode(value).decode()}"
    assert lines_of({"state": "open", name: value}) == f"state: open\n{written}"
    rows = lines_of({"steps": [{"name": "a", name: value}, {"name": "b", name: None}]})
    assert written in rows


@pytest.mark.req("M-23")
@pytest.mark.parametrize("removed", ["", None, []])
def test_a_difference_says_that_something_was_removed(removed: Any) -> None:
    rows = [{"field": "title", "before": "old", "after": removed}]
    assert lines_of({"differences": rows}).splitlines()[1:] == [
        "  field | before | after",
        "  title | old | ",
    ]
    rows[0]["before"] = "old\ntext"
    assert lines_of({"differences": rows}).splitlines()[-1].strip() == "after:"
