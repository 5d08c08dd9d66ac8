"""Exports: their contents, and protection against formulas in spreadsheets."""

from __future__ import annotations

import csv
import io

import msgspec
import pytest
from hypothesis import given, strategies as st

from accord.hub.exchange.csv_file import escape_formula, join_list, split_list, unescape_formula
from accord.hub.exchange.formats import FORMATS, Formats
from accord.operations.errors import ConflictError, NotFoundError
from tests.hub.world import World


async def test_an_epic_is_exported_with_what_belongs_to_it_and_nothing_else(world: World) -> None:
    call = world.call
    await call("create_label", name="used", colour="#112233")
    await call("create_label", name="unused", colour="#112233")
    for name in ("One", "Two"):
        epic = await call("create_epic", title=name)
        story = await call("create_user_story", epic_id=epic.id, title=name)
        await call("create_requirement", user_story_id=story.id, title=name)
        await call("add_comment", target_id=story.id, text=name)
        await call("create_steering_document", title=name, epic_ids=[epic.id])
    await call("label_item", id="REQ-001", label="used")
    await call("create_relationship", source_id="REQ-001", target_id="US-001", type="refines")
    await call("create_relationship", source_id="REQ-001", target_id="REQ-002", type="refines")
    export = await call("export_items", format="json", epic_id="ep-1")
    file = msgspec.json.decode(export.content)
    assert (export.items, export.media_type, export.file_name) == (
        *(4, "application/json", "requirements.json"),
    )
    assert [item["reference_id"] for item in file["items"]] == [
        *("EP-001", "US-001", "REQ-001", "STD-001"),
    ]
    assert [(link["source"], link["target"]) for link in file["relationships"]] == [
        ("REQ-001", "US-001")
    ]
    assert [comment["text"] for comment in file["comments"]] == ["One"]
    assert [label["name"] for label in file["labels"]] == ["used"]
    assert [type["name"] for type in file["types"]] == ["Functional"]


async def test_an_unknown_epic_is_not_exported(world: World) -> None:
    with pytest.raises(NotFoundError):
        await world.call("export_items", epic_id="EP-9")


async def test_more_than_an_export_holds_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.hub.exchange.exporter.MAX_ITEMS", 1)
    await world.call("create_epic", title="One")
    await world.call("create_epic", title="Two")
    with pytest.raises(ConflictError, match="one epic at a time"):
        await world.call("export_items")


FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1", "＝1", "=cmd|' /C calc'!A0")


async def test_formulas_are_neutralised_in_every_cell_and_come_back(world: World) -> None:
    for formula in FORMULAS:
        title = formula.strip()
        await world.call("create_epic", title=title, description=formula)
    export = await world.call("export_items", format="csv")
    rows = list(csv.reader(io.StringIO(export.content, newline="")))
    assert not [cell for row in rows for cell in row if cell[:1] in tuple("=+-@\t\r\n＝＋－＠")]
    report = await world.call("import_items", world.admin, format="csv", content=export.content)
    assert report.unchanged == len(FORMULAS)


@given(st.text(max_size=20))
def test_every_cell_comes_back_as_it_was(text: str) -> None:
    assert unescape_formula(escape_formula(text)) == text
    assert escape_formula(text)[:1] not in tuple("=+-@\t\r\n＝＋－＠")


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(
            lambda text: text == text.strip()
        )
    )
)
def test_lists_in_cells_come_back_as_they_were(values: list[str]) -> None:
    assert split_list(join_list(values)) == values


def test_formats_are_told_by_the_names_of_files() -> None:
    names = ("a.json", "b.CSV", "c.md", "d.markdown", "e.reqif", "f.txt", "json")
    assert [Formats().of_file(name) for name in names] == [
        *("json", "csv", "markdown", "markdown", "reqif", None, None),
    ]
    assert list(FORMATS) == ["json", "csv", "markdown", "reqif"]
