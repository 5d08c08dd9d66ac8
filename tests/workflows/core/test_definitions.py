"""Definitions: what is read, and that everything wrong with one is told at once."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from msgspec import json

from accord.workflows.core.definition import (
    AgentStep,
    Approval,
    CallStep,
    ConditionStep,
    Definition,
    LoopStep,
    McpTarget,
    ParallelStep,
    Retry,
    RpcTarget,
    WaitStep,
    WorkflowStep,
)
from accord.workflows.core.errors import DefinitionError
from accord.workflows.core.reading import examine, read_definition, read_text
from accord.workflows.core.rules import Arguments, Known, input_problem, schema_problem

REVIEW = """
name: review-requirement
description: Three agents look at a requirement.
input: {type: object, required: [requirement]}
steps:
  - name: load
    type: call
    operation: get_requirement
    input: {id: "${input.requirement}"}
  - name: reviews
    type: parallel
    join: majority
    max_parallelism: 2
    branches:
      wording: [{name: ears, type: agent, agent: ears-review, input: {text: "${steps.load.output.description}"}}]
      security:
        - {name: threats, type: agent, agent: threat-model, timeout: 300, retry: {attempts: 5, jitter: false}}
  - name: approve
    type: wait
    approval: {by: [administrator], timeout: 86400}
    on_error: continue
  - {name: choose, type: condition, switch: "${input.requirement}", cases: {1: [{name: one, type: wait, for: 1}]}, default: [{name: other, type: wait, until: "2026-11-15T09:30:00Z", next: end}]}
  - name: write-back
    type: loop
    over: "${[steps.ears.output, steps.threats.output]}"
    mode: parallel
    body: [{name: comment, type: call, mcp: {server: hub, tool: add_comment}, input: {text: "${loop.item}"}}]
    on_error: [{name: tell, type: call, rpc: {url: "https://example.org/rpc", method: tell}, input: "${error.code}"}]
  - {name: child, type: workflow, workflow: publish@3}
  - {name: go, type: wait, signal: go}
output: {reviews: "${steps.reviews.output}"}
on_error: [{name: no, type: condition, if: "${error.code == 'x'}", then: [{name: report, type: workflow, workflow: report}]}]
"""


def test_yaml_is_read_into_steps() -> None:
    definition = read_text(REVIEW, "yaml")
    assert definition == Definition(
        name="review-requirement",
        description="Three agents look at a requirement.",
        input={"type": "object", "required": ["requirement"]},
        steps=(
            CallStep(
                name="load", operation="get_requirement", input={"id": "${input.requirement}"}
            ),
            ParallelStep(
                name="reviews",
                join="majority",
                max_parallelism=2,
                branches={
                    "wording": (
                        AgentStep(
                            name="ears",
                            agent="ears-review",
                            input={"text": "${steps.load.output.description}"},
                        ),
                    ),
                    "security": (
                        AgentStep(
                            name="threats",
                            agent="threat-model",
                            timeout=300.0,
                            retry=Retry(attempts=5, jitter=False),
                        ),
                    ),
                },
            ),
            WaitStep(
                name="approve",
                approval=Approval(by=("administrator",), timeout=86400.0),
                on_error="continue",
            ),
            ConditionStep(
                name="choose",
                switch="${input.requirement}",
                cases={"1": (WaitStep(name="one", for_=1.0),)},
                default=(WaitStep(name="other", until="2026-11-15T09:30:00Z", next="end"),),
            ),
            LoopStep(
                name="write-back",
                over="${[steps.ears.output, steps.threats.output]}",
                mode="parallel",
                body=(
                    CallStep(
                        name="comment",
                        mcp=McpTarget("hub", "add_comment"),
                        input={"text": "${loop.item}"},
                    ),
                ),
                on_error=(
                    CallStep(
                        name="tell",
                        rpc=RpcTarget("https://example.org/rpc", "tell"),
                        input="${error.code}",
                    ),
                ),
            ),
            WorkflowStep(name="child", workflow="publish@3"),
            WaitStep(name="go", signal="go"),
        ),
        output={"reviews": "${steps.reviews.output}"},
        on_error=(
            ConditionStep(
                name="no",
                if_="${error.code == 'x'}",
                then=(WorkflowStep(name="report", workflow="report"),),
            ),
        ),
    )


def test_a_definition_is_the_same_after_json() -> None:
    definition = read_text(REVIEW, "yaml")
    assert read_text(json.encode(definition), "json") == definition
    assert json.decode(json.encode(definition), type=Definition) == definition


def wait(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "wait", "for": 1, **more}


def agent(name: str, input: Any = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "agent", "agent": "a", "input": input, **more}


def problems(*steps: Any, known: Known | None = None, **more: Any) -> list[str]:
    value = {"name": "w", "steps": list(steps), **more}
    return [str(problem) for problem in examine(value, known or Known())[1]]


NAME_HINT = "(letters, digits, _ and -, beginning with a letter, at most 64 characters)"
TYPES = "there are agent, parallel, condition, loop, wait, workflow, call"


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([1], ["steps[0]: a step is an object, not a number"]),
        ([{"name": "a"}], [f"steps[0].type: 'type' is missing ({TYPES})"]),
        ([{"name": "a", "type": "agnet"}], ["steps[0].type: there is no type of step 'agnet' (did you mean 'agent'?)"]),
        ([{"type": 7}], [f"steps[0].type: there is no type of step '7' ({TYPES})"]),
        ([agent("a", inptu=1)], ["steps[0].inptu: there is no field 'inptu' (did you mean 'input'?)"]),
        ([agent("a", zzz=1)], ["steps[0].zzz: there is no field 'zzz' (there are name, type, next, timeout, on_error, agent, input, retry)"]),
        ([{"type": "agent"}], ["steps[0].name: 'name' is missing", "steps[0].agent: 'agent' is missing"]),
        ([agent("1 a")], [f"steps[0].name: '1 a' is no name {NAME_HINT}"]),
        ([agent("a", agent=" ")], ["steps[0].agent: a text is needed"]),
        ([agent("a", agent="x" * 3000)], ["steps[0].agent: a text of 3,000 characters is over the limit of 2,000"]),
        ([agent("a", timeout=0)], ["steps[0].timeout: '0' is no duration in seconds (a number from 0.001 to 315,360,000)"]),
        ([agent("a", timeout="5m")], ["steps[0].timeout: '5m' is no duration in seconds (a number from 0.001 to 315,360,000)"]),
        ([agent("a", timeout=True)], ["steps[0].timeout: 'True' is no duration in seconds (a number from 0.001 to 315,360,000)"]),
        ([agent("a", retry=3)], ["steps[0].retry: an object is needed, not a number"]),
        (
            [agent("a", retry={"attempts": 0, "multiplier": 0.5, "jitter": 1, "tries": 2})],
            [
                "steps[0].retry.attempts: '0' is not allowed (a whole number from 1 to 100)",
                "steps[0].retry.multiplier: '0.5' is no multiplier (a number from 1 to 100)",
                "steps[0].retry.jitter: true or false is needed",
                "steps[0].retry.tries: there is no field 'tries' (there are attempts, initial_delay, multiplier, max_delay, jitter, failures)",
            ],
        ),
        ([agent("a", on_error="retry")], ["steps[0].on_error: 'retry' is not allowed (continue, or a list of steps)"]),
        ([agent("a", on_error=[])], ["steps[0].on_error: the list of steps is empty (leave it out, or put steps into it)"]),
        ([{"name": "a", "type": "parallel", "branches": {}}], ["steps[0].branches: an object with lists of steps is needed"]),
        ([{"name": "a", "type": "parallel", "branches": {"b": 1}}], ["steps[0].branches.b: steps are a list, not a number"]),
        ([{"name": "a", "type": "parallel", "branches": {"!": [wait("b")]}, "join": "most"}], [f"steps[0].branches: '!' is no name {NAME_HINT}", "steps[0].join: 'most' is not allowed (one of all, any, majority)"]),
        ([{"name": "a", "type": "parallel", "branches": {"b": [wait("b")]}, "join": 2}], ["steps[0].join: 2 of 1 branches can never be done"]),
        ([{"name": "a", "type": "parallel", "branches": {"b": [wait("b")]}, "join": 0}], ["steps[0].join: '0' is not allowed (a whole number from 1 to 1,000)"]),
        ([{"name": "a", "type": "condition"}], ["steps[0]: exactly one of if, switch is needed, and none is there"]),
        ([{"name": "a", "type": "condition", "if": "${true}", "default": [wait("b")]}], ["steps[0].default: 'default' goes with 'switch' only", "steps[0].then: 'then' is missing"]),
        ([{"name": "a", "type": "condition", "if": True, "then": [wait("b")]}], ["steps[0].if: an expression is needed (write it as ${…})"]),
        ([{"name": "a", "type": "condition", "if": "true", "then": [wait("b")]}], ["steps[0].if: one expression is needed (write it as ${…}, with nothing around)"]),
        ([{"name": "a", "type": "loop", "body": [wait("b")]}], ["steps[0]: exactly one of over, while is needed, and none is there"]),
        ([{"name": "a", "type": "loop", "while": "${true}", "mode": "parallel", "body": [wait("b")]}], ["steps[0].mode: rounds of 'while' follow on each other (leave 'mode' out, or use 'over')"]),
        ([{"name": "a", "type": "loop", "over": 3, "max_parallelism": 2, "body": [wait("b")]}], ["steps[0].over: an expression is needed (write it as ${…})", "steps[0].max_parallelism: 'max_parallelism' goes with mode: parallel only"]),
        ([{"name": "a", "type": "loop", "over": ["${loop.item}"], "body": [wait("b")], "on_error": "skip", "max_iterations": 0}], ["steps[0].on_error: 'skip' is not allowed (stop, continue, collect, or a list of steps)", "steps[0].max_iterations: '0' is not allowed (a whole number from 1 to 10,000)", "steps[0].over[0]: loop.item is not in so many loops (there are 0 loops around it)"]),
        ([{"name": "a", "type": "wait", "for": 1, "signal": "s"}], ["steps[0]: exactly one of signal, approval, for, until is needed, not signal and for"]),
        ([wait("a", **{"for": -1})], ["steps[0].for: '-1' is no duration in seconds (a number from 0 to 315,360,000)"]),
        ([{"name": "a", "type": "wait", "until": "tomorrow"}], ["steps[0].until: 'tomorrow' is no time (a time with a zone, as in 2026-11-15T09:30:00Z, or ${…})"]),
        ([{"name": "a", "type": "wait", "approval": {"by": []}}], ["steps[0].approval.by: a list of people or roles is needed"]),
        ([{"name": "a", "type": "wait", "approval": {}}], ["steps[0].approval.by: 'by' is missing"]),
        ([{"name": "a", "type": "wait", "approval": {"by": ["x"], "message": 1}}], ["steps[0].approval.message: a text is needed"]),
        ([{"name": "a", "type": "wait", "approval": {"by": ["x"], "text": "?"}}], ["steps[0].approval.text: there is no field 'text' (there are by, timeout, message, data)"]),
        ([{"name": "a", "type": "call"}], ["steps[0]: exactly one of operation, mcp, rpc is needed, and none is there"]),
        ([{"name": "a", "type": "call", "rpc": {"url": "file:///etc", "method": "m"}}], ["steps[0].rpc.url: 'file:///etc' is no address (http://… or https://…)"]),
        ([{"name": "a", "type": "workflow", "workflow": "w@0"}], ["steps[0].workflow: 'w@0' is no workflow (NAME or NAME@VERSION)"]),
        # names and jumps
        ([wait("a"), wait("a")], ["steps[1].name: 'a' is the name of steps[0] already (names are unique in the whole definition)"]),
        ([wait("end")], ["steps[0].name: no step can be called 'end'"]),
        ([wait("a", next="c"), wait("b"), wait("c")], ["steps[1]: 'b' is never reached (every step before it jumps over it)"]),
        ([wait("a"), wait("b", next="a")], ["steps[1].next: 'a' is not later (jumps lead forward only)"]),
        ([wait("a", next="a")], ["steps[0].next: 'a' is not later (jumps lead forward only)"]),
        ([wait("a", next="zz")], ["steps[0].next: there is no step 'zz' (there are a)"]),
        ([wait("a", next="end"), wait("b")], ["steps[1]: 'b' is never reached (every step before it jumps over it)"]),
        (
            [{"name": "p", "type": "parallel", "branches": {"x": [wait("a", next="z")], "y": [wait("b", next="c"), wait("c")]}}, wait("z")],
            ["steps[0].branches.x[0].next: 'z' is in another list of steps (a jump stays in its list, or leaves conditions and handlers)"],
        ),
        (
            [{"name": "c", "type": "condition", "if": "${true}", "then": [wait("x", next="z")], "else": [wait("y", next="end")]}, wait("m"), wait("z")],
            ["steps[1]: 'm' is never reached (every step before it jumps over it)"],
        ),
        # references
        ([agent("a", "${steps.a.output}")], ["steps[0].input: 'a' refers to itself"]),
        ([agent("a", "${steps.b.output}"), wait("b")], ["steps[0].input: 'b' has not run yet (refer to earlier steps only)"]),
        ([agent("a", ["x", {"k": "${steps.bb.output}"}]), wait("b")], ["steps[0].input[1].k: there is no step 'bb' (did you mean 'b'?)"]),
        ([agent("a", "${1 +}")], ["steps[0].input: the expression cannot be read: a value is missing before the end, at character 6"]),
        ([agent("a", "${error.code} ${loop.index}")], ["steps[0].input: nothing has failed here (error is for steps of on_error)", "steps[0].input: loop.index is not in so many loops (there are 0 loops around it)"]),
        (
            [{"name": "p", "type": "parallel", "branches": {"x": [wait("a")], "y": [agent("b", "${steps.a.output} ${steps.p.output}")]}}],
            ["steps[0].branches.y[0].input: 'a' runs at the same time, in another branch", "steps[0].branches.y[0].input: 'p' is still running here"],
        ),
        (
            [{"name": "c", "type": "condition", "if": "${true}", "then": [wait("a")], "else": [agent("b", "${steps.a.output}")]}],
            ["steps[0].else[0].input: 'a' does not run where this step does"],
        ),
        (
            [{"name": "c", "type": "condition", "if": "${true}", "then": [agent("b", "${steps.a.output}"), wait("a")]}],
            ["steps[0].then[0].input: 'a' has not run yet (refer to earlier steps only)"],
        ),
        (
            [{"name": "l", "type": "loop", "over": [1], "body": [wait("a")]}, agent("b", "${steps.a.output}")],
            ["steps[1].input: 'a' runs in each round of 'l', which is not around this (steps.l.output is the list of what the rounds gave)"],
        ),
        (
            [{"name": "l", "type": "loop", "while": "${loop.item == 1 && has(steps.a.output)}", "body": [agent("a", "${loop.parent.index}")]}],
            ["steps[0].body[0].input: loop.parent.index is not in so many loops (there are 1 loops around it)", "steps[0].while: loop.item is not there (a loop with 'while' has loop.index only)"],
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_steps_is_told(steps: list[Any], expected: list[str]) -> None:
    assert problems(*steps) == expected


def test_what_is_right_is_not_refused() -> None:
    steps = [
        wait("a"),
        {"name": "c", "type": "condition", "if": "${has(steps.a.output)}", "then": [wait("d", next="g")]},
        {"name": "p", "type": "parallel", "branches": {"x": [wait("e", on_error=[agent("h", "${error} ${steps.a.output}", next="end")])]}},
        {"name": "l", "type": "loop", "while": "${loop.index < 3 && steps.i.output != 1}", "body": [agent("i", "${steps.e.output}"), agent("j", "${steps.i.output}")]},
        {"name": "f", "type": "loop", "over": "${[1]}", "body": [{"name": "k", "type": "loop", "over": ["${loop.item}"], "body": [agent("m", "${loop.item} ${loop.parent.item}")]}]},
        agent("g", "${steps.d.output} ${steps.c.output} ${steps.e.output} ${steps.h.output} ${steps.l.output}", on_error=[agent("n", "${error.message}", next="z")]),
        {"name": "s", "type": "condition", "switch": "${input}", "cases": {"x y": [wait("t", next="z")]}, "default": [wait("u", next="z")]},
        {"name": "z", "type": "wait", "until": "${input.when}"},
    ]  # fmt: skip
    handler = [agent("y", "${error.code} ${steps.g.output}")]
    assert problems(*steps, on_error=handler, output="${steps.z.output} ${steps.n.output}") == []


def test_the_output_sees_the_steps_of_the_main_list_only() -> None:
    assert problems(wait("a"), on_error=[wait("b")], output={"x": "${steps.b.output}"}) == [
        "output.x: 'b' runs after a failure only"
    ]


def test_what_an_operation_does_not_take_and_what_it_needs_is_told() -> None:
    taken = Arguments(frozenset({"target_id", "text", "quote"}), frozenset({"target_id", "text"}))
    known = Known(operations={"add_comment": taken})

    def call(**more: Any) -> list[str]:
        step = {"name": "a", "type": "call", "operation": "add_comment", **more}
        return problems(step, known=known)

    assert call(input={"target_id": "${input.id}", "text": "x"}) == []
    assert call(input="${input}") == []
    assert call(input={"target": "REQ-001", "text": "x"}) == [
        "steps[0].input.target: there is no argument 'target' (did you mean 'target_id'?)",
        "steps[0].input: add_comment needs 'target_id'",
    ]
    assert call() == [
        "steps[0].input: add_comment needs 'target_id'",
        "steps[0].input: add_comment needs 'text'",
    ]
    assert call(input=[1]) == [
        "steps[0].input: add_comment takes an object, with a member for each argument"
    ]


def test_what_does_not_exist_outside_is_told() -> None:
    known = Known(frozenset({"ears-review"}), {"get_epic": Arguments()}, frozenset({"v", "v@1"}))
    steps = [
        agent("a", agent="ears-reviews"),
        {"name": "b", "type": "call", "operation": "get_epics"},
        {"name": "c", "type": "workflow", "workflow": "v@2"},
        {"name": "d", "type": "workflow", "workflow": "w"},
        {"name": "e", "type": "workflow", "workflow": "v@1"},
    ]
    assert problems(*steps, known=known) == [
        "steps[0].agent: there is no agent 'ears-reviews' (did you mean 'ears-review'?)",
        "steps[1].operation: there is no operation 'get_epics' (did you mean 'get_epic'?)",
        "steps[2].workflow: there is no workflow 'v@2' (did you mean 'v@1'?)",
    ]
    many = Known(agents=frozenset(f"{number:03}" for number in range(30)))
    (problem,) = problems(agent("a", agent="zzz"), known=many)
    assert problem.endswith("018, 019 and 10 more)")
    assert problems(agent("a"), known=Known(agents=frozenset())) == [
        "steps[0].agent: there is no agent 'a' (there are none)"
    ]


def test_everything_is_told_at_once() -> None:
    value = {
        "name": "no name",
        "stepz": 1,
        "version": 0,
        "input": {"type": "objekt"},
        "steps": [
            {"name": "a", "type": "unknown", "body": [wait("hidden")]},
            agent("b", "${steps.hidden.output} ${steps.a.output}", timeout=-1, next="hidden"),
            {"name": "c", "type": "loop", "over": "${1", "body": 5},
        ],
        "on_error": "x",
    }
    _, found = examine(value)
    assert [problem.path for problem in found] == [
        "name", "stepz", "version", "steps[0].type", "steps[1].timeout", "steps[2].body", "on_error",
        "input", "steps[2]", "steps[2].over",
    ]  # fmt: skip


def test_an_error_carries_all_problems() -> None:
    with pytest.raises(DefinitionError) as raised:
        read_definition({"name": "w", "steps": [wait("a", x=1), wait("a")]})
    assert [problem.path for problem in raised.value.problems] == ["steps[0].x", "steps[1].name"]
    assert str(raised.value).startswith("steps[0].x: there is no field 'x' (there are name,")


def test_a_definition_is_an_object_with_steps() -> None:
    assert examine([])[0] is None
    with pytest.raises(DefinitionError, match="a definition is an object, not a list"):
        read_definition([])
    assert problems() == ["steps: the list of steps is empty (leave it out, or put steps into it)"]


def test_limits_are_told() -> None:
    assert problems(*(wait(f"s{number}") for number in range(501))) == [
        "steps: 501 steps are over the limit of 500"
    ]
    nested = wait("inmost")
    for number in range(16):
        nested = {"name": f"c{number}", "type": "condition", "if": "${true}", "then": [nested]}
    assert problems(nested)[0].endswith("then: steps are nested deeper than 16")
    deep: Any = 1
    for _ in range(70):
        deep = [deep]
    assert problems(agent("a", deep)) == ["definition: it is nested deeper than 64"]
    told = problems(*(wait("same") for _ in range(200)))
    assert (len(told), told[-1]) == (101, "definition: and 99 problems more")


@pytest.mark.parametrize(
    ("text", "format", "message"),
    [
        (b"x" * 600_000, "json", "definition: a definition of 600,000 bytes is over the limit of 524,288"),
        ("{", "json", "definition: this is no JSON: Input data was truncated"),
        ("[" * 5_000, "json", "definition: it is nested deeper than 64"),
        ("[" * 65 + "1" + "]" * 65, "json", "definition: it is nested deeper than 64"),
        ("[" * 65 + "]" * 65, "json", "definition: a definition is an object, not a list"),
        ("[" * 66 + "]" * 66, "json", "definition: it is nested deeper than 64"),
        (b"\xff", "yaml", "definition: the text is not UTF-8"),
        ("a: [", "yaml", "this is no YAML that is read here: did not find expected node content"),
        ("a: \x07", "yaml", "the text: this is no YAML that is read here: it has characters that YAML does not allow"),
        ("a: &x [1]\nb: *x", "yaml", "line 2, column 4: this is no YAML that is read here: aliases are not read (write the value itself)"),
        ("a: !!python/object:os.system x", "yaml", "line 1, column 4: this is no YAML that is read here: tags like 'tag:yaml.org,2002:python/object:os.syste' are not read"),
        ("a: 1\na: 2", "yaml", "line 2, column 1: this is no YAML that is read here: the key 'a' is there twice"),
        ("? [1]\n: 2", "yaml", "line 1, column 3: this is no YAML that is read here: a key is no text"),
        ("a: 1\n---\nb: 2", "yaml", "line 2, column 1: this is no YAML that is read here: it has several documents"),
        ("a: " + "[" * 100 + "]" * 100, "yaml", "line 1, column 68: this is no YAML that is read here: it is nested deeper than 64"),
        ("", "yaml", "definition: a definition is an object, not null"),
    ],
)  # fmt: skip
def test_texts_that_are_no_definition_are_refused(text: Any, format: Any, message: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        read_text(text, format)
    assert message in str(raised.value)


def test_json_is_read_as_yaml_without_pyyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    monkeypatch.delitem(sys.modules, "accord.workflows.core.yaml_values", raising=False)
    text = '{"name": "nap", "steps": [{"name": "rest", "type": "wait", "for": 1}]}'
    assert read_text(text, "yaml") == read_text(text, "json")
    with pytest.raises(ModuleNotFoundError, match="yaml"):
        read_text("name: nap", "yaml")


def test_yaml_means_what_json_can_say() -> None:
    text = """
    on: [no, off, ~, null, true, False, 12, 0x1F, 0o17, 1.5, .5, 1e3, 2026-11-15, "1", '~', !  "x", 1_000, .inf]
    1: yes
    """
    from accord.workflows.core.yaml_values import read_yaml

    assert read_yaml(text) == {
        "on": [
            "no", "off", None, None, True, False, 12, 31, 15, 1.5, 0.5, 1000.0, "2026-11-15", "1",
            "~", "x", "1_000", ".inf",
        ],
        "1": "yes",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (True, None),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": ["string", "null"]}}}, None),
        (5, "the schema is not of type object or boolean"),
        ({"type": "objekt"}, "the schema.type fits none of the alternatives"),
        ({"properties": {"a": {"minimum": "1"}}}, "the schema.properties.a.minimum is not of type number"),
        ({"anyOf": [{"$ref": "#/$defs/x"}]}, "the schema refers to '#/$defs/x', which is not in it"),
        ({"$ref": "https://example.org/s"}, "the schema refers to 'https://example.org/s', which is not in it"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_schema_is_told(schema: Any, expected: str | None) -> None:
    assert schema_problem(schema) == expected


def test_a_schema_that_is_too_deep_is_refused() -> None:
    schema: Any = True
    for _ in range(200):
        schema = {"not": schema}
    assert schema_problem(schema) == "the schema is too large or too deep"


def test_an_input_must_fit_its_schema() -> None:
    definition = read_text(REVIEW, "yaml")
    assert input_problem(definition, {"requirement": "REQ-1"}) is None
    assert input_problem(definition, {}) == "the value lacks 'requirement'"
    free = read_definition({"name": "w", "steps": [wait("a")]})
    assert input_problem(free, 5) is None
    assert input_problem(free, "x" * 2_000_000) == (
        "an input of 2,000,002 bytes is over the limit of 1,048,576"
    )
    endless = read_definition({"name": "w", "input": {"$ref": "#"}, "steps": [wait("a")]})
    assert input_problem(endless, 5) == "the input is too large or too deep for its schema"
