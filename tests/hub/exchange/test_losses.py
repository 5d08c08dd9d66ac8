"""Losses of an import are reported: as notes of rows and as totals."""

from __future__ import annotations

from typing import Any

import pytest

from accord.hub.exchange.project import FormatError
from accord.hub.exchange.reqif_reader import read
from accord.operations.errors import InvalidError
from tests.hub.exchange.reqif_made import place, relation, relation_type, reqif, spec_object
from tests.hub.world import World


async def take(world: World, content: str, format: str = "reqif", **options: Any) -> Any:
    options.setdefault("source", None if format != "reqif" else "cars")
    return await world.call("import_items", world.admin, format=format, content=content, **options)


def notes(report: Any) -> dict[str, list[str]]:
    return {row.reference_id or row.kind: row.notes for row in report.rows if row.notes}


def totals(report: Any) -> dict[str, int]:
    return {each.what: each.count for each in report.not_kept}


@pytest.mark.req("H-23")
async def test_attributes_without_a_field_are_named(world: World) -> None:
    content = reqif(
        spec_object("A", "Text.", ReqIF_ForeignID="UID-1", STATUS="Active", RATIONALE="Because."),
        spec_object("B", "Text.", ReqIF_Name="Named", RATIONALE="Because."),
        spec_object("C", "", ReqIF_ForeignID="UID-3"),
        spec_object("D", "Text.", ' LONG-NAME="Shown" DESC="More"', STATUS=" "),
    )
    report = await take(world, content)
    assert notes(report) == {
        "REQ-001": ["not kept: type REQUIREMENT, ReqIF.ForeignID, STATUS, RATIONALE"],
        "REQ-002": ["not kept: type REQUIREMENT, RATIONALE"],
        "REQ-003": ["not kept: type REQUIREMENT"],
        "REQ-004": ["not kept: type REQUIREMENT, DESC"],
    }
    assert totals(report) == {
        "type REQUIREMENT": 4,
        "RATIONALE": 2,
        "ReqIF.ForeignID": 1,
        "STATUS": 1,
        "DESC": 1,
    }
    titles = [row.title for row in report.rows if row.kind == "requirement"]
    assert titles == ["Text.", "Named", "UID-3", "Shown"]


@pytest.mark.req("H-23")
async def test_attributes_without_a_name_are_named_by_their_ids(world: World) -> None:
    content = reqif(spec_object("A", "Text.", ODD="1", EVEN="2"))
    assert notes(await take(world, content))["REQ-001"] == [
        "not kept: type REQUIREMENT, a-ODD, a-EVEN"
    ]


@pytest.mark.req("H-23")
async def test_relations_keep_their_direction_or_say_that_they_lost_it(world: World) -> None:
    names = ("Parent", "Refine Relationship", "is_verified_by", "Allocated to", "Child")
    ids = "ABCDEF"
    content = reqif(
        *(spec_object(id, f"Text {id}.") for id in ids),
        types="".join(map(relation_type, names)),
        relations="".join(
            relation(source, name, target)
            for name, source, target in zip(names, ids, ids[1:], strict=False)
        )
        + relation("B", "Parent", "A", attributes=' LONG-NAME="named"'),
    )
    report = await take(world, content)
    links = [row for row in report.rows if row.kind == "link"]
    assert [(row.reference_id, row.notes) for row in links] == [
        ("REQ-001 derives_from REQ-002", []),
        ("REQ-002 refines REQ-003", []),
        ("REQ-004 verifies REQ-003", []),
        (
            "REQ-004 relates_to REQ-005",
            ["the hub has no relationship type 'Allocated to': relates_to, which has no direction"],
        ),
        ("REQ-006 derives_from REQ-005", []),
        (
            "REQ-002 relates_to REQ-001",
            [
                "not kept: LONG-NAME",
                "derives_from would close a circle: relates_to, which has no direction",
            ],
        ),
    ]
    again = await take(world, content)
    assert (again.created, again.updated, again.failed) == (0, 0, 0)
    assert totals(again)["direction and type of 'Allocated to'"] == 1


@pytest.mark.req("H-23")
async def test_a_type_that_the_hub_has_is_kept(world: World) -> None:
    await world.call(
        "create_relationship_type", world.admin, name="allocated_to", inverse="carries"
    )
    content = reqif(
        *(spec_object(id, id) for id in "AB"),
        types=relation_type("Allocated to"),
        relations=relation("A", "Allocated to", "B"),
    )
    assert (await take(world, content)).rows[-1].reference_id == "REQ-001 allocated_to REQ-002"


@pytest.mark.req("H-23")
async def test_objects_outside_of_all_specifications_are_requirements(world: World) -> None:
    """Several tools export a specification that does not place its objects."""
    content = reqif(spec_object("A", "Text."), spec_object("B", "More."), places=place("A"))
    report = await take(world, content)
    assert [row.kind for row in report.rows] == [
        *("epic", "user_story", "requirement", "requirement"),
    ]
    assert "it is in no specification of the file" in notes(report)["REQ-002"]
    empty = reqif(spec_object("X", "Text."), places="", specification="Other")
    assert [row.kind for row in (await take(world, empty)).rows][-1] == "requirement"


@pytest.mark.req("H-23")
async def test_places_that_the_hub_does_not_have_are_named(world: World) -> None:
    content = reqif(
        *(spec_object(id, f"Text {id}.") for id in "ABCD"),
        places=place("A", place("B", place("C", place("D")))) + place("C"),
        lead="<VALUES><ATTRIBUTE-VALUE-STRING THE-VALUE='x'><DEFINITION><R>a-STATUS</R>"
        "</DEFINITION></ATTRIBUTE-VALUE-STRING></VALUES>",
        more="<TOOL-EXTENSIONS><REQ-IF-TOOL-EXTENSION/></TOOL-EXTENSIONS>",
    )
    report = await take(world, content)
    assert totals(report) == {
        "type REQUIREMENT": 4,
        "place below another requirement": 2,
        "further place of an object": 1,
        "STATUS": 1,
        "REQ-IF-TOOL-EXTENSION": 1,
    }
    assert notes(report)["EP-001"] == ["not kept: STATUS"]


@pytest.mark.req("H-23")
async def test_what_the_file_does_not_have_fails_in_its_row(world: World) -> None:
    content = reqif(
        *(spec_object("A", "Text."), spec_object("A", "Twice."), spec_object("", "No id.")),
        places=place("A") + place("B"),
        types=relation_type("refines"),
        relations=relation("A", "refines", "Z") + relation("", "refines", "A"),
    )
    report = await take(world, content, partial=True)
    assert [row.errors[0] for row in report.rows if row.errors] == [
        "the object 'B' is not in the file",
        "the identifier 'A' is of two objects",
        "an object has no id",
        "there is no item 'Z' of 'cars'",
        "the relation 'r--refines-A' has no source or no target",
    ]


@pytest.mark.req("H-23")
async def test_formatting_and_embedded_objects_are_named(world: World) -> None:
    xhtml = (
        "<ATTRIBUTE-VALUE-XHTML><DEFINITION><ATTRIBUTE-DEFINITION-XHTML-REF>a-ReqIF.Text"
        "</ATTRIBUTE-DEFINITION-XHTML-REF></DEFINITION><THE-VALUE><x:div><x:p>Within <x:b>2 s</x:b>."
        "</x:p><x:span style='color: red'/><x:object data='a.png'/></x:div></THE-VALUE><THE-ORIGINAL-VALUE/>"
        "</ATTRIBUTE-VALUE-XHTML>"
    )
    report = await take(world, reqif(spec_object("A", "", inner=xhtml)))
    assert notes(report)["REQ-001"] == [
        "not kept: type REQUIREMENT, <b> of ReqIF.Text, the attribute style of ReqIF.Text, "
        "<object> of ReqIF.Text, THE-ORIGINAL-VALUE of ReqIF.Text"
    ]


@pytest.mark.req("H-23")
async def test_parts_of_places_and_of_the_header_are_named(world: World) -> None:
    marked = place("A", place("B")).replace(
        "<SPEC-HIERARCHY>", '<SPEC-HIERARCHY LONG-NAME="L" IS-TABLE-INTERNAL="true">'
    )
    content = reqif(
        spec_object("A", "One."),
        spec_object("B", "Two."),
        places=marked.replace("<OBJECT>", "<EDITABLE-ATTS/><OBJECT>"),
        relations=relation("A", "Parent", "B").replace("<TYPE>", "<ALTERNATIVE-ID/><TYPE>"),
        types=relation_type("Parent"),
        lead="<ALTERNATIVE-ID/>",
    ).replace("<SOURCE-TOOL-ID>", "<TITLE>Delivery 3</TITLE><SOURCE-TOOL-ID>")
    assert totals(await take(world, content)) == {
        "LONG-NAME of places": 2,
        "IS-TABLE-INTERNAL of places": 2,
        "EDITABLE-ATTS of places": 2,
        "TITLE of the header": 1,
        "type REQUIREMENT": 2,
        "ALTERNATIVE-ID": 2,
    }


@pytest.mark.req("H-23")
async def test_a_title_that_is_cut_is_named(world: World) -> None:
    report = await take(world, reqif(spec_object("A", "Text.", ReqIF_Name="x" * 501)))
    assert notes(report)["REQ-001"] == ["not kept: type REQUIREMENT, title after 500 characters"]


@pytest.mark.req("H-23")
async def test_our_own_file_with_more_in_it_is_no_exception(world: World) -> None:
    await world.call("create_epic", title="One")
    content = (await world.call("export_items", format="reqif")).content
    foreign = content.replace("</VALUES>", '<ATTRIBUTE-VALUE-STRING THE-VALUE="x"/></VALUES>')
    report = await take(world, foreign, source=None)
    assert report.rows[0].notes == ["not kept: attribute without a name"]
    more = (
        content.replace("<VALUES>", "<ALTERNATIVE-ID/><VALUES>")
        .replace('IDENTIFIER="_', 'DESC="d" IDENTIFIER="_')
        .replace("<xhtml:div>", '<xhtml:div><xhtml:b style="color: red">!</xhtml:b>')
        .replace("</SPEC-RELATIONS>", "</SPEC-RELATIONS><G><RELATION-GROUP/></G>")
    )
    report = await take(world, more, source=None)
    assert report.rows[0].notes == [
        "not kept: DESC, <b> of ReqIF.Text, the attribute style of ReqIF.Text, ALTERNATIVE-ID"
    ]
    assert totals(report) | {"DESC of a specification": 1, "DESC of places": 1} == totals(report)
    assert totals(report)["RELATION-GROUP"] == 1
    wrong = content.replace('THE-VALUE="3"', 'THE-VALUE="high"')
    report = await take(world, wrong, source=None, partial=True)
    assert report.rows[0].errors == ["priority: 'high' is no number"]
    nowhere = content.replace("<CHILDREN>", "<NOTHING>").replace("</CHILDREN>", "</NOTHING>")
    report = await take(world, nowhere, source=None, partial=True)
    assert "is not in the hierarchy" in report.rows[0].errors[0]


NOT_OF_MARKDOWN = {
    "## PROMPT: P\n- Active: perhaps\n": "active: 'perhaps' is neither yes nor no",
    "## EP: E\n- Status: Draft\n- Status: Done\n": "the field Status is there twice",
    "## PROMPT: P\n\n```prompt\nHelp.\n```\n\nMore.\n": "there is text below the fence with the "
    "prompt",
}


@pytest.mark.req("H-23")
async def test_a_document_loses_nothing_unsaid(world: World) -> None:
    for content, reason in NOT_OF_MARKDOWN.items():
        report = await take(world, content, "markdown", partial=True)
        assert report.rows[0].errors == [reason]
    report = await take(world, "# Shop\n\nNotes\nof ours.\n\n## EP: E\n", "markdown")
    assert totals(report) == {"line above the first item": 3}


@pytest.mark.req("H-23")
async def test_json_loses_nothing_unsaid(world: World) -> None:
    head = '{"format": "accord-hub", "version": 1, "items": [{"kind": "epic", "title": "E", '
    faulty = {
        head + '"title": "F"}]}': "the member 'title' is there twice",
        head + '"version": 1}], "items": []}': "the member 'items' is there twice",
        head + '"creator": "a\\u0000b"}]}': "creator has the character U\\+0000",
        head + '"labels": ["a\\u0000b"]}]}': "labels has the character U\\+0000",
        head + f'"version": {"1" * 5000}}}]}}': "this is no JSON export",
    }
    for content, reason in faulty.items():
        with pytest.raises(InvalidError, match=reason):
            await take(world, content, "json", partial=True)
    more = '"version": 7, "created_at": "2020-01-01T00:00:00.000000Z", "updated_at": "x"}]}'
    report = await take(world, head + more, "json")
    assert report.rows[0].notes == ["not kept: version, updated_at"]
    assert totals(report) == {"version": 1, "updated_at": 1}


@pytest.mark.req("H-23")
async def test_only_administrators_keep_who_made_it(world: World) -> None:
    content = "kind,title,creator\nepic,One,otto\nepic,Two,uma\n"
    report = await world.call("import_items", format="csv", content=content)
    assert [row.notes for row in report.rows] == [
        ["only an administrator's import keeps who made it and when"],
        [],
    ]


@pytest.mark.req("H-23")
async def test_an_update_notes_what_it_does_not_set(world: World) -> None:
    epic = await world.call("create_epic", title="One")
    content = (
        "id,reference_id,title,creator,created_at,kind\n"
        f"{epic.id},EP-009,One,otto,2020-01-01T00:00:00.000000Z,epic\n"
    )
    report = await take(world, content, "csv")
    assert (report.rows[0].action, report.rows[0].notes) == (
        "unchanged",
        ["EP-009 is called EP-001 here", "creator stays uma", "created_at stays as it is"],
    )


@pytest.mark.req("H-23")
async def test_a_comment_that_says_something_else_now_is_noted(world: World) -> None:
    await world.call("create_epic", title="One")
    await world.call("add_comment", target_id="EP-001", text="First.")
    content = (await world.call("export_items", format="json")).content
    report = await take(world, content.replace("First.", "Second."), "json")
    assert report.rows[-1].notes == ["the comment is there already and stays as it is"]


@pytest.mark.req("H-23")
async def test_two_rows_about_one_item_are_refused(world: World) -> None:
    content = "kind,reference_id,title\nepic,EP-001,One\nepic,EP-001,Two\n"
    with pytest.raises(InvalidError, match="row 3: id: row 2 is about EP-001 too"):
        await take(world, content, "csv")


def test_a_file_without_requirements_is_refused() -> None:
    with pytest.raises(FormatError, match="there is no requirement"):
        list(read(reqif()))
