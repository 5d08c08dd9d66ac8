"""Each rule is broken by an agent that breaks nothing else, and the checker says which it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from accord.a2a import Wire
from accord.a2a.checker.checker import CheckOptions, check
from accord.a2a.checker.messages import read_strictly, read_tolerantly
from accord.a2a.checker.probes import ResultReply
from accord.a2a.checker.rules import RULES, CheckReport
from accord.a2a.protocol.extraction import extract
from accord.a2a.protocol.formats import UNREADABLE
from accord.a2a.protocol.model import Task
from tests.a2a.checker.breaking import HANG, Reply, Request, Spoil, breaking
from tests.a2a.protocol.test_tolerant import MESSAGES, TASKS
from tests.a2a.scripted import LOCAL

SEND = ("message/send", "SendMessage")
GET = ("tasks/get", "GetTask")
CANCEL = ("tasks/cancel", "CancelTask")
STREAM = ("message/stream", "SendStreamingMessage")


def of_card(change: Callable[[dict[str, Any]], None]) -> Spoil:
    def spoil(request: Request, reply: Reply) -> None:
        if request.is_card:
            change(reply.value)

    return spoil


def of_answers(change: Callable[[dict[str, Any]], None], *methods: str) -> Spoil:
    """Changes the answers to these methods, or to all."""

    def spoil(request: Request, reply: Reply) -> None:
        wanted = not request.is_card and (not methods or request.method in methods)
        if wanted and isinstance(reply.value, dict):
            change(reply.value)

    return spoil


def of_results(change: Callable[[dict[str, Any]], None], *methods: str) -> Spoil:
    def changed(value: dict[str, Any]) -> None:
        if "result" in value:
            change(value["result"])

    return of_answers(changed, *methods)


def recoded(code: int, becomes: Any, *methods: str) -> Spoil:
    """Answers with another code."""

    def changed(value: dict[str, Any]) -> None:
        if value.get("error", {}).get("code") == code:
            value["error"]["code"] = becomes

    return of_answers(changed, *methods)


# One for each rule


def no_card(request: Request, reply: Reply) -> None:
    if request.is_card:
        reply.status = 404


def card_as_text(request: Request, reply: Reply) -> None:
    if request.is_card:
        reply.content_type = "text/html"


def other_versions(card: dict[str, Any]) -> None:
    card["protocolVersion"] = "7.0"
    for interface in card["supportedInterfaces"]:
        interface["protocolVersion"] = "7.0"


def other_host(card: dict[str, Any]) -> None:
    for place in (card, *card.get("supportedInterfaces", ())):
        if "url" in place:
            place["url"] = place["url"].replace("127.0.0.1", "localhost")


def redirected(request: Request, reply: Reply) -> None:
    if request.method in GET and "result" in reply.value:
        reply.status, reply.headers, reply.value = 307, "location: /elsewhere\r\n", {}


def as_text(request: Request, reply: Reply) -> None:
    if not request.is_card:
        reply.content_type = "text/plain" if reply.events is None else reply.content_type


def compressed(request: Request, reply: Reply) -> None:
    if not request.is_card and reply.events is None:
        reply.headers = "content-encoding: gzip\r\n"


def both(value: dict[str, Any]) -> None:
    if "result" in value:
        value["error"] = None


def unknown_version(request: Request, reply: Reply) -> None:
    if request.http.headers.get("a2a-version") == "9.9":
        reply.value["error"]["code"] = -32601


def without_kinds(task: dict[str, Any]) -> None:
    for part in (part for message in task["history"] for part in message["parts"]):
        part.pop("kind", None)


def hanging(request: Request, reply: Reply) -> None:
    if request.method in SEND:
        configuration = request.value["params"].get("configuration") or {}
        if configuration.get("blocking") is False:
            reply.status = HANG


def begun_again() -> Spoil:
    met: set[str] = set()

    def spoil(request: Request, reply: Reply) -> None:
        if request.method in SEND and "result" in reply.value:
            message_id = request.message["messageId"]
            if message_id in met:
                reply.value["result"]["id"] = "another"
            met.add(message_id)

    return spoil


def other_state(state: str) -> Callable[[dict[str, Any]], None]:
    def change(task: dict[str, Any]) -> None:
        task["status"]["state"] = state

    return change


def no_stream(request: Request, reply: Reply) -> None:
    if reply.events is not None:
        reply.content_type = "application/json"
        reply.value, reply.events = reply.events[-1], None


def events_of_others(request: Request, reply: Reply) -> None:
    for event in reply.events or []:
        event["id"] = "other"


def no_end(request: Request, reply: Reply) -> None:
    if reply.events is not None:
        reply.events.pop()


BROKEN: dict[str, Spoil] = {
    "card-found": no_card,
    "card-type": card_as_text,
    "card-members": of_card(lambda card: card.pop("skills")),
    "card-interface": of_card(other_versions),
    "card-address": of_card(other_host),
    "answer-status": redirected,
    "answer-type": as_text,
    "answer-coding": compressed,
    "answer-version": of_answers(lambda value: value.update(jsonrpc="1.0")),
    "answer-id": of_answers(lambda value: value.update(id=7)),
    "answer-one-of": of_answers(both),
    "answer-error": recoded(-32002, "TASK_NOT_CANCELABLE"),
    "error-parse": recoded(-32700, -32600),
    "error-request": recoded(-32600, -32602),
    "error-method": recoded(-32601, -32000),
    "error-params": recoded(-32602, -32603),
    "error-version": unknown_version,
    "send-answered": of_answers(
        lambda value: (
            value.pop("result", 0),
            value.update(error={"code": -32603, "message": "no"}),
        ),  # type: ignore[arg-type]
        *SEND,
    ),
    "send-result": of_results(lambda task: task.pop("contextId"), *SEND),
    "send-parts": of_results(without_kinds, *SEND),
    "send-state": of_results(other_state("done"), *SEND),
    "send-completed": of_results(other_state("failed")),
    "send-output": of_results(lambda task: task.pop("artifacts", None)),
    "send-non-blocking": hanging,
    "send-again": begun_again(),
    "send-forgotten": recoded(-32001, -32602, *SEND),
    "task-get": of_results(lambda task: task.update(id="another"), *GET),
    "task-unknown": recoded(-32001, -32602, *GET),
    "cancel-unknown": recoded(-32001, -32602, *CANCEL),
    "cancel-over": recoded(-32002, -32004, *CANCEL),
    "cancel-running": of_results(other_state("working"), *CANCEL),
    "stream-type": no_stream,
    "stream-events": events_of_others,
    "stream-end": no_end,
    "stream-refused": of_card(lambda card: card["capabilities"].pop("streaming")),
    "auth-needed": lambda request, reply: None,
}
ALONG_WITH = {
    # what follows from the one that is broken
    "card-found": set(),
    "answer-error": {"cancel-over"},
    "answer-status": {"task-get"},
    "send-answered": {"send-forgotten", "error-params"},
    "send-non-blocking": {"answer-status", "send-answered", "send-forgotten"},
    "send-parts": {"send-result"},
    "error-params": set(),
}
OF_THE_OLDER_FORMAT = {"plain-answer", "plain-moved"}


def broken_in(report: CheckReport) -> set[str]:
    return {each.rule for each in report.findings if each.outcome in ("fail", "warn")}


async def checked(rule: str, spoil: Spoil) -> CheckReport:
    asking = CheckOptions(
        # what has no card is checked in the format that is given
        wires=(Wire.V10,) if rule == "error-version" else (Wire.V03,),
        policy=LOCAL,
        text="echo hello",
        long="slow 60",
        timeout=2.0 if rule == "send-non-blocking" else 20.0,
        patience=20.0,
        credentials={"authorization": "Bearer x"} if rule == "auth-needed" else {},
    )
    async with breaking(spoil) as url:
        return await check(url, asking)


def test_every_rule_has_an_agent_that_breaks_it() -> None:
    assert {*BROKEN, *OF_THE_OLDER_FORMAT} == {*RULES}


@pytest.mark.req("W-13", "W-12")
@pytest.mark.parametrize("rule", BROKEN)
async def test_what_is_broken_is_found(rule: str) -> None:
    report = await checked(rule, BROKEN[rule])
    assert broken_in(report) == {rule} | ALONG_WITH.get(rule, set())
    [finding] = [each for each in report.findings if each.rule == rule]
    assert finding.fix == RULES[rule].fix
    assert finding.detail
    assert report.passed is (RULES[rule].level == "should")


async def test_a_whole_agent_breaks_nothing() -> None:
    report = await checked("", lambda request, reply: None)
    assert (broken_in(report), report.passed) == (set(), True)


# What is wrong in 1.0 alone


def unwrapped(request: Request, reply: Reply) -> None:
    if request.method in SEND and "result" in reply.value:
        reply.value["result"] = reply.value["result"]["task"]


def with_kinds(request: Request, reply: Reply) -> None:
    if request.method in GET and "result" in reply.value:
        for artifact in reply.value["result"].get("artifacts", []):
            artifact["parts"][0]["kind"] = "text"


def as_in_03(request: Request, reply: Reply) -> None:
    if request.method in SEND and "result" in reply.value:
        reply.value["result"]["task"]["status"]["state"] = "completed"


@pytest.mark.parametrize(
    ("spoil", "rule"),
    [(unwrapped, "send-result"), (with_kinds, "send-parts"), (as_in_03, "send-state")],
)
async def test_what_is_of_03_is_wrong_in_10(spoil: Spoil, rule: str) -> None:
    asking = CheckOptions(
        wires=(Wire.V10,), policy=LOCAL, text="slow 0", timeout=20.0, patience=20.0
    )
    async with breaking(spoil) as url:
        report = await check(url, asking)
    assert rule in broken_in(report)


# What the client forgives


ODD = {**TASKS, **MESSAGES}


@pytest.mark.req("W-13", "W-23")
@pytest.mark.parametrize("wire", Wire, ids=lambda wire: wire.value)
@pytest.mark.parametrize("odd", ODD)
def test_what_the_client_forgives_breaks_a_rule(odd: str, wire: Wire) -> None:
    result = ResultReply(ODD[odd])
    try:
        event = read_strictly(wire, result)
    except UNREADABLE:
        assert read_tolerantly(wire, result) is not None
        return
    # The rule send-output is broken by answers without a text where texts belong.
    assert isinstance(event, Task)
    assert extract(event).warning


@pytest.mark.req("W-13", "W-23")
@pytest.mark.parametrize("odd", ["artifact without artifactId", "state done", "snake case"])
async def test_what_the_client_forgives_is_reported(odd: str) -> None:
    def spoil(request: Request, reply: Reply) -> None:
        if request.method in SEND and "result" in reply.value:
            reply.value["result"] = ODD[odd]

    asking = CheckOptions(
        wires=(Wire.V03,), policy=LOCAL, text="slow 0", timeout=20.0, patience=20.0
    )
    async with breaking(spoil) as url:
        report = await check(url, asking)
    assert broken_in(report) & {"send-result", "send-state"}
