"""Workflows are saved whole or not at all, and versions count up."""

from __future__ import annotations

from typing import Any

import pytest

from accord.operations.errors import ConflictError, InvalidError, NotFoundError
from accord.workflows.operations.workflows import DefinitionRefusedError
from tests.workflows.operations.office import GATE, Office

YAML = """
name: nap
description: Sleeps.
input: {type: object, required: [why]}
steps:
  - {name: sleep, type: wait, for: 1}
"""


@pytest.mark.req("W-07")
async def test_versions_count_up_and_runs_keep_theirs(office: Office) -> None:
    first = await office.call("create_workflow", definition=GATE)
    assert (first.id, first.creator, first.active) == ("gate@1", "ada", True)
    again = await office.outcome("create_workflow", definition=GATE)
    assert (again.result.id, again.effects) == ("gate@1", ())
    second = await office.call("create_workflow", definition={**GATE, "description": "Better."})
    assert second.id == "gate@2"
    assert (await office.call("get_workflow", name="gate")).version == 2
    assert (await office.call("get_workflow", name="gate@1")).definition["name"] == "gate"
    run = await office.call("run_workflow", name="gate@1")
    assert (run.workflow, run.workflow_version) == ("gate", 1)
    versions = await office.call("list_workflow_versions", name="gate", limit=1)
    assert ([each.id for each in versions.items], versions.total) == (["gate@2"], 2)
    rest = await office.call(
        "list_workflow_versions", name="gate", limit=1, cursor=versions.next_cursor
    )
    assert [each.id for each in rest.items] == ["gate@1"]


async def test_a_version_that_is_named_must_be_the_next(office: Office) -> None:
    with pytest.raises(ConflictError, match="the next version of gate is 1"):
        await office.call("create_workflow", definition={**GATE, "version": 2})
    await office.call("create_workflow", definition={**GATE, "version": 1})
    with pytest.raises(ConflictError, match="the next version of gate is 2"):
        await office.call("create_workflow", definition={**GATE, "version": 1, "description": "x"})


@pytest.mark.parametrize("given", [YAML, {"source": YAML}])
async def test_yaml_is_read_too(office: Office, given: Any) -> None:
    saved = await office.call("create_workflow", definition=given)
    assert (saved.name, saved.description) == ("nap", "Sleeps.")
    assert saved.input == {"type": "object", "required": ["why"]}
    page = await office.call("list_workflows", "carl")
    assert [(each.name, each.input) for each in page.items] == [("nap", saved.input)]


@pytest.mark.req("W-07")
async def test_all_problems_are_told_at_once_each_with_its_path(office: Office) -> None:
    definition = {
        "name": "wrong",
        "setps": [],
        "steps": [
            {"name": "a", "type": "agent", "agent": "nobody"},
            {"name": "b", "type": "call", "operation": "create_token"},
            {"name": "c", "type": "workflow", "workflow": "none"},
            {"name": "a", "type": "wait", "for": "${steps.z.output}"},
        ],
    }
    for operation in ("create_workflow", "validate_workflow"):
        with pytest.raises(DefinitionRefusedError) as refused:
            await office.call(operation, definition=definition)
        assert [each["path"] for each in refused.value.data["problems"]] == [
            "setps",
            "steps[3].name",
            "steps[0].agent",
            "steps[1].operation",
            "steps[2].workflow",
            "steps[3].for",
        ]
        assert [each.pointer for each in refused.value.errors][2:4] == [
            "/steps/0/agent",
            "/steps/1/operation",
        ]
    assert (await office.call("list_workflows")).total == 0


async def test_a_definition_is_checked_without_being_saved(office: Office) -> None:
    checked = await office.call("validate_workflow", definition=GATE)
    assert (checked.valid, checked.name, checked.steps, checked.definition) == (
        *(True, "gate", 1),
        GATE,
    )
    with pytest.raises(NotFoundError, match="there are none"):
        await office.call("get_workflow", name="gate")


async def test_what_is_not_active_is_not_started(office: Office) -> None:
    await office.save(GATE, {**GATE, "description": "Better."})
    await office.call("update_workflow", name="gate@2", active=False)
    assert (await office.call("run_workflow", name="gate")).workflow_version == 1
    with pytest.raises(ConflictError, match="gate@2 cannot be started"):
        await office.call("run_workflow", name="gate@2")
    await office.call("update_workflow", name="gate", active=False)
    with pytest.raises(ConflictError, match="cannot be started"):
        await office.call("run_workflow", name="gate")
    await office.call("update_workflow", name="gate", active=True)
    assert (await office.call("run_workflow", name="gate")).workflow_version == 2


async def test_a_text_that_is_no_yaml_says_where(office: Office) -> None:
    with pytest.raises(InvalidError, match="line 3, column 1"):
        await office.call("create_workflow", definition="name: x\nsteps: [")
