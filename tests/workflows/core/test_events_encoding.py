"""Events, commands and states as JSON, also those of a newer version."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import DecodeError, ValidationError, json

from accord.workflows.core.errors import NewerSchemaError
from accord.workflows.core.events import (
    decode_command,
    decode_event,
    encode_command,
    encode_event,
    type_of,
)
from accord.workflows.core.state import State, decode_state, encode_state
from tests.workflows.core.run import Run, agent, wait


def test_everything_comes_back_as_it_was() -> None:
    call = {
        "name": "m",
        "type": "call",
        "mcp": {"server": "s", "tool": "t"},
        "retry": {"attempts": 2},
    }
    run = Run(agent("a"), call, wait("w", approval={"by": ["ann"]})).start(
        {"x": [1.5, 2**70, None]}
    )
    run.ask("a").signal("a", "yes").done("a", 1).fail("m").retry("m")
    assert [decode_event(encode_event(event)) for event in run.history] == run.history
    assert [decode_command(encode_command(each)) for each in run.sent] == run.sent
    assert decode_state(encode_state(run.state)) == run.state


@pytest.mark.parametrize("decode", [decode_event, decode_command, decode_state])
def test_what_a_newer_version_wrote_is_left_alone(decode: Any) -> None:
    with pytest.raises(NewerSchemaError, match="schema 3 is newer than 2") as raised:
        decode(b'{"schema": 3, "type": "something_new"}')
    assert raised.value.schema == 3
    with pytest.raises(ValidationError):
        decode(b'{"type": "run_started"}')


@pytest.mark.parametrize("decode", [decode_event, decode_command, decode_state])
def test_what_is_nested_deeper_than_any_stack_is_damaged(decode: Any) -> None:
    with pytest.raises(DecodeError, match="nested deeper"):
        decode(b'{"schema": 1, "type": "run_started", "input": ' + b"[" * 500_000)


def test_events_say_their_type_and_schema() -> None:
    run = Run(agent("a")).start()
    first, second = (json.decode(encode_event(event)) for event in run.history)
    assert first == {"type": "run_started", "at": 0.0, "schema": 1, "input": None, "depth": 0}
    assert (second["type"], second["key"], second["schema"]) == ("step_started", "a", 1)
    assert [type_of(event) for event in run.history] == [first["type"], second["type"]]


def test_a_state_says_its_schema() -> None:
    assert json.decode(encode_state(State()))["schema"] == 1
