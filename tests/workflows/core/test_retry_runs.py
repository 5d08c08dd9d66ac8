"""Retries continue what did not complete, and nothing that completed runs again unnamed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from msgspec import json

from accord.workflows.core import state as states
from accord.workflows.core.decisions import decide
from accord.workflows.core.definition import Definition
from accord.workflows.core.errors import NewerSchemaError
from accord.workflows.core.events import (
    ApprovalGiven,
    Arrival,
    CallAgent,
    CallOperation,
    CancelChild,
    CancelRequested,
    CancelTask,
    Command,
    ContinueTask,
    Event,
    PauseRequested,
    RequestApproval,
    ResumeRequested,
    RetryRequested,
    RunStarted,
    SignalReceived,
    StartChild,
    TaskAsked,
    TaskFailed,
    TaskSucceeded,
    decode_event,
    encode_event,
)
from accord.workflows.core.machine import fold, receive
from accord.workflows.core.program import asks_approval, compile_program, is_task
from accord.workflows.core.reading import read_definition
from accord.workflows.core.retry import will_restart
from accord.workflows.core.state import FINAL, Failure, State, decode_state, encode_state
from tests.workflows.core.any_definition import Generated, generated
from tests.workflows.core.recorded import FOLDER
from tests.workflows.core.run import Run, agent, wait

RETRIED = sorted((FOLDER / "retried").glob("*.jsonl"))
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


def calls(run: Run) -> list[tuple[str, str]]:
    """The tasks that were asked for since somebody looked, and the calls that they repeat."""
    return [
        (each.task, each.resumes)
        for each in run.commands
        if isinstance(each, CallAgent | CallOperation | StartChild | CancelChild)
    ]


def parallel(join: Any = "all", **more: Any) -> dict[str, Any]:
    branches = {name: [agent(name)] for name in ("a", "b", "c")}
    return {"name": "p", "type": "parallel", "join": join, "branches": branches, **more}


def loop(**more: Any) -> dict[str, Any]:
    over = {} if "while" in more else {"over": [1, 2, 3]}
    body = [agent("a"), agent("b")]
    return {"name": "l", "type": "loop", "body": body, **over, **more}


# Histories of earlier releases


@pytest.mark.req("W-15")
@pytest.mark.parametrize("path", RETRIED, ids=lambda path: path.stem)
def test_retries_in_histories_of_earlier_releases_mean_what_they_meant(path: Path) -> None:
    first, *events, state = path.read_bytes().splitlines()
    program = compile_program(json.decode(first, type=Definition))
    history = [decode_event(line) for line in events]
    assert any(isinstance(each, RetryRequested) for each in history)
    assert fold(program, history) == decode_state(state)


@pytest.mark.req("W-15")
def test_an_older_executor_leaves_retries_alone_and_the_states_after_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Run(agent("a"), agent("b")).start().done("a", 1).fail("b").retry()
    event = encode_event(run.history[-2])
    snapshot = encode_state(run.state)
    before = encode_state(Run(agent("a")).start().state)
    monkeypatch.setattr(states, "SCHEMA", 1)
    for decode, data in ((decode_event, event), (decode_state, snapshot)):
        with pytest.raises(NewerSchemaError):
            decode(data)
    assert decode_state(before).schema == 1


# What goes on


@pytest.mark.req("W-15")
def test_only_the_output_is_made_again_where_only_that_failed() -> None:
    run = Run(agent("a"), agent("b"), agent("c"), output="${steps.c.output.x}")
    run.start().done("a", 1).done("b", 2).done("c", "text")
    assert run.outcome == ("failed", "expression_failed")
    run.commands.clear()
    assert run.retry().outcome == ("failed", "expression_failed")
    assert run.commands == []
    assert run.retry("c").done("c@3", {"x": 3}).outcome == ("completed", 3)
    assert calls(run) == [("c@3", "")]


@pytest.mark.req("W-15")
def test_a_failure_that_was_tolerated_stays_as_it_is() -> None:
    run = Run(agent("a", on_error="continue"), agent("charge"), agent("c"))
    run.start().fail("a").done("charge", 1).cancel()
    run.commands.clear()
    run.retry()
    assert calls(run) == [("c@2", "c")]
    assert run.done("c@2", 3).outcome == ("completed", 3)
    assert run.statuses == {"a": "failed", "charge": "completed", "c": "completed"}


@pytest.mark.req("W-15")
def test_the_losers_of_a_race_that_was_won_stay_out_of_it() -> None:
    run = Run(parallel("any"), agent("z")).start().done("a", 1).cancel()
    run.commands.clear()
    run.retry()
    assert calls(run) == [("z@2", "z")]
    assert run.done("z@2", 4).outcome == ("completed", 4)


@pytest.mark.req("W-15")
def test_a_race_that_was_won_while_the_run_was_paused_is_over() -> None:
    run = Run(parallel("any"), agent("z")).start().pause().done("a", 1).cancel()
    run.commands.clear()
    run.retry()
    assert calls(run) == [("z@2", "")]


@pytest.mark.req("W-15")
def test_all_branches_that_did_not_complete_go_on_inside_each_other() -> None:
    inner = {"name": "i", "type": "loop", "over": [1, 2, 3], "body": [agent("d"), agent("e")]}
    branches = {"x": [agent("x1"), inner], "y": [agent("y1"), agent("y2")], "z": [agent("z1")]}
    run = Run({"name": "p", "type": "parallel", "branches": branches, "timeout": 60}, agent("end2"))
    run.start().done("x1").done("d[0]").done("e[0]").done("d[1]").done("y1").done("z1")
    run.later(5).fail("e[1]")
    run.commands.clear()
    run.retry()
    assert calls(run) == [("e[1]@2", ""), ("y2@2", "y2")]
    assert run.state.deadlines["p"] == 65.0
    run.done("e[1]@2").done("y2@2").done("d[2]@2").done("e[2]@2").done("end2@2", 1)
    assert run.outcome == ("completed", 1)


@pytest.mark.req("W-15")
def test_branches_go_on_as_many_at_once_as_the_step_allows() -> None:
    names = ("a", "b", "c", "d", "e")
    branches = {name: [agent(name)] for name in names}
    step = {"name": "p", "type": "parallel", "join": 3, "max_parallelism": 2, "branches": branches}
    run = Run(step).start().done("a", 1).fail("b").fail("c").fail("d")
    assert run.outcome == ("failed", "join_failed")
    run.commands.clear()
    run.retry()
    assert calls(run) == [("b@2", ""), ("c@2", "")]
    run.fail("b@2")
    assert calls(run) == [("d@2", "")]
    run.done("d@2")
    assert calls(run) == [("e@2", "e")]
    assert run.done("c@2").outcome == (
        "completed",
        {"a": 1, "b": None, "c": None, "d": None, "e": None},
    )


@pytest.mark.req("W-15")
def test_branches_that_wait_for_room_are_settled_with_their_step() -> None:
    run = Run(parallel("any", max_parallelism=1), agent("z"))
    run.start().fail("a").fail("b").fail("c").retry()
    run.commands.clear()
    assert run.done("a@2", 1).statuses["p"] == "completed"
    assert calls(run) == [("z@2", "")]
    assert run.statuses["b"] == "failed"
    # Again: what waits is taken from what is there, whatever waited before.
    run = Run(parallel("any", max_parallelism=1), agent("z"))
    run.start().fail("a").fail("b").fail("c").retry().cancel().retry()
    assert run.tasks[-1] == "CallAgent a@3"
    run.fail("a@3").fail("b@3").done("c@3").done("z@3", 1)
    assert run.outcome == ("completed", 1)


@pytest.mark.req("W-15")
def test_rounds_go_on_where_they_were() -> None:
    run = Run(loop(), agent("z")).start().done("a[0]").done("b[0]").done("a[1]").fail("b[1]")
    run.commands.clear()
    run.retry()
    assert calls(run) == [("b[1]@2", "")]
    run.done("b[1]@2").done("a[2]@2").done("b[2]@2").done("z@2", 1)
    assert run.outcome == ("completed", 1)


@pytest.mark.req("W-15")
@pytest.mark.parametrize("on_error", ["continue", "collect"])
def test_rounds_that_a_tolerant_loop_gave_up_stay_given_up(on_error: str) -> None:
    run = Run(loop(on_error=on_error, mode="parallel"), agent("z"))
    run.start().fail("a[0]").done("a[1]").cancel()
    run.commands.clear()
    run.retry()
    assert calls(run) == [("b[1]@2", "b[1]"), ("a[2]@2", "a[2]")]
    run.done("b[1]@2").done("a[2]@2").done("b[2]@2").done("z@2", 1)
    assert run.outcome == ("completed", 1)


@pytest.mark.req("W-15")
def test_a_while_loop_goes_on_in_its_round_or_with_the_question_for_the_next() -> None:
    step = loop(**{"while": "${loop.index < 2}"})
    run = Run(step).start().done("a[0]").cancel()
    run.commands.clear()
    run.retry()
    assert calls(run) == [("b[0]@2", "b[0]")]
    run.done("b[0]@2").done("a[1]@2").done("b[1]@2", 5)
    assert run.outcome == ("completed", [None, 5])
    step = loop(**{"while": "${steps.b.output.more}"})
    run = Run(step).start()
    assert run.outcome == ("failed", "expression_failed")
    run = Run(loop(**{"while": "${loop.index == 0 || steps.b.output.more}"}))
    run.start().done("a[0]").done("b[0]", "text")
    assert run.outcome == ("failed", "expression_failed")
    run.commands.clear()
    assert run.retry().outcome == ("failed", "expression_failed")
    assert run.commands == []


@pytest.mark.req("W-15")
def test_a_loop_whose_items_could_not_be_made_starts_again() -> None:
    run = Run(agent("x"), {**loop(), "over": "${steps.x.output}"}).start().done("x", "no list")
    assert run.outcome == ("failed", "not_a_list")
    assert run.retry().outcome == ("failed", "not_a_list")
    assert run.retry("x").done("x@3", []).outcome == ("completed", [])


@pytest.mark.req("W-15")
def test_a_choice_that_was_made_stays_made() -> None:
    step = {"name": "c", "type": "condition", "if": "${true}", "then": [agent("a"), agent("b")]}
    run = Run(step).start().done("a").fail("b")
    run.commands.clear()
    run.retry()
    assert calls(run) == [("b@2", "")]
    assert run.done("b@2", 1).outcome == ("completed", 1)
    wrong = {**step, "if": "${steps.x.output}"}
    run = Run(agent("x"), wrong).start().done("x", "no truth")
    assert run.outcome == ("failed", "expression_failed")
    assert run.retry().outcome == ("failed", "expression_failed")


@pytest.mark.req("W-15")
def test_an_approval_that_was_given_stays_given() -> None:
    ask = wait("ok", approval={"by": ["ann"]})
    run = Run(ask, agent("b"), wait("more", approval={"by": ["bob"]}))
    run.start().approve("ok", "yes").fail("b").retry()
    run.commands.clear()
    run.done("b@2").approve("more@2", approved=False)
    assert run.outcome == ("failed", "rejected")
    assert run.tasks == ["RequestApproval more@2"]
    run.retry().approve("more@3")
    assert run.state.status == "completed"
    assert run.tasks == ["RequestApproval more@3"]


@pytest.mark.req("W-15")
def test_signals_that_were_taken_stay_taken_and_waits_wait_again() -> None:
    run = Run(wait("one", signal="go"), wait("two", signal="go"), wait("t", **{"for": 10}))
    run.start().signal("go", 1).cancel()
    assert run.retry().statuses == {"one": "completed", "two": "waiting"}
    run.signal("go", 2).later(4).cancel().retry().later(9)
    assert run.state.status == "waiting"
    assert run.later(1).state.status == "completed"


@pytest.mark.req("W-15")
def test_a_handler_goes_on_and_what_it_handles_does_not() -> None:
    run = Run(agent("a", on_error=[agent("g"), agent("h")]), agent("z"))
    run.start().fail("a").done("g").cancel()
    run.commands.clear()
    run.retry()
    assert calls(run) == [("h@2", "h")]
    run.fail("h@2").retry()
    assert calls(run) == [("h@3", "")]
    assert run.done("h@3").done("z@3", 1).outcome == ("completed", 1)


@pytest.mark.req("W-15")
def test_what_the_handler_of_the_workflow_did_it_does_not_do_twice() -> None:
    run = Run(agent("a"), agent("b"), on_error=[agent("refund"), agent("tell")])
    run.start().done("a").fail("b").done("refund").fail("tell")
    run.commands.clear()
    run.retry().fail("b@2")
    assert calls(run) == [("b@2", ""), ("tell@2", "")]
    run.done("tell@2").retry().fail("b@3")
    assert run.outcome == ("failed", "broken")
    assert calls(run) == [("b@3", "")]
    # What is named runs again, and so does what is to undo it.
    run.retry("a").done("a@4").fail("b@4")
    assert calls(run) == [("a@4", ""), ("b@4", ""), ("refund@4", "")]


@pytest.mark.req("W-15")
def test_a_step_that_is_named_runs_again_with_what_depends_on_it_and_nothing_else() -> None:
    inner = {"name": "i", "type": "loop", "over": [1, 2], "body": [agent("d"), agent("e")]}
    branches = {"x": [agent("x1"), agent("x2")], "y": [agent("y1"), inner]}
    run = Run(
        agent("a"), {"name": "p", "type": "parallel", "branches": branches}, agent("z"), agent("w2")
    )
    run.start().done("a").done("x1").done("x2").done("y1").done("d[0]").done("e[0]").fail("d[1]")
    run.commands.clear()
    run.retry("x1")
    assert calls(run) == [("x1@2", ""), ("d[1]@2", "")]
    run.done("x1@2").done("x2@2").done("d[1]@2").done("e[1]@2").done("z@2").fail("w2@2")
    run.commands.clear()
    run.retry("e[0]")
    assert calls(run) == [("e[0]@3", "")]
    run.done("e[0]@3").done("z@3").done("w2@3", 1)
    assert run.outcome == ("completed", 1)


@pytest.mark.req("W-15")
def test_a_step_can_be_named_that_the_run_got_over() -> None:
    run = Run(agent("a", on_error=[agent("h")]), agent("b")).start().fail("a").done("h").fail("b")
    run.commands.clear()
    run.retry("a")
    assert calls(run) == [("a@2", "")]
    assert run.statuses == {"a": "running"}
    run = Run(parallel("any"), agent("z")).start().done("a", 1).fail("z")
    run.commands.clear()
    run.retry("c")
    assert calls(run) == [("c@2", "c")]
    assert run.statuses["p"] == "running"
    assert run.done("c@2").done("z@2", 2).outcome == ("completed", 2)
    run = Run(loop(on_error="collect")).start()
    run.fail("a[0]").fail("a[1]").done("a[2]").cancel()
    run.commands.clear()
    run.retry("a[1]")
    assert calls(run) == [("a[1]@2", "")]
    run.done("a[1]@2").done("b[1]@2")
    assert calls(run) == [("b[1]@2", ""), ("b[2]@2", "b[2]")]
    run = Run(parallel(on_error=[agent("h")]), agent("z")).start().fail("a").done("h").fail("z")
    run.retry("b").done("b@2").done("c@2").done("a@2").done("z@2", 1)
    assert run.outcome == ("completed", 1)


@pytest.mark.req("W-15")
def test_named_rounds_of_a_while_loop_run_one_after_the_other() -> None:
    run = Run(loop(**{"while": "${loop.index < 3}"})).start()
    run.done("a[0]").done("b[0]").done("a[1]").fail("b[1]").retry("a[0]")
    run.commands.clear()
    run.done("a[0]@2").done("b[0]@2")
    assert calls(run) == [("b[0]@2", ""), ("b[1]@2", "")]
    run.done("b[1]@2").done("a[2]@2").done("b[2]@2")
    assert run.state.status == "completed"


# Calls of unknown outcome, and children


@pytest.mark.req("W-15")
def test_a_call_of_unknown_outcome_is_repeated_as_the_same_call() -> None:
    operation = {"name": "o", "type": "call", "operation": "create_epic"}
    run = Run(agent("a"), operation).start().cancel().retry().cancel().retry()
    assert calls(run) == [("a", ""), ("a@2", "a"), ("a@3", "a")]
    run.fail("a@3").retry()
    assert calls(run) == [("a@4", "")]
    unknown = TaskFailed(at=0.0, task="a@4", error=Failure("gone", "away", unknown=True))
    run.arrive(unknown).retry()
    assert calls(run) == [("a@5", "a@4")]
    run.done("a@5").cancel().retry()
    assert calls(run) == [("o@5", ""), ("o@6", "o@5")]


@pytest.mark.req("W-15")
def test_a_call_that_took_too_long_is_of_unknown_outcome() -> None:
    run = Run(agent("a", timeout=5)).start().later(5)
    assert run.outcome == ("failed", "timeout")
    run.retry()
    assert calls(run) == [("a", ""), ("a@2", "a")]
    # The agent's own word for its failure is none of ours.
    run.fail("a@2", "timeout").retry()
    assert calls(run) == [("a@3", "")]


@pytest.mark.req("W-15")
def test_a_call_that_is_not_begun_again_stays_of_unknown_outcome() -> None:
    step = agent("a", "${error.message}")
    run = Run(agent("x", on_error=[step])).start().fail("x").cancel()
    run.arrive(RetryRequested(at=0.0)).cancel()
    run.record(CancelRequested(at=0.0)).decide()
    run.retry()
    assert calls(run)[-1] == ("a@3", "a")
    state = run.state.steps["a"]
    assert (state.resumes, state.call) == ("a", "a")


def test_what_is_forgotten_is_not_repeated() -> None:
    run = Run(agent("a"), agent("b", "${steps.a.output}")).start().done("a", 1).cancel()
    run.record(RetryRequested(at=0.0)).record(CancelRequested(at=0.0)).decide()
    run.commands.clear()
    run.retry("a").done("a@3", 2)
    assert calls(run) == [("a@3", ""), ("b@3", "")]
    assert run.state.resumed == {}


@pytest.mark.req("W-15")
def test_a_step_that_cannot_start_any_more_keeps_the_call_that_it_repeats() -> None:
    run = Run(agent("a")).start().cancel().retry().cancel()
    step = run.state.steps["a"]
    step.status, step.error, step.attempts = "failed", Failure("expression_failed", "?"), 0
    run.state.frames["/main"].status = "failed"
    run.history.clear()
    before = decode_state(encode_state(run.state))
    receive(run.program, before, RetryRequested(at=0.0))
    assert before.resumed == {"a": "a"}


@pytest.mark.req("W-15")
def test_a_child_run_is_continued_and_not_started_again() -> None:
    child = {"name": "c", "type": "workflow", "workflow": "w"}
    run = Run(child, agent("z")).start().fail("c", "broken").retry().cancel().retry()
    assert calls(run) == [("c", ""), ("c@2", "c"), ("c@2", "c"), ("c@3", "c")]
    run.done("c@3").fail("z@3").retry("c")
    assert calls(run)[-1] == ("c@4", "")
    run.fail("c@4").retry("c")
    assert calls(run)[-1] == ("c@5", "c@4")


@pytest.mark.req("W-15")
def test_a_child_run_hears_which_task_waits_for_it_whatever_became_of_it() -> None:
    told = RetryRequested(at=0.0, parent_task="c@2")
    run = Run(agent("a")).start().arrive(told)
    assert (run.state.parent_task, run.state.status, run.state.ignored) == ("c@2", "running", 0)
    run.done("a", 1).arrive(RetryRequested(at=0.0, parent_task="c@3"))
    assert (run.state.parent_task, run.outcome) == ("c@3", ("completed", 1))
    run = Run(agent("a")).start().fail("a").arrive(told)
    assert (run.state.parent_task, run.tasks[-1]) == ("c@2", "CallAgent a@2")


def test_what_starts_again_is_known_before() -> None:
    branches = {name: [agent(name)] for name in ("a", "b", "c")}
    step = {"name": "p", "type": "parallel", "join": "any", "branches": branches}
    loose = agent("t", on_error="continue")
    run = Run(loose, {**step, "max_parallelism": 1}, agent("z"))
    run.start().fail("t").fail("a").fail("b").fail("c")
    restarted = [key for key in "tabcz" if will_restart(run.program, run.state, key)]
    assert restarted == ["a", "b", "c"]
    run.retry().done("a@2").fail("z@2")
    assert [key for key in "tabcz" if will_restart(run.program, run.state, key)] == ["z"]


# Any workflow, any failures, cancels and retries


@pytest.mark.req("W-15")
@settings(max_examples=100, deadline=None, suppress_health_check=SLOW)
@given(generated(), st.data())
def test_nothing_that_completed_is_asked_for_again(case: Generated, data: st.DataObject) -> None:
    run = _Retried(case, data)
    run.receive(RunStarted(at=0.0, input=case.input))
    for _ in range(data.draw(st.integers(0, 40))):
        run.something()
    run.end()


class _Retried:
    """A run that people cancel and retry while tasks of it succeed, fail or are never heard of."""

    def __init__(self, case: Generated, data: st.DataObject) -> None:
        self._program = compile_program(read_definition(case.definition))
        self._signals = case.signals
        self._data = data
        self._state = State()
        self._history: list[Event] = []
        self._now = 0.0
        self._count = 0
        self._completed: set[str] = set()
        """Keys of tasks and approvals that are done."""
        self._children: dict[str, str] = {}
        self._calls: dict[str, str] = {}
        """By key, the name of the call whose outcome nobody knows."""

    def something(self) -> None:
        self._now += self._data.draw(st.sampled_from([0.0, 0.5, 20.0]))
        for _ in range(self._data.draw(st.integers(1, 2))):
            self.receive(self._arrival())
        if self._data.draw(st.integers(0, 4)):
            self._decide()

    def receive(self, event: Arrival) -> None:
        active = {step.task for step in self._state.steps.values() if step.active}
        self._history.append(receive(self._program, self._state, event))
        if isinstance(event, TaskSucceeded | TaskFailed | ApprovalGiven) and event.task in active:
            key = event.task.partition("@")[0]
            if isinstance(event, TaskSucceeded) or getattr(event, "approved", False):
                self._completed.add(key)
            if not (isinstance(event, TaskFailed) and event.error.unknown):
                self._calls.pop(key, None)

    def _arrival(self) -> Arrival:
        at = self._now
        self._count += 1
        active = [step for step in self._state.steps.values() if step.active]
        waiting = [
            step
            for step in active
            if is_task(self._program.plans[step.name])
            or asks_approval(self._program.plans[step.name])
        ]
        kind = self._data.draw(st.integers(0, 14))
        if self._state.phase != "running" and kind < 10:
            return RetryRequested(at=at)
        if not waiting or kind > 12:
            others: list[Arrival] = [
                CancelRequested(at=at),
                PauseRequested(at=at),
                ResumeRequested(at=at),
                RetryRequested(at=at),
            ]
            others += [
                SignalReceived(at=at, name=name, id=str(self._count)) for name in self._signals
            ]
            return self._data.draw(st.sampled_from(others))
        step = self._data.draw(st.sampled_from(waiting))
        if asks_approval(self._program.plans[step.name]):
            return ApprovalGiven(at=at, task=step.task, approved=kind < 8, by="ann")
        if kind < 7:
            return TaskSucceeded(at=at, task=step.task, output=1)
        if kind == 7:
            return TaskAsked(at=at, task=step.task)
        error = Failure("broken", "it broke", unknown=kind == 8)
        return TaskFailed(at=at, task=step.task, error=error)

    def _decide(self) -> None:
        decision = decide(self._program, self._state, self._now)
        self._history.extend(decision.events)
        for command in decision.commands:
            self._judge(command)

    def _judge(self, command: Command) -> None:
        key = command.task.partition("@")[0]
        match command:
            case CancelTask() | ContinueTask():
                return
            case CancelChild():
                assert (command.resumes or command.task) == self._calls[key]
            case RequestApproval():
                assert key not in self._completed, f"{key} is asked for again"
            case StartChild() if key in self._children:
                assert command.resumes == self._children[key]
                self._calls[key] = command.resumes
            case _:
                assert key not in self._completed, f"{key} is called again"
                assert command.resumes == self._calls.get(key, "")
                self._calls.setdefault(key, command.task)
                if isinstance(command, StartChild):
                    self._children[key] = command.task

    def end(self) -> None:
        """Everybody succeeds from now on: the run completes, or fails for what its steps gave or
        for a time limit that is too short, each time it is retried."""
        retries = 0
        for turn in range(1_000):
            if self._state.phase == "completed" or (retries == 20 and self._state.phase in FINAL):
                break
            self._now = max(self._now, self._state.next_timer or self._now)
            self.receive(ResumeRequested(at=self._now))
            if self._state.phase != "running":
                retries += 1
                self.receive(RetryRequested(at=self._now))
            for name in self._signals:
                self.receive(SignalReceived(at=self._now, name=name, id=f"{name} {turn}"))
            self._decide()
            for step in [step for step in self._state.steps.values() if step.active]:
                plan = self._program.plans[step.name]
                if asks_approval(plan):
                    self.receive(
                        ApprovalGiven(at=self._now, task=step.task, approved=True, by="ann")
                    )
                elif is_task(plan):
                    self.receive(TaskSucceeded(at=self._now, task=step.task, output=1))
            self._decide()
        else:
            raise AssertionError("the run does not end")
        if self._state.phase != "completed":
            assert self._state.error is not None
            assert self._state.error.code in {*_HOPELESS, "join_failed"}
        assert fold(self._program, self._history) == self._state
        assert decode_state(encode_state(self._state)) == self._state
        assert (self._state.busy, self._state.idle, self._state.agenda) == (0, 0, [])


_HOPELESS = ("expression_failed", "not_a_list", "timeout")
