"""ReqIF files that the hub writes, and their form."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from tests.hub.world import World

FOREIGN = Path(__file__).with_name("foreign.reqif").read_text(encoding="utf-8")
REQIF = "{http://www.omg.org/spec/ReqIF/20110401/reqif.xsd}"


async def test_a_file_of_another_tool_becomes_an_epic_with_stories_and_requirements(
    world: World,
) -> None:
    report = await world.call("import_items", format="reqif", content=FOREIGN)
    assert [(row.kind, row.action, row.reference_id) for row in report.rows] == [
        ("epic", "created", "EP-001"),
        ("user_story", "created", "US-001"),
        ("user_story", "created", "US-002"),
        ("requirement", "created", "REQ-001"),
        ("requirement", "created", "REQ-002"),
        ("link", "created", "REQ-001 refines US-002"),
        ("link", "created", "REQ-002 relates_to REQ-001"),
    ]
    wipe = await world.call("get_requirement", id="REQ-001")
    assert (wipe.title, wipe.description, wipe.user_story_reference_id) == (
        "When it rains, the wiper shall wipe. Within 2 s.",
        "When it rains, the wiper shall wipe.\nWithin 2 s.",
        "US-002",
    )
    stop = await world.call("get_requirement", id="REQ-002")
    assert stop.id == "1f8ad1c2-93b0-4c4c-9f0a-0f7e7a0c5a11"
    again = await world.call("import_items", format="reqif", content=FOREIGN)
    assert (again.created, again.updated, again.unchanged) == (0, 0, 7)


async def test_our_files_name_everything_that_they_refer_to(world: World) -> None:
    """Every identifier occurs once, and every reference names one of them."""
    await world.call("import_items", format="reqif", content=FOREIGN)
    content = (await world.call("export_items", format="reqif")).content
    root = ElementTree.fromstring(content)
    named = [
        element.attrib["IDENTIFIER"] for element in root.iter() if "IDENTIFIER" in element.attrib
    ]
    assert len(named) == len(set(named))
    references = {element.text for element in root.iter() if element.tag.endswith("-REF")}
    assert references <= set(named)
    parts = root.find(f"{REQIF}CORE-CONTENT/{REQIF}REQ-IF-CONTENT")
    assert parts is not None
    assert [part.tag.removeprefix(REQIF) for part in parts] == [
        *("DATATYPES", "SPEC-TYPES", "SPEC-OBJECTS", "SPEC-RELATIONS", "SPECIFICATIONS"),
    ]
