"""Steps of types that plugins add: read, kept, and given out as tasks."""

from __future__ import annotations

from typing import Any

from msgspec import json

from accord.workflows.core.decisions import decide
from accord.workflows.core.definition import PluginStep, Retry, type_of
from accord.workflows.core.events import (
    CallPlugin,
    CancelRequested,
    CancelTask,
    RunFinished,
    RunStarted,
    TaskSucceeded,
    decode_command,
    encode_command,
)
from accord.workflows.core.outputs import view_steps
from accord.workflows.core.program import compile_program
from accord.workflows.core.reading import (
    decode_definition,
    definition_of,
    encode_definition,
    examine,
    read_definition,
)
from accord.workflows.core.rules import Arguments, Known
from accord.workflows.core.state import State
from accord.workflows.core.transitions import apply

KNOWN = Known(steps={"mail": Arguments(frozenset({"to", "text"}), frozenset({"to"}))})
MAIL: dict[str, Any] = {
    "name": "tell",
    "type": "mail",
    "timeout": 30.0,
    "input": {"to": "${input.who}", "text": "type plugin"},
    "retry": {"attempts": 2},
}
WAIT = {"name": "rest", "type": "wait", "for": 1.0}
WRITTEN: dict[str, Any] = {
    "name": "w",
    "steps": [
        {
            "name": "each",
            "type": "loop",
            "over": [1, 2],
            "body": [{name: value for name, value in MAIL.items() if name != "retry"}],
            "on_error": [{"name": "sorry", "type": "mail", "input": {"to": "a@b"}}],
        },
        {"name": "both", "type": "parallel", "branches": {"a": [WAIT]}},
        {"name": "last", "type": "mail", "input": {"to": "x@y"}},
    ],
}


def problems(*steps: dict[str, Any]) -> list[str]:
    return [str(each) for each in examine({"name": "w", "steps": list(steps)}, KNOWN)[1]]


def test_a_step_of_a_plugin_is_read_as_one() -> None:
    definition = read_definition({"name": "w", "steps": [MAIL, WAIT]}, KNOWN)
    assert definition.steps[0] == PluginStep(
        name="tell",
        plugin="mail",
        timeout=30.0,
        input={"to": "${input.who}", "text": "type plugin"},
        retry=Retry(attempts=2),
    )
    assert [type_of(each) for each in definition.steps] == ["mail", "wait"]


def test_what_a_step_of_a_plugin_takes_is_checked_like_an_operation() -> None:
    wrong = {**MAIL, "input": {"txt": "hello"}, "subject": "x"}
    assert problems(wrong) == [
        "steps[0].subject: there is no field 'subject' (there are name, type, next, timeout, on_error, input, retry)",
        "steps[0].input.txt: there is no argument 'txt' (did you mean 'text'?)",
        "steps[0].input: mail needs 'to'",
    ]
    assert problems({**MAIL, "input": {"to": "${steps.later.output}"}}) == [
        "steps[0].input.to: there is no step 'later' (there are tell)"
    ]


def test_types_of_plugins_are_among_those_that_are_named() -> None:
    assert problems({**MAIL, "type": "mial"}) == [
        "steps[0].type: there is no type of step 'mial' (did you mean 'mail'?)"
    ]
    assert problems({**MAIL, "type": "plugin"}) == [
        "steps[0].type: there is no type of step 'plugin' (there are agent, parallel, condition, loop, wait, workflow, call, mail)"
    ]


def test_a_definition_is_kept_as_it_was_written() -> None:
    definition = read_definition(WRITTEN, KNOWN)
    kept = encode_definition(definition)
    assert json.decode(kept) == WRITTEN
    assert decode_definition(kept) == definition
    assert definition_of(json.decode(kept)) == definition


def test_what_only_looks_like_a_step_of_a_plugin_is_left_alone() -> None:
    said = {"to": "a@b", "text": '"type":"plugin"', "more": {"type": "plugin", "steps": 1}}
    call = {"name": "c", "type": "call", "operation": "o", "input": said}
    definition = read_definition({"name": "w", "steps": [call]})
    assert json.decode(encode_definition(definition))["steps"] == [call]
    assert decode_definition(encode_definition(definition)) == definition


def test_it_is_a_task_whose_output_is_the_steps() -> None:
    program = compile_program(read_definition({"name": "w", "steps": [MAIL]}, KNOWN))
    state = State()
    apply(program, state, RunStarted(at=1.0, input={"who": "ada@example.com"}))
    (command,) = decide(program, state, 1.0).commands
    assert command == CallPlugin(
        task="tell",
        step="tell",
        plugin="mail",
        input={"to": "ada@example.com", "text": "type plugin"},
        retry=Retry(attempts=2),
        deadline=31.0,
    )
    assert decode_command(encode_command(command)) == command
    apply(program, state, TaskSucceeded(at=2.0, task="tell", output={"sent": True}))
    assert decide(program, state, 2.0).events == (
        RunFinished(at=2.0, status="completed", output={"sent": True}),
    )
    (view,) = view_steps(program, state)
    assert (view.type, view.status) == ("mail", "completed")


def test_it_is_given_an_hour_and_cancelled_like_other_tasks() -> None:
    step = {"name": "tell", "type": "mail", "input": {"to": "a@b"}}
    program = compile_program(read_definition({"name": "w", "steps": [step]}, KNOWN))
    state = State()
    apply(program, state, RunStarted(at=1.0))
    (command,) = decide(program, state, 1.0).commands
    assert isinstance(command, CallPlugin)
    assert command.deadline == 3_601.0
    apply(program, state, CancelRequested(at=2.0))
    assert decide(program, state, 2.0).commands == (CancelTask(task="tell"),)


def test_a_definition_without_plugins_is_kept_as_it_is() -> None:
    definition = read_definition({"name": "w", "steps": [WAIT]}, KNOWN)
    assert decode_definition(encode_definition(definition)) == definition
