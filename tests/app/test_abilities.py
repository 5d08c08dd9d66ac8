"""What clients are told about each of our operations is what it can do."""

from __future__ import annotations

import pytest

from accord.app.composition import all_operations
from accord.hub.steps import is_step
from accord.operations.abilities import abilities
from accord.operations.operation import Operation

REGISTRY = all_operations()

DELETING = {
    *("delete_acceptance_criteria", "delete_agent", "delete_comment", "delete_epic"),
    *("delete_label", "delete_prompt", "delete_relationship", "delete_relationship_type"),
    *("delete_requirement", "delete_requirement_type", "delete_steering_document"),
    *("delete_user_story", "delete_view", "undo"),
    *("unlabel_item", "unsuppress_lint", "update_steering_document", "import_items"),
    *("apply_changes", "accept_proposal"),
}
"""What removes something; strict runs of all other tests show that nothing else does."""
REACHING = {
    *("run_workflow", "retry_run", "resume_run", "pause_run", "cancel_run", "signal_run"),
    *("approve_run", "replay_dead_letter", "check_agent_health"),
    *("apply_changes", "accept_proposal"),
}
"""What has agents do something."""


@pytest.mark.req("M-22")
@pytest.mark.parametrize("operation", list(REGISTRY), ids=lambda operation: operation.name)
def test_each_operation_is_told_as_what_it_can_do(operation: Operation) -> None:
    able = abilities(operation, REGISTRY)
    assert able.open_world is (operation.name in REACHING)
    if operation.tag in ("tokens", "sessions"):  # what ends them is gone, though its row stays
        return
    assert able.destructive is (operation.name in DELETING)
    if not operation.writes:
        assert (able.destructive, able.idempotent) == (False, False)


@pytest.mark.req("M-22")
def test_whatever_may_be_a_step_counts_for_those_that_run_steps() -> None:
    steps = [each for each in REGISTRY if is_step(each)]
    assert any(each.destructive for each in steps)
    for name in ("apply_changes", "accept_proposal"):
        operation = REGISTRY[name]
        assert operation.runs is is_step
        assert not operation.destructive, "it follows from the steps"
        assert abilities(operation, REGISTRY).destructive is True


@pytest.mark.req("M-22")
def test_what_is_sent_by_delete_is_destructive_or_keeps_what_it_ends() -> None:
    deleting = {each.name for each in REGISTRY if any(rest.verb == "DELETE" for rest in each.rest)}
    able = {name for name in deleting if abilities(REGISTRY[name], REGISTRY).destructive}
    assert deleting - able == {"sign_out_everywhere"}
