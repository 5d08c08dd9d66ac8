"""The state machine of runs, by type of step."""

from __future__ import annotations

from typing import Any

import pytest

from accord.workflows.core import decisions
from accord.workflows.core.definition import McpTarget, Retry, RpcTarget
from accord.workflows.core.errors import RefusedError
from accord.workflows.core.events import (
    CallAgent,
    CallMethod,
    CallOperation,
    CallTool,
    CancelChild,
    CancelTask,
    ContinueTask,
    RequestApproval,
    SignalReceived,
    StartChild,
    TaskFailed,
    TaskSucceeded,
    TimerFired,
)
from accord.workflows.core.machine import take
from accord.workflows.core.state import Failure, encode_state
from tests.workflows.core.run import Run, agent, wait

# Sequences and tasks


def test_steps_run_in_order_with_what_came_before() -> None:
    run = Run(agent("a", {"text": "${input.x}"}), agent("b", ["${steps.a.output.y}"])).start(
        {"x": 1}
    )
    assert run.commands == [
        CallAgent(task="a", step="a", agent="a", input={"text": 1}, deadline=3600.0)
    ]
    run.now = 5.0
    run.done("a", {"y": 2}, data=[1], artifacts=[{"name": "f"}], attempts=3)
    assert run.commands == [CallAgent(task="b", step="b", agent="a", input=[2], deadline=3605.0)]
    assert run.state.status == "running"
    run.done("b", "end")
    assert run.outcome == ("completed", "end")
    assert (run.state.started_at, run.state.finished_at) == (0.0, 5.0)
    first = run.state.steps["a"]
    assert (first.attempts, first.data, first.artifacts) == (3, [1], [{"name": "f"}])


def test_each_kind_of_task_has_its_command() -> None:
    retry = {"attempts": 2}
    run = Run(
        {"name": "o", "type": "call", "operation": "get_epic", "input": {"id": 1}, "retry": retry},
        {"name": "t", "type": "call", "mcp": {"server": "s", "tool": "t"}, "timeout": 5},
        {"name": "m", "type": "call", "rpc": {"url": "http://x/rpc", "method": "m"}},
        {"name": "c", "type": "workflow", "workflow": "other@7", "input": 1},
        {"name": "d", "type": "workflow", "workflow": "other"},
    ).start(depth=2)
    for task in "otmcd":
        run.done(task, task)
    assert run.commands == [
        CallOperation(task="o", step="o", operation="get_epic", input={"id": 1}, retry=Retry(attempts=2), deadline=3600.0),
        CallTool(task="t", step="t", target=McpTarget("s", "t"), deadline=5.0),
        CallMethod(task="m", step="m", target=RpcTarget("http://x/rpc", "m"), deadline=3600.0),
        StartChild(task="c", step="c", workflow="other", version=7, input=1, depth=3),
        StartChild(task="d", step="d", workflow="other", depth=3),
    ]  # fmt: skip
    assert run.outcome == ("completed", "d")


def test_children_do_not_go_deeper_than_sixteen() -> None:
    step = {"name": "c", "type": "workflow", "workflow": "w"}
    run = Run(step).start(depth=16)
    assert (run.outcome, run.commands) == (("failed", "too_deep"), [])
    assert Run(step).start(depth=15).tasks == ["StartChild c"]


def test_late_and_double_results_are_ignored_and_counted() -> None:
    run = Run(agent("a"), agent("b")).start().done("a", 1)
    run.done("a", 2).fail("a").done("nobody").done("b@2").approve("b").ask("a")
    assert (run.state.ignored, run.state.steps["a"].output) == (6, 1)
    run.done("b", 3).done("b", 4).signal("s").pause().resume().cancel().start()
    assert (run.outcome, run.state.ignored) == (("completed", 3), 12)


def test_what_is_late_or_double_can_be_taken_without_a_trace() -> None:
    run = Run(agent("a"), agent("b")).start()
    assert take(run.program, run.state, TaskSucceeded(at=1.0, task="a", output=1)) is not None
    before = encode_state(run.state)
    assert take(run.program, run.state, TaskSucceeded(at=2.0, task="a", output=2)) is None
    assert encode_state(run.state) == before


def test_a_result_for_what_is_no_task_is_ignored() -> None:
    run = Run(wait("w", signal="s")).start().done("w", 1)
    assert (run.state.status, run.state.ignored) == ("waiting", 1)


def test_the_output_of_the_run_is_what_its_definition_says() -> None:
    run = Run(agent("a"), agent("b"), output={"first": "${steps.a.output}"}).start()
    assert run.done("a", 1).done("b", 2).outcome == ("completed", {"first": 1})
    bad = Run(agent("a"), output="${steps.a.output.x}").start().done("a", 1)
    assert bad.state.error == Failure(
        "expression_failed", "output: steps.a.output.x is not there: steps.a.output is a number"
    )
    large = Run(agent("a"), agent("b"), output="${steps.a.output + steps.b.output}").start()
    large.done("a", "x" * 600_000).done("b", "y" * 600_000)
    assert large.outcome == ("failed", "output_too_large")


def test_a_bad_expression_fails_the_step_and_names_the_reference() -> None:
    run = Run(agent("a"), agent("b", "${steps.a.output.x}")).start().done("a", "prose")
    assert run.state.error == Failure(
        "expression_failed",
        "steps.a.output is a text and no JSON, so that nothing in it can be referred to",
        "b",
    )


def test_inputs_and_outputs_have_limits() -> None:
    run = Run(agent("a"), agent("b", ["${steps.a.output}", "${steps.a.output}"])).start()
    assert run.done("a", "x" * 700_000).outcome == ("failed", "input_too_large")
    run = Run(agent("a")).start().done("a", "x" * 1_048_577)
    assert run.state.error == Failure(
        "output_too_large", "an output of 1,048,579 bytes is over the limit of 1,048,576", "a"
    )
    run = Run(agent("a")).start()
    run.record(TaskSucceeded(at=0.0, task="a", output=object()))
    assert run.state.steps["a"].error == Failure(
        "output_invalid", "the output cannot be written as JSON", "a"
    )


@pytest.mark.req("Q-04")
@pytest.mark.parametrize("levels", [128, 129, 1_000, 3_000, 20_000])
def test_values_that_are_nested_too_deep_are_refused(levels: int) -> None:
    """Also those that the interpreter could write, which is not the same on each version."""
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    error = "output_invalid", "the output is nested deeper than 128 levels", "a"
    run = Run(agent("a"), agent("b", ["${steps.a.output}"])).start()
    run.record(TaskSucceeded(at=0.0, task="a", output=value))
    assert run.state.steps["a"].error == (None if levels == 128 else Failure(*error))
    if levels == 128:  # and one level more is an input that is too deep
        assert run.decide().outcome == ("failed", "input_invalid")


def test_a_run_ends_when_its_outputs_are_too_large_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(decisions, "MAX_RUN_BYTES", 10)
    run = Run({"name": "p", "type": "parallel", "branches": {"x": [agent("a")], "y": [agent("b")]}})
    run.start().done("a", "x" * 20)
    assert run.outcome == ("failed", "run_too_large")
    assert run.tasks == ["CallAgent a", "CallAgent b", "CancelTask b"]


def test_a_run_ends_when_it_starts_too_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "MAX_STEP_RUNS", 3)
    run = Run(
        {"name": "l", "type": "loop", "over": [1, 2, 3], "mode": "parallel", "body": [agent("a")]}
    )
    run.start()
    assert run.outcome == ("failed", "too_many_steps")
    assert run.tasks == ["CallAgent a[0]", "CallAgent a[1]", "CancelTask a[0]", "CancelTask a[1]"]


# Jumps


def test_a_jump_leaves_conditions_and_skips_what_is_between() -> None:
    inner = {"name": "i", "type": "condition", "if": "${true}", "then": [agent("a", next="z")]}
    outer = {"name": "o", "type": "condition", "if": "${input}", "then": [inner, agent("m")]}
    run = Run(outer, agent("b"), agent("z")).start(True)
    run.done("a", 1)
    assert run.tasks == ["CallAgent a", "CallAgent z"]
    assert run.done("z", 2).outcome == ("completed", 2)


def test_end_ends_the_run_the_branch_or_the_round() -> None:
    early = {"name": "c", "type": "condition", "if": "${input}", "then": [agent("a", next="end")]}
    assert Run(early, agent("b")).start(True).done("a", 1).outcome == ("completed", 1)
    body = [
        {
            "name": "c",
            "type": "condition",
            "if": "${loop.item == 1}",
            "then": [agent("a", next="end")],
        },
        agent("b"),
    ]
    run = Run({"name": "l", "type": "loop", "over": [1, 2], "body": body}).start()
    run.done("a[0]", "early").done("b[1]", "late")
    assert run.outcome == ("completed", ["early", "late"])


def test_a_handler_may_jump() -> None:
    run = Run(agent("a", on_error=[agent("h", next="z")]), agent("b"), agent("z")).start().fail("a")
    run.done("h")
    assert run.tasks == ["CallAgent a", "CallAgent h", "CallAgent z"]


# Conditions


@pytest.mark.parametrize(("flag", "task", "output"), [(True, "a", "A"), (False, "b", "B")])
def test_a_condition_runs_one_list(flag: bool, task: str, output: str) -> None:
    step = {
        "name": "c",
        "type": "condition",
        "if": "${input}",
        "then": [agent("a")],
        "else": [agent("b")],
    }
    run = (
        Run(step, agent("z", "${[steps.c.output, steps.a.output]}")).start(flag).done(task, output)
    )
    assert run.commands[1].input == [output, "A" if flag else None]  # type: ignore[union-attr]


def test_a_condition_that_runs_nothing_gives_null() -> None:
    run = Run({"name": "c", "type": "condition", "if": "${false}", "then": [agent("a")]}).start()
    assert run.outcome == ("completed", None)


def test_a_condition_is_true_or_false() -> None:
    run = Run({"name": "c", "type": "condition", "if": "${input}", "then": [agent("a")]}).start(
        "yes"
    )
    assert run.state.error == Failure("expression_failed", "if is yes, not true or false", "c")


@pytest.mark.parametrize(
    ("value", "tasks"),
    [("x", ["CallAgent a"]), (1, ["CallAgent b"]), (True, ["CallAgent c"]), ("1", ["CallAgent b"]), (None, ["CallAgent d"])],
)  # fmt: skip
def test_a_switch_compares_texts(value: Any, tasks: list[str]) -> None:
    cases = {"x": [agent("a")], "1": [agent("b")], "true": [agent("c")]}
    step = {"name": "s", "type": "condition", "switch": "${input}", "cases": cases}
    assert Run({**step, "default": [agent("d")]}).start(value).tasks == tasks
    if value is None:
        assert Run(step).start(value).outcome == ("completed", None)


# Parallel steps


def branches(join: Any = "all", **more: Any) -> dict[str, Any]:
    lists = {"x": [agent("a")], "y": [agent("b")], "z": [agent("c")]}
    return {"name": "p", "type": "parallel", "branches": lists, "join": join, **more}


def test_all_waits_for_all() -> None:
    run = Run(branches()).start().done("c", 3).done("a", 1)
    assert run.state.status == "running"
    assert run.done("b", 2).outcome == ("completed", {"x": 1, "y": 2, "z": 3})


def test_any_cancels_the_others() -> None:
    run = Run(branches("any")).start().done("b", 2)
    assert run.outcome == ("completed", {"x": None, "y": 2, "z": None})
    assert run.commands[3:] == [CancelTask(task="a"), CancelTask(task="c")]
    assert run.statuses == {"p": "completed", "a": "cancelled", "b": "completed", "c": "cancelled"}


def test_a_majority_and_a_number_are_enough() -> None:
    run = Run(branches("majority")).start().fail("a").done("b", 2).done("c", 3)
    assert run.outcome == ("completed", {"x": None, "y": 2, "z": 3})
    run = Run(branches(1)).start().fail("a").fail("b").done("c", 3)
    assert run.outcome == ("completed", {"x": None, "y": None, "z": 3})


def test_a_join_that_cannot_be_satisfied_fails_with_every_error() -> None:
    run = Run(branches(2)).start().fail("c", "late").fail("a", "early")
    error = {"code": "early", "message": "it broke", "step": "a", "details": None}
    assert run.state.error == Failure(
        "join_failed",
        "2 of 3 branches failed, and 2 had to complete",
        "p",
        {"x": error, "z": {**error, "code": "late", "step": "c"}},
    )
    assert run.tasks[3:] == ["CancelTask b"]


def test_what_failed_has_no_output_even_where_some_of_it_was_done() -> None:
    seen = agent("z", "${[steps.p.output, steps.l.output, steps.a.output]}")
    rounds = {"name": "l", "type": "loop", "over": [1, 2], "body": [agent("d")], "timeout": 5}
    caught = {
        "name": "q",
        "type": "parallel",
        "join": "any",
        "branches": {"v": [rounds], "w": [agent("e")]},
    }
    run = Run(branches(on_error="continue"), caught, seen).start().done("a", 1).fail("b")
    run.done("d[0]", 1).later(5).done("e")
    assert run.statuses["p"] == run.statuses["l"] == "failed"
    assert run.commands[-1].input == [None, None, 1]  # type: ignore[union-attr]


def test_only_so_many_branches_run_at_once() -> None:
    run = Run(branches(max_parallelism=2)).start()
    assert run.tasks == ["CallAgent a", "CallAgent b"]
    assert run.done("b", 2).tasks == ["CallAgent c"]
    assert run.done("a", 1).done("c", 3).outcome == ("completed", {"x": 1, "y": 2, "z": 3})
    unopened = Run(branches("any", max_parallelism=1)).start().done("a", 1)
    assert unopened.outcome == ("completed", {"x": 1, "y": None, "z": None})


def test_cancelling_reaches_everything_inside() -> None:
    inside = [
        {
            "name": "q",
            "type": "parallel",
            "branches": {"m": [wait("w", signal="s")], "n": [agent("d")]},
        },
    ]
    handled = [agent("e", on_error=[agent("h")])]
    child = [{"name": "k", "type": "workflow", "workflow": "w"}]
    step = {
        "name": "p",
        "type": "parallel",
        "join": "any",
        "branches": {"x": [agent("a")], "y": inside, "z": handled, "v": child},
    }
    run = Run(step).start().fail("e")
    run.commands.clear()
    run.done("a", 1)
    assert run.commands == [CancelTask(task="d"), CancelTask(task="h"), CancelChild(task="k")]
    assert run.statuses == {
        "p": "completed", "a": "completed", "q": "cancelled", "e": "failed", "w": "cancelled",
        "d": "cancelled", "h": "cancelled", "k": "cancelled",
    }  # fmt: skip
    assert run.state.waiters == {}


def test_results_that_arrive_together_are_all_taken() -> None:
    run = Run(branches("any")).start()
    run.record(TaskSucceeded(at=0.0, task="a", output=1))
    run.record(TaskSucceeded(at=0.0, task="c", output=3)).decide()
    assert run.outcome == ("completed", {"x": 1, "y": None, "z": 3})


# Loops


def loop(**more: Any) -> dict[str, Any]:
    return {
        "name": "l",
        "type": "loop",
        "over": "${input}",
        "body": [agent("a", "${loop.item}")],
        **more,
    }


def test_a_loop_goes_round_by_round() -> None:
    run = Run(loop()).start(["x", "y"])
    assert run.tasks == ["CallAgent a[0]"]
    assert run.done("a[0]", 1).tasks == ["CallAgent a[1]"]
    assert run.done("a[1]", 2).outcome == ("completed", [1, 2])


def test_a_loop_without_items_is_over_at_once() -> None:
    assert Run(loop()).start([]).outcome == ("completed", [])


def test_a_parallel_loop_runs_its_rounds_side_by_side() -> None:
    run = Run(loop(mode="parallel", max_parallelism=2)).start([1, 2, 3])
    assert run.tasks == ["CallAgent a[0]", "CallAgent a[1]"]
    run.done("a[1]", "two").done("a[2]", "three").done("a[0]", "one")
    assert run.outcome == ("completed", ["one", "two", "three"])


def test_rounds_see_their_own_steps_and_the_loops_around() -> None:
    inner = {
        "name": "i",
        "type": "loop",
        "over": "${loop.item}",
        "body": [
            agent("a", "${[loop.item, loop.index, loop.parent.index]}"),
            agent("b", "${steps.a.output}"),
        ],
    }
    run = Run({"name": "o", "type": "loop", "over": "${input}", "body": [inner]}).start(
        [["x"], ["y", "z"]]
    )
    for key in ("[0][0]", "[1][0]", "[1][1]"):
        run.done(f"a{key}", f"a{key}").done(f"b{key}", f"b{key}")
    assert [command.input for command in run.commands] == [  # type: ignore[union-attr]
        ["x", 0, 0], "a[0][0]", ["y", 0, 1], "a[1][0]", ["z", 1, 1], "a[1][1]",
    ]  # fmt: skip
    assert run.outcome == ("completed", [["b[0][0]"], ["b[1][0]", "b[1][1]"]])


def test_while_is_asked_before_each_round_and_sees_the_round_before() -> None:
    step = {
        "name": "l",
        "type": "loop",
        "while": "${loop.index < 5 && steps.a.output != 'stop'}",
        "body": [agent("a", "${loop.index}")],
    }
    run = Run(step).start().done("a[0]", "go").done("a[1]", "stop")
    assert run.outcome == ("completed", ["go", "stop"])
    never = Run({**step, "while": "${false}"}).start()
    assert never.outcome == ("completed", [])


def test_while_in_a_loop_sees_the_loop_around() -> None:
    inner = {
        "name": "i",
        "type": "loop",
        "while": "${loop.index < loop.parent.item}",
        "body": [agent("a")],
    }
    run = (
        Run({"name": "o", "type": "loop", "over": [1, 0], "body": [inner]})
        .start()
        .done("a[0][0]", 1)
    )
    assert run.outcome == ("completed", [[1], []])
    inner["while"] = "${loop.index < loop.parent.index}"
    run = (
        Run({"name": "o", "type": "loop", "over": [1, 0], "body": [inner]})
        .start()
        .done("a[1][0]", 1)
    )
    assert run.outcome == ("completed", [[], [1]])


@pytest.mark.parametrize(
    ("condition", "code"),
    [("${loop.index}", "expression_failed"), ("${true}", "too_many_iterations")],
)
def test_a_while_that_goes_wrong_fails_the_loop(condition: str, code: str) -> None:
    step = {
        "name": "l",
        "type": "loop",
        "while": condition,
        "max_iterations": 1,
        "body": [agent("a")],
    }
    run = Run(step).start()
    assert run.done("a[0]").outcome == ("failed", code)


def test_what_is_no_list_or_too_long_is_no_loop() -> None:
    assert Run(loop()).start("abc").state.error == Failure(
        "not_a_list", "over is a text, no list", "l"
    )
    assert Run(loop(max_iterations=2)).start([1, 2, 3]).state.error == Failure(
        "too_many_iterations", "3 rounds are over max_iterations, which is 2", "l"
    )


def test_a_failed_round_stops_the_loop() -> None:
    run = Run(loop()).start([1, 2]).fail("a[0]", "x")
    assert run.state.error == Failure("x", "it broke", "a[0]")
    run = Run(loop(mode="parallel")).start([1, 2, 3]).fail("a[1]", "x")
    assert run.outcome == ("failed", "x")
    assert run.tasks[3:] == ["CancelTask a[0]", "CancelTask a[2]"]


def test_a_failed_round_may_be_null_or_collected() -> None:
    run = Run(loop(on_error="continue")).start([1, 2]).fail("a[0]").done("a[1]", 2)
    assert run.outcome == ("completed", [None, 2])
    run = Run(loop(on_error="collect", mode="parallel")).start([1, 2]).fail("a[0]").done("a[1]", 2)
    error = {"code": "broken", "message": "it broke", "step": "a[0]", "details": None}
    assert run.outcome == (
        "completed",
        [
            {"status": "failed", "output": None, "error": error},
            {"status": "completed", "output": 2, "error": None},
        ],
    )
    step = {
        "name": "l",
        "type": "loop",
        "while": "${loop.index < 2}",
        "on_error": "continue",
        "body": [agent("a")],
    }
    assert Run(step).start().fail("a[0]").done("a[1]", 2).outcome == ("completed", [None, 2])


def test_a_loop_that_cannot_start_fails_whatever_it_does_about_rounds() -> None:
    assert Run(loop(on_error="continue"), agent("z")).start(5).outcome == ("failed", "not_a_list")


def test_the_output_of_a_loop_has_a_limit() -> None:
    run = Run(loop()).start([1, 2]).done("a[0]", "x" * 600_000).done("a[1]", "x" * 600_000)
    assert run.outcome == ("failed", "output_too_large")
    step = {"name": "l", "type": "loop", "while": "${loop.index < 2}", "body": [agent("a")]}
    run = Run(step).start().done("a[0]", "x" * 600_000).done("a[1]", "x" * 600_000)
    assert run.outcome == ("failed", "output_too_large")


# Waits


def test_a_signal_is_waited_for() -> None:
    run = Run(wait("w", signal="go")).start()
    assert (run.state.status, run.state.next_timer) == ("waiting", None)
    assert run.signal("stop", 1).state.status == "waiting"
    assert run.signal("go", {"x": 2}).outcome == ("completed", {"x": 2})


def test_signals_are_kept_in_order_and_taken_once() -> None:
    run = Run(wait("v", signal="go"), agent("a"), wait("w", signal="go"), wait("x", signal="go"))
    run.start().signal("go", 1, id="one").signal("go", 2, id="two").signal("go", 9, id="one")
    assert run.state.ignored == 1
    run.done("a")
    assert run.state.status == "waiting"
    run.signal("go", 3)
    assert [run.state.steps[key].output for key in "vwx"] == [1, 2, 3]
    assert run.state.signals == {}


def test_signals_that_came_early_are_taken_one_by_one() -> None:
    run = Run(agent("a"), wait("v", signal="go"), wait("w", signal="go")).start()
    run.signal("go", 1).signal("go", 2).done("a")
    assert [run.state.steps[key].output for key in "vw"] == [1, 2]


def test_one_signal_is_for_one_of_those_who_wait() -> None:
    run = Run(
        {
            "name": "p",
            "type": "parallel",
            "branches": {"x": [wait("v", signal="go")], "y": [wait("w", signal="go")]},
        }
    )
    run.start().signal("go", 1)
    assert run.statuses == {"p": "running", "v": "completed", "w": "waiting"}
    assert run.signal("go", 2).outcome == ("completed", {"x": 1, "y": 2})
    race = Run(
        {
            "name": "p",
            "type": "parallel",
            "join": "any",
            "branches": {
                "x": [agent("a")],
                "y": [wait("w", signal="go")],
                "z": [wait("v", signal="go")],
            },
        }
    )
    race.start().done("a", 1)
    assert race.state.waiters == {}


def test_a_signal_that_is_too_large_is_refused() -> None:
    run = Run(wait("w", signal="go")).start()
    with pytest.raises(RefusedError, match="a payload of 2,000,002 bytes is over the limit"):
        run.signal("go", "y" * 2_000_000)
    assert run.state.status == "waiting"


def test_an_approval_says_who_and_why() -> None:
    run = Run(wait("w", approval={"by": ["admin"], "timeout": 60}, timeout=90)).start()
    assert run.commands == [RequestApproval(task="w", step="w", by=("admin",), deadline=60.0)]
    assert run.approve("w", "fine").outcome == (
        "completed",
        {"approved": True, "by": "ann", "reason": "fine"},
    )


def test_a_rejection_fails_the_step() -> None:
    run = Run(wait("w", approval={"by": ["admin"]})).start().approve("w", "no", approved=False)
    assert run.state.error == Failure(
        "rejected", "ann rejected it: no", "w", {"approved": False, "by": "ann", "reason": "no"}
    )
    run = Run(wait("w", approval={"by": ["admin"]})).start().approve("w", approved=False)
    assert run.state.error is not None
    assert run.state.error.message == "ann rejected it"


SHOWN = {"by": ["admin"], "message": "Publish ${steps.a.output.name}?", "data": "${steps.a.output}"}


@pytest.mark.req("W-18")
def test_who_is_to_decide_is_shown_a_message_and_data_as_long_as_they_are_asked() -> None:
    run = Run(agent("a"), wait("w", approval=SHOWN), agent("b")).start().done("a", {"name": "X"})
    shown = {"message": "Publish X?", "data": {"name": "X"}}
    [_, request] = run.commands
    assert isinstance(request, RequestApproval)
    assert (request.message, request.data) == ("Publish X?", {"name": "X"})
    step = run.state.steps["w"]
    size = run.state.steps["a"].size
    assert (step.shown, step.prompt, run.state.bytes) == (shown, None, size + step.size)
    run.approve("w")
    assert (run.state.steps["w"].shown, run.state.bytes) == (None, size)
    run = Run(agent("a"), wait("w", approval=SHOWN)).start().done("a", {"name": "X"}).cancel()
    assert (run.state.steps["w"].shown, run.state.bytes) == (None, size)
    assert run.retry().state.steps["w"].shown == shown
    run = Run(wait("w", approval={"by": ["admin"], "message": "${input}"})).start([1])
    assert run.state.steps["w"].shown == {"message": "[1]"}


@pytest.mark.req("W-18")
@pytest.mark.parametrize(
    ("input", "code"),
    [
        ("x" * 65_537, "data_too_large"),
        ("x" * 1_048_570, "data_too_large"),
        ("missing", "expression_failed"),
    ],
)
def test_what_is_shown_has_a_limit(input: str, code: str) -> None:
    data = "${input.name}" if input == "missing" else "${input}"
    run = Run(wait("w", approval={"by": ["admin"], "data": data})).start(input)
    assert run.outcome == ("failed", code)


def test_an_approval_has_its_time() -> None:
    run = Run(wait("w", approval={"by": ["admin"], "timeout": 60})).start().later(59.9)
    assert (run.state.status, run.state.next_timer) == ("waiting", 60.0)
    assert run.later(0.1).state.error == Failure(
        "timeout", "w was not done after 60.000 seconds", "w"
    )


def test_waits_for_some_time_and_until_a_time() -> None:
    run = Run(wait("v", **{"for": 5}), wait("w", until="1970-01-01T00:00:10Z")).start()
    assert run.later(5).state.next_timer == 10.0
    assert run.later(5).outcome == ("completed", None)
    run = Run(wait("v", **{"for": "${input.s}"}), wait("w", until="${input.t}"))
    run.start({"s": 1.5, "t": "1970-01-01T01:00:00+01:00"}).later(1.5)
    assert run.outcome == ("completed", None)


@pytest.mark.parametrize(
    ("step", "value", "message"),
    [
        (wait("w", **{"for": "${input}"}), -1, "for is -1, no number of seconds"),
        (wait("w", **{"for": "${input}"}), "x", "for is x, no number of seconds"),
        (wait("w", until="${input}"), "x", "until is x, no time"),
        (wait("w", until="${input}"), 5, "until is 5, no time"),
    ],
)
def test_times_that_are_none_fail_the_step(step: dict[str, Any], value: Any, message: str) -> None:
    error = Run(step).start(value).state.error
    assert error is not None
    assert error.message == message


def test_an_agent_that_needs_input_gets_it_by_a_signal() -> None:
    run = Run(agent("a")).start().ask("a", "which?").ask("a", "which?")
    assert (run.state.status, run.state.steps["a"].prompt, run.state.ignored) == (
        "waiting",
        "which?",
        1,
    )
    run.commands.clear()
    run.signal("a", "this one")
    assert run.commands == [ContinueTask(task="a", payload="this one")]
    assert (run.state.status, run.state.steps["a"].prompt) == ("running", None)
    assert run.done("a", 1).outcome == ("completed", 1)


def test_input_for_an_agent_may_come_early_or_too_late() -> None:
    run = Run(agent("a"), agent("b")).start().signal("a", 1).ask("a", "x" * 2_000_000)
    assert run.tasks == ["CallAgent a", "ContinueTask a"]
    run.ask("a").record(SignalReceived(at=0.0, name="a", id="x", payload=2))
    run.record(TaskSucceeded(at=0.0, task="a")).decide()
    assert run.tasks == ["CallAgent b"]
    assert run.ask("b").done("b", 1).outcome == ("completed", 1)


# Failures


def test_a_failure_may_be_passed_over() -> None:
    run = Run(
        agent("a", on_error="continue"), agent("b", ["${steps.a.output}", "${steps.a.error.code}"])
    )
    run.start().fail("a", attempts=3)
    assert run.commands[1].input == [None, "broken"]  # type: ignore[union-attr]
    assert run.state.steps["a"].attempts == 3


def test_a_failure_has_its_handler() -> None:
    run = Run(
        agent("a", on_error=[agent("h", "${error.code}: ${error.message} in ${error.step}")]),
        agent("b"),
    )
    run.start().fail("a", "x")
    assert run.commands[1].input == "x: it broke in a"  # type: ignore[union-attr]
    assert run.done("h").done("b", 1).outcome == ("completed", 1)


def test_a_failed_handler_fails_what_is_around() -> None:
    run = Run(agent("a", on_error=[agent("h")])).start().fail("a", "x").fail("h", "y")
    assert run.outcome == ("failed", "y")


def test_handlers_inside_handlers_see_the_nearest_error() -> None:
    inner = {
        "name": "c",
        "type": "condition",
        "if": "${true}",
        "then": [agent("h", "${error.code}", on_error=[agent("i", "${error.code}")])],
    }
    run = Run(agent("a", on_error=[inner])).start().fail("a", "x").fail("h", "y")
    assert [command.input for command in run.commands[1:]] == ["x", "y"]  # type: ignore[union-attr]


def test_the_workflows_handler_runs_and_the_run_is_failed_all_the_same() -> None:
    run = Run(agent("a"), on_error=[agent("h", "${error.code}")]).start().fail("a", "x")
    assert run.state.status == "running"
    assert run.commands[1].input == "x"  # type: ignore[union-attr]
    assert run.done("h").outcome == ("failed", "x")
    assert Run(agent("a"), on_error=[agent("h")]).start().fail("a", "x").fail("h").outcome == (
        "failed",
        "x",
    )


def test_the_step_that_failed_is_named_through_everything_around() -> None:
    inside = {"name": "c", "type": "condition", "if": "${true}", "then": [agent("a")]}
    run = (
        Run({"name": "l", "type": "loop", "over": [1], "body": [inside]}).start().fail("a[0]", "x")
    )
    assert run.state.error == Failure("x", "it broke", "a[0]")
    assert run.statuses == {"l": "failed", "c[0]": "failed", "a[0]": "failed"}


def test_details_of_a_failure_are_bounded() -> None:
    run = Run(agent("a")).start()
    error = Failure("c" * 9_000, "m" * 9_000, "", "d" * 2_000_000)
    run.arrive(TaskFailed(at=0.0, task="a", error=error))
    assert run.state.error == Failure("c" * 4_000, "m" * 4_000, "a")


# Timeouts


def test_a_task_that_takes_too_long_is_cancelled() -> None:
    run = Run(agent("a", timeout=5, on_error="continue"), agent("b")).start().later(5)
    assert run.tasks == ["CallAgent a", "CancelTask a", "CallAgent b"]
    assert run.state.steps["a"].error == Failure(
        "timeout", "a was not done after 5.000 seconds", "a"
    )
    assert run.done("a", "late").state.ignored == 1


def test_a_step_with_steps_inside_has_its_time_too() -> None:
    run = Run(loop(mode="parallel", timeout=5)).start([1, 2]).done("a[0]").later(5)
    assert run.outcome == ("failed", "timeout")
    assert run.tasks[2:] == ["CancelTask a[1]"]
    waiting = Run(
        {"name": "p", "type": "parallel", "timeout": 1, "branches": {"x": [wait("w", signal="s")]}}
    )
    assert waiting.start().later(1).outcome == ("failed", "timeout")


def test_of_several_timers_the_first_fires_first() -> None:
    run = Run(
        {
            "name": "p",
            "type": "parallel",
            "join": "any",
            "branches": {"x": [wait("v", **{"for": 9})], "y": [wait("w", **{"for": 4})]},
        }
    )
    assert run.start().later(20).outcome == ("completed", {"x": None, "y": None})
    fired = [event.key for event in run.history if isinstance(event, TimerFired)]
    assert fired == ["w"]


# People


def test_a_paused_run_starts_nothing_and_keeps_what_arrives() -> None:
    run = Run(agent("a", timeout=5), agent("b")).start().pause().done("a", 1)
    assert (run.state.status, run.tasks, run.state.next_timer) == ("paused", ["CallAgent a"], None)
    assert run.later(100).tasks == []
    assert run.resume().tasks == ["CallAgent b"]
    assert run.done("b", 2).outcome == ("completed", 2)


def test_a_timer_that_was_due_in_a_pause_fires_after_it() -> None:
    run = Run(wait("w", **{"for": 5})).start().pause().later(10)
    assert run.state.status == "paused"
    assert run.resume().outcome == ("completed", None)


def test_cancelling_ends_everything_at_once() -> None:
    run = Run(branches(), on_error=[agent("h")]).start().done("a", 1).pause().cancel("enough")
    assert run.outcome == ("cancelled", "cancelled")
    assert run.state.error == Failure("cancelled", "cancelled by ann: enough")
    assert run.tasks[3:] == ["CancelTask b", "CancelTask c"]
    assert (run.state.busy, run.state.idle, run.state.deadlines) == (0, 0, {})


def test_a_long_decision_comes_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "MAX_DECISION_EVENTS", 3)
    run = Run(loop(mode="parallel")).start([1, 2, 3, 4, 5])
    assert len(run.tasks) == 5
    for index in range(5):
        run.done(f"a[{index}]", index)
    assert run.outcome == ("completed", [0, 1, 2, 3, 4])


# Retrying


def test_a_run_goes_on_from_a_step() -> None:
    run = (
        Run(agent("a"), agent("b", "${steps.a.output}"), agent("c")).start().done("a", 1).fail("b")
    )
    run.commands.clear()
    run.retry("b")
    assert [(c.task, c.input) for c in run.commands] == [("b@2", 1)]  # type: ignore[union-attr]
    assert run.done("b", "late").state.ignored == 1
    assert run.done("b@2", 2).done("c@2", 3).outcome == ("completed", 3)


def test_a_retry_from_an_earlier_step_forgets_what_came_after() -> None:
    run = Run(agent("a"), agent("b"), agent("c", "${steps.a.output}"), on_error=[agent("h")])
    run.start().done("a", "x" * 10).done("b", 2).fail("c").done("h")
    run.commands.clear()
    run.retry("a")
    assert (run.tasks, run.statuses, run.state.bytes) == (["CallAgent a@2"], {"a": "running"}, 0)
    assert run.done("a@2", 5).done("b@2").done("c@2", 6).outcome == ("completed", 6)


def test_a_cancelled_run_goes_on_with_all_its_branches() -> None:
    run = Run(branches(timeout=50), agent("z")).start().done("a", 1).cancel()
    run.commands.clear()
    run.retry("b")
    assert run.tasks == ["CallAgent b@2", "CallAgent c@2"]
    assert run.state.deadlines["p"] == 50.0
    run.done("b@2", 2).done("c@2", 3).done("z@2", 4)
    assert run.outcome == ("completed", 4)
    assert run.state.steps["a"].output == 1


def test_a_failed_join_goes_on_with_the_branches_that_failed() -> None:
    step = branches("all", on_error=[agent("h")])
    run = Run(step, agent("z")).start().done("a", 1).fail("b").done("h").fail("z")
    run.commands.clear()
    run.retry("b")
    assert run.tasks == ["CallAgent b@2", "CallAgent c@2"]
    assert run.statuses == {"p": "running", "a": "completed", "b": "running", "c": "running"}
    assert run.done("c@2", 3).done("b@2", 2).done("z@2", 4).outcome == ("completed", 4)


def test_a_loop_goes_on_from_a_round() -> None:
    run = Run(loop(on_error="continue"), agent("z")).start([1, 2, 3]).fail("a[0]").done("a[1]", 2)
    run.done("a[2]", 3).fail("z")
    run.retry("a[1]").done("a[1]@2", "two")
    assert run.done("z@2", 1).state.steps["l"].status == "completed"
    run = Run(loop()).start([1, 2]).done("a[0]", 1).fail("a[1]").retry("a[1]").done("a[1]@2", 2)
    assert run.outcome == ("completed", [1, 2])
    inside = {"name": "c", "type": "condition", "if": "${true}", "then": [agent("a")]}
    step = {"name": "l", "type": "loop", "while": "${loop.index < 2}", "body": [inside]}
    run = Run(step).start().done("a[0]", 1).fail("a[1]").retry("a[1]").done("a[1]@2", 2)
    assert run.outcome == ("completed", [1, 2])


def test_a_handler_goes_on_from_its_step() -> None:
    run = Run(agent("a", on_error=[agent("g"), agent("h", "${error.code}")]), agent("z"))
    run.start().fail("a", "x").done("g").fail("h")
    run.commands.clear()
    run.retry("h")
    assert run.commands[0].input == "x"  # type: ignore[union-attr]
    assert run.done("h@2").done("z@2", 1).outcome == ("completed", 1)


def test_what_cannot_be_retried_is_ignored() -> None:
    run = Run(
        agent("a"),
        on_error=[{"name": "c", "type": "condition", "if": "${true}", "then": [agent("h")]}],
    )
    run.start().retry("a").fail("a").fail("h").retry("h").retry("zzz")
    assert (run.outcome, run.state.ignored) == (("failed", "broken"), 3)


def test_what_was_inside_steps_is_forgotten_with_them() -> None:
    inside = {
        "name": "c",
        "type": "condition",
        "if": "${true}",
        "then": [agent("b", on_error=[agent("h")])],
    }
    never = {"name": "n", "type": "condition", "if": "${false}", "then": [agent("m")]}
    run = Run(agent("a"), never, loop(over=[1, 2], body=[inside])).start().done("a", 1)
    run.fail("b[0]").done("h[0]").cancel()
    assert run.statuses["c[1]"] == "cancelled"
    run.retry("a")
    assert (list(run.state.steps), list(run.state.frames)) == (["a"], ["/main"])
