"""What docs/agents says about messages, rules and errors is what the code does."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accord.a2a import AddressPolicy, CallError, Client, TaskResult, Wire, call
from accord.a2a.checker.rules import RULES
from accord.a2a.protocol.calls import message_of, read_result
from accord.a2a.protocol.card import read_card
from accord.a2a.protocol.fields import VERBS, Verb
from accord.a2a.protocol.formats import FORMATS
from accord.a2a.protocol.model import Message, Task
from accord.a2a.protocol.outcome import DoneOutcome, FailedOutcome, outcome_of
from tests.a2a.interop.programs import HERE, PEERS
from tests.a2a.schemas import validate
from tests.a2a.scripted import HANG, LOCAL, failed, http, result, scripted
from tests.markdown import Block, read_blocks
from tests.python_packages import python_packages

PAGES = Path(__file__).parents[2] / "docs" / "agents"
MESSAGES = [
    block
    for block in read_blocks("wire-format.md", PAGES / "wire-format.md")
    if block.kind == "wire"
]


def told(block: Block) -> tuple[Wire, str, Any]:
    wire, name = block.text.split(" ")
    return Wire(wire), name, json.loads(block.code)


# Messages


@pytest.mark.req("W-13")
@pytest.mark.parametrize("block", MESSAGES, ids=lambda block: f"{block.line} {block.text}")
def test_messages_are_read_by_our_own_code(block: Block) -> None:
    wire, name, value = told(block)
    form = FORMATS[wire]
    if name == "AgentCard":
        found = read_card(block.code.encode()).interface()
        assert found is not None
        assert found[1] is wire
    elif "method" in value:
        params = json.dumps(value["params"]).encode()
        verb = VERBS[wire][value["method"]]
        if verb is Verb.SEND:
            assert form.read_send(params).message.role == "user"
        else:
            assert form.read_task_query(params).id == "t-41"
    elif "error" in value:
        with pytest.raises(CallError):
            read_result(block.code.encode(), value["id"], form.read_answer)
    else:
        answer = read_result(block.code.encode(), value["id"], form.read_answer)
        assert isinstance(answer, Task | Message)
        outcome = outcome_of(answer)
        if isinstance(outcome, DoneOutcome):
            assert (outcome.extracted.output, outcome.extracted.warning) == ("Say how fast.", "")
        else:
            assert outcome == FailedOutcome("task_failed", "the model did not answer")


@pytest.mark.parametrize(
    "block",
    [block for block in MESSAGES if block.text.startswith("0.3")],
    ids=lambda block: f"{block.line} {block.text}",
)
def test_messages_of_03_are_what_the_schema_says(block: Block) -> None:
    _, name, value = told(block)
    validate(value, name)


@pytest.fixture
def validator() -> list[str]:
    return [python_packages(HERE), str(PEERS / "validate.py")]


def test_messages_of_10_are_what_the_protocol_buffers_say(validator: list[str]) -> None:
    lines = []
    for block in MESSAGES:
        wire, name, value = told(block)
        if wire is Wire.V10:
            lines.append(json.dumps([name, value.get("params") or value.get("result") or value]))
    done = subprocess.run(
        validator, input="\n".join(lines), capture_output=True, text=True, check=True
    )
    assert [json.loads(line) for line in done.stdout.splitlines()] == [""] * len(lines)
    assert len(lines) == 3


def test_requests_are_what_the_client_sends() -> None:
    for block in MESSAGES:
        wire, name, value = told(block)
        if name == "SendMessageRequest":
            sent = FORMATS[wire].read_send(json.dumps(value["params"]).encode())
            given = {"text": "The ferry shall be fast.", "language": "en"}
            assert sent.message == message_of(given, message_id=sent.message.message_id)
            assert sent.blocking is False


# Rules


def test_every_rule_is_listed_as_it_is() -> None:
    rows = re.findall(
        r"^\| `([a-z-]+)` \| (must|should) \| (.*?) \| (.*) \|$",
        (PAGES / "check.md").read_text(),
        re.MULTILINE,
    )
    assert rows == [(each.id, each.level, each.holds, each.fix) for each in RULES.values()]


# Errors

COMPLETED = {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "completed"}}
WORKING = {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working"}}


def in_state(state: str) -> bytes:
    return result({"kind": "task", "id": "t", "contextId": "c", "status": {"state": state}})


GIVEN: dict[str, list[bytes]] = {
    "malformed_answer": [result(COMPLETED, id="other")],
    "http_3xx": [http({}, status=307, headers="location: /\r\n")],
    "http_401": [http({}, status=401)],
    "http_404": [http({}, status=404)],
    "http_429": [http({}, status=429)],
    "http_5xx": [http({}, status=503)],
    "timeout": [HANG],
    "connection_lost": [b"HTTP/1.1 200 x\r\ncontent-length: 9\r\nconnection: close\r\n\r\n{"],
    "task_failed": [in_state("failed")],
    "task_rejected": [in_state("rejected")],
    "task_canceled": [in_state("canceled")],
    "input_required": [in_state("input-required")],
    "-32001": [result(WORKING), failed(-32001, "unknown", id="1")],
    "-32601": [failed(-32601, "no such method")],
    "-32602": [failed(-32602, "wrong params")],
    "-32603": [failed(-32603, "went wrong")],
}
"""What agents answer, by the code that comes of it."""
OTHERWISE = {
    # what has nothing to do with answers is tried in a way of its own
    "address_refused",
    "card",
    "unreachable",
    "unknown_agent",
    "inactive_agent",
    "secret",
}


def listed_codes() -> set[str]:
    found = re.findall(
        r"^\| (`[^|]*`) \|", (PAGES / "troubleshooting.md").read_text(), re.MULTILINE
    )
    return {code for cell in found for code in re.findall(r"`([^`]+)`", cell)}


def test_every_code_on_the_page_of_troubles_is_shown_here() -> None:
    assert listed_codes() == {*GIVEN, *OTHERWISE}


def _matches(code: str) -> Callable[[Any], bool]:
    pattern = re.compile(code.replace("xx", r"\d\d"))
    return lambda found: pattern.fullmatch(str(found)) is not None


@pytest.mark.req("W-13")
@pytest.mark.parametrize("code", GIVEN)
async def test_codes_are_those_that_the_page_tells(code: str) -> None:
    timeout = 0.3 if code == "timeout" else 20.0
    async with (
        scripted(*GIVEN[code]) as agent,
        Client(agent.url, wire=Wire.V03, policy=LOCAL, timeout=timeout) as client,
    ):
        told = await call(client, "x", task_id="t-1", message_id="m-1", polls=iter([0.0] * 9))
    assert isinstance(told, TaskResult)
    assert told.error is not None
    assert _matches(code)(told.error.code)


async def test_codes_without_an_answer_are_those_that_the_page_tells() -> None:
    card = {"name": "x", "url": "http://127.0.0.1:1/", "preferredTransport": "GRPC"}
    found = {}
    async with scripted(http(card)) as agent:
        for code, url, policy in (
            ("address_refused", "http://127.0.0.1:1/", AddressPolicy()),
            ("unreachable", "http://127.0.0.1:1/", LOCAL),
            ("card", agent.url, LOCAL),
        ):
            wire = None if code == "card" else Wire.V03
            async with Client(url, wire=wire, policy=policy) as client:
                told = await call(client, "x", task_id="t-1", message_id="m-1")
            found[code] = "" if told.error is None else told.error.code
    assert found == {code: code for code in ("address_refused", "unreachable", "card")}
