"""What pages of workflows are made of: graphs of definitions, states, forms, texts. No browser."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import msgspec
import pytest

from accord.operations.errors import InvalidError
from accord.web.formatting import parse
from accord.web.forms import Words
from accord.web.pages.workflows.definitions import (
    EXAMPLE,
    FAILED,
    as_json,
    as_yaml,
    described,
    in_line,
    line_of,
    outline,
    read,
    shown_value,
    without_version,
)
from accord.web.pages.workflows.inputs import InputField, fields_of, filled, value_of
from accord.web.pages.workflows.step_status import (
    SCALE,
    WHOLE,
    StepStatus,
    bars,
    clock,
    link_to,
    log_entry,
    waits_for,
)
from accord.workflows.core.errors import DefinitionError
from accord.workflows.core.reading import read_text
from accord.workflows.operations.run_views import Run, RunEvent, RunProblem, RunWait, Step
from accord.workflows.operations.runs import RunCall
from tests.web.workshop import REVIEW

pytestmark = pytest.mark.req("H-21")

PAUSE = {"type": "wait", "for": 1}


def lines(*steps: dict[str, Any], **more: Any) -> list[str]:
    """The lines of a definition with these steps, such as `a -> b (else)`."""
    found = outline(read({"name": "w", "steps": list(steps), **more}))
    return [
        f"{each.source} -> {each.target}{f' ({each.label})' if each.label else ''}"
        for each in found.edges
    ]


def pause(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, **PAUSE, **more}


# Definitions as graphs


def test_steps_follow_each_other() -> None:
    assert lines(pause("a"), pause("b"), pause("c")) == ["a -> b", "b -> c"]


def test_branches_follow_what_is_before_them_and_lead_to_their_join() -> None:
    both = {"name": "both", "type": "parallel", "branches": {"x": [pause("b")], "y": [pause("c")]}}
    assert lines(pause("a"), both, pause("d")) == [
        "a -> b",
        "a -> c",
        "b -> both",
        "c -> both",
        "both -> d",
    ]


def test_a_condition_leads_to_what_it_chooses_and_past_what_it_does_not() -> None:
    one = {"name": "if", "type": "condition", "if": "${true}", "then": [pause("b")]}
    assert lines(one, pause("c")) == ["if -> b (then)", "b -> c", "if -> c (else)"]
    many = {
        "name": "which",
        "type": "condition",
        "switch": "${input}",
        "cases": {"x": [pause("b")], "else": [pause("c")]},
        "default": [pause("d", next="end")],
    }
    assert lines(many, pause("e")) == [
        "which -> b (x)",
        "which -> c (else)",
        "which -> d (default)",
        "b -> e",
        "c -> e",
    ]


def test_a_loop_leads_back_and_on() -> None:
    loop = {"name": "each", "type": "loop", "over": [1], "body": [pause("b"), pause("c")]}
    assert lines(loop, pause("d")) == [
        "each -> b",
        "b -> c",
        "c -> each (next round)",
        "c -> d",
    ]


def test_jumps_lead_to_where_they_go() -> None:
    assert lines(pause("a", next="c"), pause("b"), pause("c")) == ["b -> c", "a -> c"]


def test_what_runs_after_failures_hangs_on_dashed_lines() -> None:
    step = pause("a", on_error=[pause("mend")])
    definition = {"name": "w", "steps": [step, pause("b")], "on_error": [pause("tell")]}
    found = outline(read(definition))
    assert [(each.source, each.target, each.line) for each in found.edges] == [
        ("a", "mend", "dashed"),
        ("a", "b", "solid"),
        ("mend", "b", "solid"),
        (FAILED, "tell", "dashed"),
    ]


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ({"type": "agent", "agent": "ears"}, ("agent", "ears")),
        ({"type": "call", "operation": "get_epic"}, ("call", "get_epic")),
        (
            {"type": "call", "mcp": {"server": "https://x.example", "tool": "t"}},
            ("call", "t at https://x.example"),
        ),
        (
            {"type": "call", "rpc": {"url": "https://x.example", "method": "m"}},
            ("call", "m at https://x.example"),
        ),
        ({"type": "workflow", "workflow": "other@2"}, ("workflow", "other@2")),
        ({"type": "wait", "signal": "go"}, ("wait", "signal go")),
        ({"type": "wait", "until": "${input.at}"}, ("wait", "until ${input.at}")),
        ({"type": "wait", "approval": {"by": ["ada", "User"]}}, ("wait", "ada or User")),
        ({"type": "loop", "while": "${input.more}", "body": []}, ("loop", "while input.more")),
        (
            {"type": "parallel", "join": "majority", "branches": {"a": [], "b": []}},
            ("join", "majority of 2"),
        ),
    ],
)
def test_a_step_says_in_two_words_what_it_is(step: dict[str, Any], told: tuple[str, str]) -> None:
    definition = read({"name": "w", "steps": [{"name": "s", **step}]})
    assert described(definition.steps[0]) == told


# How far a run is


def a_step(key: str, state: Any, type: Any = "agent", begin: float | None = 0.0) -> Step:
    return Step(
        name=key.partition("[")[0],
        key=key,
        type=type,
        state=state,
        attempts=1,
        output=None,
        error=None,
        started_at=None if begin is None else _time(begin),
        finished_at=_time(5.0) if state in ("completed", "failed") else None,
        prompt=None,
    )


def a_run(*steps: Step) -> Run:
    return Run(
        id="01a1e158-b87f-7f1d-a0f7-54aef8760496",
        workflow="w",
        workflow_version=1,
        state="running",
        started_by="ada",
        origin="web",
        parent_run=None,
        correlation_id="c",
        created_at=_time(0.0),
        finished_at=None,
        input=None,
        output=None,
        error=None,
        steps=list(steps),
        steps_total=len(steps),
        approvals=[],
        children=[],
        signals=[],
        trace_id="",
        waits=[],
        problem=None,
    )


def _time(seconds: float) -> str:
    return f"2026-01-01T00:00:{seconds:09.6f}Z"


NOW = 1_767_225_610.0
"""Ten seconds after the beginning."""


def a_call(step: str, attempt: int) -> RunCall:
    return RunCall(
        id="r/s",
        step=step,
        kind="agent",
        target="a",
        state="running",
        outcome=None,
        attempt=attempt,
        next_try=None,
        message_id="",
        remote_task="",
        started_at=_time(0.0),
        finished_at=None,
    )


def test_boxes_say_their_state_in_words() -> None:
    states = ("completed", "running", "waiting", "failed", "cancelled", "skipped")
    run = a_run(*(a_step(state, state) for state in states), a_step("again", "running"))
    found = outline(read({"name": "w", "steps": [pause(each) for each in (*states, "again", "x")]}))
    graph = StepStatus(run, [a_call("again", 2)], NOW).graph(found, "failed", link_to("r"))
    assert [(each.note, each.tone, each.is_marked) for each in graph.nodes] == [
        ("done 5.0 s", "ok", False),
        ("running 10 s", "info", False),
        ("waits", "accent", False),
        ("failed", "bad", True),
        ("cancelled", "idle", False),
        ("skipped", "idle", False),
        ("attempt 2", "info", False),
        ("pending", "idle", False),
    ]
    assert graph.nodes[0].href == "/runs/r?step=completed"
    assert graph.nodes[-1].href == ""


def test_rounds_of_a_loop_share_a_box_that_leads_to_the_one_that_matters() -> None:
    rounds = [a_step("b[0]", "completed"), a_step("b[1]", "running"), a_step("b[2]", "pending")]
    found = outline(read({"name": "w", "steps": [pause("b")]}))
    [node] = StepStatus(a_run(*rounds), (), NOW).graph(found, "b[0]", link_to("r")).nodes
    assert (node.note, node.tone, node.href) == ("1 of 3 done", "info", "/runs/r?step=b%5B1%5D")
    assert node.is_marked
    rounds[2] = a_step("b[2]", "failed")
    [node] = StepStatus(a_run(*rounds), (), NOW).graph(found, "", link_to("r")).nodes
    assert (node.note, node.tone) == ("1 of 3 failed", "bad")


def test_one_sees_first_what_failed_then_what_is_under_way() -> None:
    over, inner = a_step("all", "running", "parallel"), a_step("one", "running")
    assert StepStatus(a_run(over, inner), (), NOW).default_step() == "one"
    assert StepStatus(a_run(over, inner, a_step("two", "failed")), (), NOW).default_step() == "two"
    assert StepStatus(a_run(a_step("one", "completed")), (), NOW).default_step() == WHOLE


def test_bars_lie_where_their_steps_were() -> None:
    steps = [a_step("a", "completed"), a_step("b", "running", begin=5.0), a_step("c", "pending")]
    steps[2].started_at = None
    found = bars(StepStatus(a_run(*steps), (), NOW), steps, NOW)
    assert [(each.step.key, each.left, each.width, each.tone) for each in found] == [
        ("a", 0, SCALE // 2, "ok"),
        ("b", SCALE // 2, SCALE // 2, "info"),
    ]


# What happened


@pytest.mark.parametrize(
    ("type", "detail", "said"),
    [
        ("run_started", {"input": 1}, ("", "the run started")),
        ("step_started", {"key": "a", "choice": "then"}, ("a", "started, and chose then")),
        ("step_started", {"key": "a", "items": [1, 2]}, ("a", "started with 2 items")),
        ("task_succeeded", {"task": "a@2", "attempts": 3}, ("a", "completed after 3 attempts")),
        (
            "task_failed",
            {"task": "a", "error": {"code": "x", "message": "why"}, "attempts": 2},
            ("a", "failed after 2 attempts: x, why"),
        ),
        (
            "approval_given",
            {"task": "a", "approved": False, "by": "ada", "reason": "no"},
            ("a", "rejected by ada: no"),
        ),
        ("cancel_requested", {"by": "ada"}, ("", "cancelled by ada")),
        ("retry_requested", {"step": "a", "by": "ada"}, ("", "retried from a by ada")),
        ("retry_requested", {"by": "ada"}, ("", "retried by ada")),
        ("timer_fired", {"key": "a", "kind": "deadline"}, ("a", "took too long")),
        ("run_finished", {"status": "completed"}, ("", "the run completed")),
        ("something_new", {"key": "a"}, ("a", "something new")),
    ],
)
def test_events_are_told_in_sentences(
    type: str, detail: dict[str, Any], said: tuple[str, str]
) -> None:
    event = RunEvent(sequence=1, type=type, at=_time(6.14), detail=detail)
    found = log_entry(event, _time(0.0))
    assert (found.step, found.text) == said
    assert found.since == "00:06.1"


def test_long_runs_are_told_in_hours() -> None:
    assert clock("2026-01-01T02:03:04Z", _time(0.0)) == "2:03:04.0"


# Inputs


SCHEMA = {
    "type": "object",
    "required": ["id", "free"],
    "properties": {
        "id": {"type": "string", "description": "Which one"},
        "count": {"type": "integer", "default": 3},
        "sure": {"type": "boolean"},
        "mode": {"enum": ["fast", 1]},
        "rest": {"type": "array"},
    },
}


def test_a_form_is_made_from_a_schema() -> None:
    assert fields_of(SCHEMA) == (
        InputField(name="id", kind="text", hint="Which one", required=True),
        InputField(name="count", kind="number", value="3"),
        InputField(name="sure", kind="choice", options=("true", "false")),
        InputField(name="mode", kind="choice", options=('"fast"', "1")),
        InputField(name="rest", kind="json", hint="As JSON."),
        InputField(name="free", kind="any", required=True),
    )


@pytest.mark.parametrize(
    "schema",
    [
        None,
        True,
        {"type": "string"},
        {"type": "object", "properties": []},
        {"type": "object", "properties": {f"p{each}": {} for each in range(100)}},
    ],
)
def test_what_has_no_fields_is_given_as_json(schema: Any) -> None:
    assert fields_of(schema) == ()
    assert value_of(schema, Words([("json", '{"a": [1]}')])) == {"a": [1]}
    assert value_of(schema, Words()) is None


def test_what_is_typed_becomes_what_the_schema_says() -> None:
    typed = {
        "in.id": "12",
        "in.count": "4",
        "in.sure": "true",
        "in.mode": '"fast"',
        "in.rest": "[1, 2]",
        "in.free": "plain",
    }
    assert value_of(SCHEMA, Words(typed.items())) == {
        "id": "12",
        "count": 4,
        "sure": True,
        "mode": "fast",
        "rest": [1, 2],
        "free": "plain",
    }
    assert value_of(SCHEMA, Words([("in.free", '{"a": 1}')])) == {"free": {"a": 1}}
    assert value_of(SCHEMA, Words([("in.id", "x"), ("json", "5")])) == 5


def test_what_is_no_json_is_refused_by_name() -> None:
    with pytest.raises(InvalidError) as refused:
        value_of(SCHEMA, Words([("in.rest", "[1,")]))
    assert [each.pointer for each in refused.value.errors] == ["/rest"]


def test_a_form_keeps_what_was_typed() -> None:
    [field] = fields_of({"type": "object", "properties": {"n": {"type": "integer", "default": 3}}})
    assert filled([field], Words()) == [(field, "3")]
    assert filled([field], Words([("in.n", "")])) == [(field, "")]


# Texts


def test_yaml_says_the_same_as_the_definition() -> None:
    for definition in (REVIEW, msgspec.to_builtins(read_text(EXAMPLE, "yaml"))):
        plain = without_version(definition)
        again = read_text(as_yaml(plain), "yaml")
        assert again == read_text(as_json(plain), "json")


def test_what_yaml_would_say_differently_is_shown_as_json() -> None:
    hostile = {"name": "w", "steps": [], "output": "1e3"}
    assert as_yaml(hostile) == as_json(hostile)


def test_problems_are_found_on_their_lines() -> None:
    text = "name: w\nsteps:\n  - name: a\n    type: wait\n    for: 5m\n  - {name: b, typ: wait}\n"
    with pytest.raises(DefinitionError) as refused:
        read_text(text, "yaml")
    assert [each.path for each in refused.value.problems] == ["steps[0].for", "steps[1].type"]
    assert line_of(text, ["steps[0].for", "steps[1].typ", "steps[1].type", "name", "x.y"]) == [
        *(5, 6, 6, 1, 1),
    ]
    assert line_of("a: [", ["line 3, column 1", "steps"]) == [3, None]


@pytest.mark.req("Q-04")
@pytest.mark.parametrize("level", ["[", "{a: ", "- "])
def test_a_text_that_is_nested_too_deep_has_no_places(level: str) -> None:
    """In a process of its own, as a stack that overflows ends the one that it is in."""
    code = (
        "from accord.web.pages.workflows.definitions import line_of\n"
        f"print(line_of({level!r} * 100_000, ['steps', 'line 1, column 68: too deep']))\n"
        f"print(line_of({level!r} * 101 + '1', ['steps']))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[None, 1]\n[None]\n")


def test_long_values_are_cut_and_say_how_long_they_are() -> None:
    some = shown_value({"a": "x" * 10_000})
    assert (len(some.text), some.is_cut) == (4_000, True)
    assert some.size > 10_000
    assert shown_value("a\nb").text == "a\nb"
    assert not shown_value([1]).is_cut
    assert in_line({"a": 1}) == '{"a":1}'
    assert len(in_line("x" * 500)) == 100


@pytest.mark.req("W-18")
@pytest.mark.parametrize(
    ("state", "waits", "said"),
    [
        ("pending", [], "waiting for an executor"),
        ("paused", [("task", "a")], "until somebody resumes it"),
        ("completed", [], ""),
        ("running", [("task", "a")], "waiting for a (s)"),
        ("running", [("run", "w")], "waiting for a run of w (s)"),
        ("waiting", [("time", "")], "s is due in 35 s"),
        ("waiting", [("signal", "go")], "waiting for the signal go (s), expires in 35 s"),
        ("waiting", [("question", "a")], "waiting for an answer to a (s), expires in 35 s"),
        (
            "waiting",
            [("task", "a"), ("approval", "ann or bob")],
            "waiting for the approval of ann or bob (s), expires in 35 s, and 1 more",
        ),
    ],
)
def test_the_header_says_what_a_run_waits_for(
    state: Any, waits: list[tuple[Any, str]], said: str
) -> None:
    run = a_run()
    run.state = state
    run.waits = [RunWait(kind=kind, step="s", what=what, until=_time(40.0)) for kind, what in waits]
    assert waits_for(run, parse(_time(5.0)).timestamp()) == said
    run.problem = RunProblem(code="newer_schema", message="…", next_try=None)
    assert waits_for(run, 0.0) == "does not go on: newer_schema"
