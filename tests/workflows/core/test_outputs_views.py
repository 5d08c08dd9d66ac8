"""Views of the steps of a run."""

from __future__ import annotations

from accord.workflows.core.outputs import StepView, view_steps
from accord.workflows.core.state import Failure
from tests.workflows.core.run import Run, agent, wait


def seen(run: Run) -> dict[str, str]:
    return {view.key: view.status for view in view_steps(run.program, run.state)}


def test_a_view_says_what_a_step_did() -> None:
    run = Run(agent("a"), agent("b", on_error="continue"), agent("c")).start()
    run.now = 2.0
    run.done("a", 1, attempts=2)
    run.now = 3.0
    run.fail("b").ask("c", "which?")
    assert list(view_steps(run.program, run.state)) == [
        StepView("a", "a", "agent", "completed", 2, 1, None, None, 0.0, 2.0),
        StepView("b", "b", "agent", "failed", 1, None, Failure("broken", "it broke", "b"), None, 2.0, 3.0),
        StepView("c", "c", "agent", "waiting", 0, None, None, "which?", 3.0, None),
    ]  # fmt: skip


def test_steps_are_pending_until_they_start_or_are_passed() -> None:
    choice = {
        "name": "c",
        "type": "condition",
        "if": "${input}",
        "then": [agent("t", next="z")],
        "else": [agent("e", on_error=[agent("h")])],
    }
    run = Run(agent("a"), choice, agent("b"), agent("z"), on_error=[agent("o")])
    assert seen(run) == dict.fromkeys(["a", "c", "t", "e", "h", "b", "z", "o"], "pending")
    run.start(True)
    assert seen(run) == {
        "a": "running",
        **dict.fromkeys(["c", "t", "e", "h", "b", "z", "o"], "pending"),
    }
    run.done("a")
    assert seen(run) == {
        "a": "completed", "c": "running", "t": "running", "e": "skipped", "h": "skipped",
        "b": "pending", "z": "pending", "o": "pending",
    }  # fmt: skip
    run.done("t")
    assert seen(run)["b"] == "skipped"
    run.done("z")
    assert seen(run) == {
        "a": "completed", "c": "completed", "t": "completed", "e": "skipped", "h": "skipped",
        "b": "skipped", "z": "completed", "o": "skipped",
    }  # fmt: skip


def test_every_round_of_a_loop_is_seen() -> None:
    body = [agent("a"), wait("w", signal="s")]
    run = Run({"name": "l", "type": "loop", "over": [1, 2], "body": body}).start().done("a[0]")
    assert seen(run) == {"l": "running", "a[0]": "completed", "w[0]": "waiting"}
    run.signal("s").cancel()
    assert seen(run) == {
        "l": "cancelled", "a[0]": "completed", "w[0]": "completed", "a[1]": "cancelled", "w[1]": "skipped",
    }  # fmt: skip


def test_branches_that_wait_for_room_are_pending() -> None:
    step = {
        "name": "p",
        "type": "parallel",
        "max_parallelism": 1,
        "join": "any",
        "branches": {"x": [agent("a")], "y": [agent("b")]},
    }
    run = Run(agent("before", on_error="continue"), step).start()
    assert seen(run) == {"before": "running", "p": "pending", "a": "pending", "b": "pending"}
    run.fail("before")
    assert seen(run) == {"before": "failed", "p": "running", "a": "running", "b": "pending"}
    run.done("a")
    assert seen(run) == {"before": "failed", "p": "completed", "a": "completed", "b": "skipped"}
