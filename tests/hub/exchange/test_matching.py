"""Names in a file belong to its source: imports leave items of other sources unchanged."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from accord.hub.exchange.decoding import content_of
from accord.hub.exchange.project import former_id
from accord.hub.storage import provenance
from accord.operations.errors import InvalidError
from accord.store import open_store
from tests.hub.exchange.reqif_made import (
    archive,
    place,
    relation,
    relation_type,
    reqif,
    spec_object,
)
from tests.hub.world import World, world_at
from tests.store.cluster import Cluster

UUID = "1f8ad1c2-93b0-4c4c-9f0a-0f7e7a0c5a11"
BRAKE, BREW = "The brake shall hold.", "The machine shall brew."


@pytest.fixture
async def elsewhere(tmp_path: Path) -> AsyncIterator[World]:
    """Return another hub."""
    async with world_at(f"sqlite://{tmp_path}/elsewhere.db") as found:
        yield found


def brake(text: str = BRAKE, id: str = "REQ-1", **options: Any) -> str:
    return reqif(spec_object(id, text), **options)


async def take(world: World, content: str, format: str = "reqif", **options: Any) -> Any:
    return await world.call("import_items", world.admin, format=format, content=content, **options)


def counts(report: Any) -> tuple[int, int, int, int]:
    return (report.created, report.updated, report.unchanged, report.failed)


async def texts(world: World) -> list[str]:
    found = await world.call("list_requirements", limit=100, sort="reference_id")
    return [each.description for each in found.items]


@pytest.mark.req("H-22")
async def test_two_repositories_with_the_same_identifiers_are_two_projects(world: World) -> None:
    first = await take(world, brake(repository="cars"))
    second = await take(world, brake(BREW, repository="coffee", title="Coffee"))
    assert counts(first) == counts(second) == (3, 0, 0, 0)
    assert (first.sources, second.sources) == (["cars"], ["coffee"])
    assert await texts(world) == [BRAKE, BREW]
    again = await take(world, brake(BREW + " Hot.", repository="coffee", title="Coffee"))
    assert counts(again) == (0, 1, 2, 0)
    assert await texts(world) == [BRAKE, BREW + " Hot."]


@pytest.mark.req("H-22")
async def test_two_files_of_one_specification_id_need_the_name_of_their_source(
    world: World,
) -> None:
    await take(world, brake())
    with pytest.raises(InvalidError, match="name the source, 'SPEC-1' if this is the same"):
        await take(world, brake(BREW, title="Coffee"))
    with pytest.raises(InvalidError, match="name the source"):
        await take(world, brake(BREW, title="Coffee"), on_conflict="create")
    assert await texts(world) == [BRAKE]
    assert counts(await take(world, brake())) == (0, 0, 3, 0)
    other = await take(world, brake(BREW, title="Coffee"), source="coffee")
    assert counts(other) == (3, 0, 0, 0)
    newer = await take(world, brake(BRAKE + " Always."), source="SPEC-1")
    assert counts(newer) == (0, 1, 2, 0)
    assert await texts(world) == [BRAKE + " Always.", BREW]


@pytest.mark.req("H-22")
async def test_nothing_is_attached_to_an_item_of_another_source(world: World) -> None:
    await take(world, brake())
    other = reqif(
        *(spec_object("REQ-1", BREW), spec_object("REQ-9", "New.")),
        types=relation_type("refines"),
        relations=relation("REQ-9", "refines", "REQ-1"),
        title="Coffee",
    )
    report = await take(world, other, partial=True)
    assert counts(report) == (0, 0, 0, 5)
    assert [row.errors[0] for row in report.rows[1:4]] == [
        "row 1, which it names, is refused",
        *["row 2, which it names, is refused"] * 2,
    ]
    assert await texts(world) == [BRAKE]


@pytest.mark.req("H-22")
async def test_a_specification_whose_id_nobody_else_has_is_a_source(world: World) -> None:
    own = f"SPECIFICATION-{UUID}"
    await take(world, brake(specification=own))
    assert counts(await take(world, brake("Newer.", specification=own))) == (0, 1, 2, 0)


@pytest.mark.req("H-22")
async def test_a_file_that_names_no_source_is_asked_for_one(world: World) -> None:
    for content in (brake(specification=""), brake(specification=" ")):
        with pytest.raises(InvalidError, match="source: the file names no repository"):
            await take(world, content)
    assert counts(await take(world, brake(specification=""), source="cars")) == (3, 0, 0, 0)
    assert counts(await take(world, brake(specification=""), source="cars")) == (0, 0, 3, 0)


@pytest.mark.req("H-22")
async def test_the_same_uuid_of_another_source_needs_the_word_of_the_caller(world: World) -> None:
    await take(world, brake(id=UUID, repository="cars"))
    other = brake(BREW, id=f"_{UUID.upper()}", repository="coffee", title="Coffee")
    with pytest.raises(InvalidError, match="REQ-001 is not of 'coffee': it came from 'cars'"):
        await take(world, other)
    partly = await take(world, other, partial=True)
    assert [row.action for row in partly.rows] == ["created", "created", "failed"]
    assert await texts(world) == [BRAKE]
    updated = await take(world, other, on_conflict="update")
    assert counts(updated) == (0, 1, 2, 0)
    assert await texts(world) == [BREW]
    with pytest.raises(InvalidError, match="it came from 'cars'"):
        await take(world, brake("Another.", id=UUID, repository="coffee", title="Coffee"))


@pytest.mark.req("H-22")
async def test_a_new_item_can_be_made_of_the_same_uuid(world: World) -> None:
    await take(world, brake(id=UUID, repository="cars"))
    other = brake(BREW, id=UUID, repository="coffee", title="Coffee")
    assert counts(await take(world, other, on_conflict="create")) == (3, 0, 0, 0)
    assert counts(await take(world, other)) == (0, 0, 3, 0)
    assert await texts(world) == [BRAKE, BREW]


@pytest.mark.req("H-22")
async def test_an_item_that_was_created_here_is_not_changed_unasked(world: World) -> None:
    epic = await world.call("create_epic", title="Mine")
    story = await world.call("create_user_story", epic_id=epic.id, title="Mine")
    mine = await world.call(
        "create_requirement", user_story_id=story.id, title="Mine", description="Mine."
    )
    with pytest.raises(InvalidError, match="REQ-001 is not of 'cars': it was created here"):
        await take(world, brake(id=mine.id, repository="cars"))
    assert (await world.call("get_requirement", id=mine.id)).description == "Mine."
    given = await take(world, brake(id=mine.id, repository="cars"), on_conflict="update")
    assert [row.action for row in given.rows] == ["created", "created", "updated"]
    newer = await take(world, brake("Newer.", id=mine.id, repository="cars"))
    assert [row.action for row in newer.rows] == ["unchanged", "unchanged", "updated"]


async def imported_by_an_earlier_release(world: World) -> None:
    """Return the items of `brake()` as releases without sources stored them."""
    ids = [former_id(name) for name in ("specification SPEC-1", "loose SPEC-1", "REQ-1")]
    content = (
        "kind,id,parent,title,description\n"
        f"epic,{ids[0]},,Brake,\n"
        f"user_story,{ids[1]},{ids[0]},Brake,\n"
        f"requirement,{ids[2]},{ids[1]},{BRAKE},{BRAKE}\n"
    )
    await take(world, content, "csv")


@pytest.mark.req("H-22")
async def test_what_an_earlier_release_imported_is_found_by_its_old_id(world: World) -> None:
    await imported_by_an_earlier_release(world)
    assert counts(await take(world, brake(repository="cars"))) == (0, 0, 3, 0)
    newer = await take(world, brake("Newer.", repository="cars"))
    assert counts(newer) == (0, 1, 2, 0)
    assert await texts(world) == ["Newer."]
    # It belongs to its source now: another one gets items of its own.
    assert counts(await take(world, brake(BREW, repository="coffee"))) == (3, 0, 0, 0)
    assert await texts(world) == ["Newer.", BREW]


@pytest.mark.req("H-22", "H-23")
async def test_a_link_of_an_earlier_release_gets_its_direction(world: World) -> None:
    """Earlier releases made it `relates_to`; a second link beside it would say less."""
    objects = [spec_object(id, id) for id in ("REQ-1", "REQ-2")]
    options = {"repository": "cars", "types": relation_type("Parent")}
    await take(world, reqif(*objects, **options))
    former = (
        '{"format": "accord-hub", "version": 1, "relationships": [{"source": "REQ-001", '
        f'"type": "relates_to", "target": "REQ-002", "id": "{former_id("r")}"}}]}}'
    )
    await take(world, former, "json")
    related = reqif(*objects, **options, relations=relation("REQ-1", "Parent", "REQ-2", "r"))
    report = await take(world, related)
    assert (report.rows[-1].action, report.rows[-1].reference_id) == (
        *("updated", "REQ-001 derives_from REQ-002"),
    )
    assert counts(await take(world, related)) == (0, 0, 5, 0)
    assert (await world.call("list_relationships")).total == 1


@pytest.mark.req("H-22")
async def test_what_an_earlier_release_imported_is_not_changed_unasked(world: World) -> None:
    await imported_by_an_earlier_release(world)
    other = brake(BREW, repository="coffee", title="Coffee")
    with pytest.raises(InvalidError, match=r"3 of 3 rows .* an earlier release imported it"):
        await take(world, other)
    assert await texts(world) == [BRAKE]
    assert counts(await take(world, other, on_conflict="create")) == (3, 0, 0, 0)
    assert counts(await take(world, other)) == (0, 0, 3, 0)
    newer = brake("Newer.", repository="cars")
    assert counts(await take(world, newer, on_conflict="update")) == (0, 1, 2, 0)
    assert await texts(world) == ["Newer.", BREW]


@pytest.mark.req("H-22")
async def test_identifiers_that_differ_in_case_or_zeros_are_two_objects(world: World) -> None:
    objects = [spec_object(id, f"Says {id}.") for id in ("REQ-1", "REQ-001", "req-1", UUID)]
    objects.append(spec_object(f"_{UUID.upper()}", "Says more."))
    content = reqif(
        *objects,
        repository="cars",
        types=relation_type("refines"),
        relations=relation("req-1", "refines", "REQ-001"),
    )
    report = await take(world, content)
    assert counts(report) == (8, 0, 0, 0)
    assert await texts(world) == [
        *("Says REQ-1.", "Says REQ-001.", "Says req-1.", f"Says {UUID}.", "Says more."),
    ]
    assert report.rows[-1].reference_id == "REQ-003 refines REQ-002"
    assert counts(await take(world, content)) == (0, 0, 8, 0)


@pytest.mark.req("H-22")
async def test_a_reference_id_of_another_installation_is_another_item(
    world: World, elsewhere: World
) -> None:
    """A document has no UUIDs: its REQ-001 is not our REQ-001."""
    await take(elsewhere, brake(BREW, repository="coffee", title="Coffee"))
    await take(world, brake(repository="cars"))
    for format in ("markdown", "csv", "json", "reqif"):
        export = await elsewhere.call("export_items", format=format)
        first = await take(world, export.content, format)
        assert (first.updated, first.failed) == (0, 0), format
        assert BRAKE in await texts(world)
        again = await take(world, export.content, format)
        assert (again.created, again.updated, again.failed) == (0, 0, 0), format
    assert (await texts(world))[0] == BRAKE


@pytest.mark.req("H-22")
@pytest.mark.parametrize("format", ["csv", "markdown", "json"])
async def test_reference_ids_of_a_named_source_are_its_own(world: World, format: str) -> None:
    await world.call("create_epic", title="Ours")
    content = {
        "csv": "reference_id,title,links\nEP-1,Theirs,\nEP-2,Second,relates_to EP-1\n",
        "markdown": "## EP-001: Theirs\n\n## EP-002: Second\n- relates_to: EP-001\n",
        "json": '{"format": "accord-hub", "version": 1, "items": ['
        '{"kind": "epic", "reference_id": "EP-001", "title": "Theirs"},'
        '{"kind": "epic", "reference_id": "EP-002", "title": "Second"}],'
        '"relationships": [{"source": "EP-002", "type": "relates_to", "target": "EP-001"}]}',
    }[format]
    first = await take(world, content, format, source="plant b")
    assert counts(first) == (3, 0, 0, 0)
    assert [row.reference_id for row in first.rows if row.kind == "epic"] == ["EP-002", "EP-003"]
    second = await take(world, content, format, source="plant b")
    assert counts(second) == (0, 0, 3, 0)
    assert second.rows[0].notes[0].endswith(" is called EP-002 here")
    assert (await world.call("get_epic", id="EP-001")).title == "Ours"
    # Rows of a later file find what an earlier one brought, and nothing of ours.
    more = "kind,parent,title\nuser_story,EP-001,More\n"
    await take(world, more, "csv", source="plant b")
    assert (await world.call("get_user_story", id="US-001")).epic_reference_id == "EP-002"
    with pytest.raises(InvalidError, match="there is no item 'EP-009' of 'plant b'"):
        await take(world, more.replace("EP-001", "EP-009"), "csv", source="plant b")


@pytest.mark.req("H-22")
@pytest.mark.parametrize("format", ["csv", "markdown", "json"])
async def test_another_title_below_the_same_reference_id_needs_the_word_of_the_caller(
    world: World, format: str
) -> None:
    def content(title: str) -> str:
        return {
            "csv": f"kind,reference_id,title,parent\nepic,EP-1,{title},\n"
            "user_story,US-1,Sell a ticket,EP-1\n",
            "markdown": f"## EP-001: {title}\n\n### US-001: Sell a ticket\n",
            "json": '{"format": "accord-hub", "version": 1, "items": ['
            f'{{"kind": "epic", "reference_id": "EP-001", "title": "{title}"}}, {{"kind": '
            '"user_story", "reference_id": "US-001", "title": "Sell a ticket", "parent": "EP-1"}]}',
        }[format]

    await take(world, content("Brake"), format)
    with pytest.raises(InvalidError, match="EP-001 is 'Brake' here, and the file does not say"):
        await take(world, content("Coffee"), format)
    report = await take(world, content("Coffee"), format, partial=True)
    assert counts(report)[0:2] == (0, 0)
    assert (await world.call("get_epic", id="EP-001")).title == "Brake"
    new = await take(world, content("Tea"), format, on_conflict="create")
    assert [row.reference_id for row in new.rows if row.kind == "epic"] == ["EP-002"]
    changed = await take(world, content("Coffee"), format, on_conflict="update")
    assert changed.rows[0].notes == ["found by its reference id; its title was 'Brake'"]
    # A title that the item had once is no other item's.
    back = await take(world, content("Brake"), format)
    assert counts(back) == (0, 1, 1, 0)


@pytest.mark.req("H-22")
async def test_criteria_are_told_apart_by_their_text(world: World) -> None:
    await take(world, "kind,title\nepic,E\n", "csv")
    await take(world, "kind,title,parent\nuser_story,S,EP-001\n", "csv")
    head = "kind,description,parent,reference_id\nacceptance_criteria,"
    await take(world, f"{head}Given one,US-001,AC-001\n", "csv")
    with pytest.raises(InvalidError, match="AC-001 is 'Given one' here"):
        await take(world, f"{head}Given two,US-001,AC-001\n", "csv")


@pytest.mark.req("H-22")
async def test_a_document_of_this_hub_changes_titles(world: World) -> None:
    await world.call("create_epic", title="Ours")
    document = (await world.call("export_items", format="markdown")).content
    report = await take(world, document.replace("Ours", "Better"), "markdown")
    assert counts(report) == (0, 1, 0, 0)
    assert report.rows[0].notes == ["found by its reference id; its title was 'Ours'"]


@pytest.mark.req("H-22")
async def test_two_projects_in_one_archive_stay_two(world: World) -> None:
    def project(name: str) -> str:
        return reqif(
            spec_object("REQ-1", f"{name} one."),
            spec_object("REQ-2", f"{name} two."),
            repository=name,
            title=name,
            relations=relation("REQ-1", "Parent", "REQ-2"),
            types=relation_type("Parent"),
        )

    content = content_of(archive({"a.reqif": project("Cars"), "b.reqif": project("Coffee")}))
    report = await take(world, content)
    assert counts(report) == (10, 0, 0, 0)
    assert counts(await take(world, content)) == (0, 0, 10, 0)
    found = await world.call("list_requirements", limit=100, sort="reference_id")
    assert [(each.user_story_reference_id, each.description) for each in found.items] == [
        *(("US-001", "Cars one."), ("US-001", "Cars two.")),
        *(("US-002", "Coffee one."), ("US-002", "Coffee two.")),
    ]
    stories = await world.call("list_user_stories", limit=100, sort="reference_id")
    assert [each.epic_reference_id for each in stories.items] == ["EP-001", "EP-002"]
    links = await world.call("list_relationships")
    assert sorted((each.source_reference_id, each.target_reference_id) for each in links.items) == [
        ("REQ-001", "REQ-002"),
        ("REQ-003", "REQ-004"),
    ]


@pytest.mark.req("H-22")
async def test_another_hub_replaces_neither_labels_nor_types_nor_the_active_prompt(
    world: World,
) -> None:
    await world.call("create_label", name="safety", colour="#111111")
    await world.call("create_prompt", world.admin, name="ours", content="Help.")
    await world.call("activate_prompt", world.admin, id="ours")
    content = (
        '{"format": "accord-hub", "version": 1, "source": "elsewhere",'
        '"types": [{"name": "Data", "description": "theirs"}],'
        '"labels": [{"name": "safety", "colour": "#222222"}],'
        '"items": [{"kind": "prompt", "name": "theirs", "title": "T", "content": "Help them.",'
        '"id": "a0000000-0000-4000-8000-000000000001", "active": true}]}'
    )
    for expected in ((1, 0, 2, 0), (0, 0, 3, 0)):
        report = await take(world, content, "json")
        assert counts(report) == expected
        assert [row.notes for row in report.rows] == [
            ["it has another description here and stays as it is"],
            ["it has the colour #111111 here and stays as it is"],
            ["not activated: PROMPT-001 is the active prompt here"],
        ]
    assert (await world.call("get_active_prompt")).name == "ours"


@pytest.mark.req("H-22")
async def test_an_undone_and_redone_import_is_found_again(world: World) -> None:
    report = await take(world, brake(repository="cars"))
    undone = await world.call("undo", world.admin, change_id=report.change_id)
    assert await texts(world) == []
    await world.call("undo", world.admin, change_id=undone.change_id)
    assert counts(await take(world, brake("Newer.", repository="cars"))) == (0, 1, 2, 0)
    story = (await world.call("list_user_stories")).items[0]
    await world.call("delete_user_story", world.admin, id=story.id, force=True)
    assert counts(await take(world, brake(repository="cars"))) == (2, 0, 1, 0)


@pytest.mark.req("H-22")
async def test_sources_survive_an_export_to_another_hub(world: World, elsewhere: World) -> None:
    await take(elsewhere, brake(id=UUID, repository="cars"))
    export = await elsewhere.call("export_items", format="json")
    await take(world, export.content, "json")
    assert counts(await take(world, brake("Newer.", id=UUID, repository="cars"))) == (0, 1, 2, 0)


async def test_the_name_of_this_hub_is_no_other_source(world: World) -> None:
    await world.call("create_epic", title="Ours")
    own = await provenance.installation_id(world.store)
    report = await take(world, "reference_id,title\nEP-001,Newer\n", "csv", source=own)
    assert (counts(report), report.sources) == ((0, 1, 0, 0), [])


async def test_a_source_has_a_limit(world: World) -> None:
    with pytest.raises(InvalidError, match="has 201 characters, the limit is 200"):
        await take(world, brake(repository="x" * 201))
    long = spec_object("x" * 401, "Long.")
    report = await take(world, reqif(long, repository="cars"), partial=True)
    assert report.rows[-1].errors == ["an identifier of 401 characters exceeds 400"]
    widest = spec_object("\U0001d504" * 400, "Wide.")
    report = await take(world, reqif(widest, repository="\U0001d504" * 200))
    assert report.failed == 0


async def test_an_epic_that_another_object_replaces_is_told(world: World) -> None:
    await take(world, reqif(spec_object("a", "A."), spec_object("b", "B."), repository="cars"))
    moved = reqif(
        *(spec_object("a", "A."), spec_object("b", "B.")),
        places=place("a", place("b")),
        repository="cars",
    )
    report = await take(world, moved, partial=True)
    assert report.rows[1].errors == ["kind: REQ-001 is requirement, not user story"]


async def test_a_hub_of_the_release_before_gets_the_tables(
    cluster: Cluster, tmp_path: Path
) -> None:
    """Items of such a hub have no source; imports find them and leave them unchanged."""
    before = tmp_path / "migrations"
    before.mkdir()
    for each in (files("accord.hub") / "migrations").iterdir():
        if each.name < "0007":
            (before / each.name).write_text(each.read_text())
    ids = []
    for url in (f"sqlite://{tmp_path}/before.db", cluster.database()):
        async with open_store(url, durable=False) as store:
            await store.migrate("operations", files("accord.operations") / "migrations")
            await store.migrate("hub", before)
        async with world_at(url) as world:
            await imported_by_an_earlier_release(world)
            with pytest.raises(InvalidError, match="an earlier release imported it"):
                await take(world, brake(BREW, repository="coffee"))
            assert counts(await take(world, brake(repository="cars"))) == (0, 0, 3, 0)
            ids.append(await provenance.installation_id(world.store))
    assert [len(id) for id in ids] == [32, 32]
    assert ids[0] != ids[1]
