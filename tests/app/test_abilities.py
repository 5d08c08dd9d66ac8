"""What clients are told about each of our operations is what it can do."""

from __future__ import annotations

import pytest

from accord.app.composition import all_operations
from accord.hub.bulk import is_step
from accord.operations.operation import Operation, abilities
from accord.workflows.bridge.task import is_callable

REGISTRY = all_operations()

OF_RUNS = {
    *("run_workflow", "retry_run", "resume_run", "pause_run", "cancel_run", "signal_run"),
    *("approve_run", "replay_dead_letter"),
}
"""What has a run go on, which calls agents and operations."""
OF_STEPS = {"apply_changes", "accept_proposal"}
"""What carries out operations that it is given; one may try a run again."""
DELETING = {
    *("delete_acceptance_criteria", "delete_agent", "delete_comment", "delete_epic"),
    *("delete_label", "delete_prompt", "delete_relationship", "delete_relationship_type"),
    *("delete_requirement", "delete_requirement_type", "delete_steering_document"),
    *("delete_user_story", "delete_view", "undo", "import_items"),
    *("unlabel_item", "unsuppress_lint", "update_steering_document"),
    *OF_STEPS,
    *OF_RUNS,
}
"""What removes something; strict runs of all other tests show that nothing else does."""
REACHING = {*OF_STEPS, *OF_RUNS, "check_agent_health"}
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
def test_a_run_can_do_what_the_operations_that_it_may_call_can() -> None:
    callable_by_runs = [each for each in REGISTRY if is_callable(each)]
    assert any(each.name == "delete_epic" for each in callable_by_runs)
    assert {each.name for each in REGISTRY if each.runs is is_callable} == OF_RUNS


@pytest.mark.req("M-22")
def test_what_is_sent_by_delete_is_destructive_or_keeps_what_it_ends() -> None:
    deleting = {each.name for each in REGISTRY if any(rest.verb == "DELETE" for rest in each.rest)}
    able = {name for name in deleting if abilities(REGISTRY[name], REGISTRY).destructive}
    assert deleting - able == {"sign_out_everywhere"}
