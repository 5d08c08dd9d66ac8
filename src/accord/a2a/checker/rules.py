"""The rules by which agents are checked, how to fix violations, and the report.

MUST rules are needed by Accord or the specification: an agent that breaks one cannot be called, or
not safely. SHOULD rules make an agent better: if one is broken, work may be repeated or errors are
less informative.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal, TypeAlias

from msgspec import Struct

Level: TypeAlias = Literal["must", "should"]


class CheckRule(Struct, frozen=True):
    """A rule: the requirement, and how to meet it."""

    id: str
    level: Level
    holds: str
    fix: str


_TABLE: Final = (
    # The card
    CheckRule(
        "card-found",
        "must",
        "the card is at /.well-known/agent-card.json",
        "Answer GET /.well-known/agent-card.json, below the agent's URL or at the root of its "
        "host, with status 200 and the card, without asking for credentials.",
    ),
    CheckRule(
        "card-type",
        "should",
        "the card is sent as application/json",
        "Send the header Content-Type: application/json with the card.",
    ),
    CheckRule(
        "card-members",
        "must",
        "the card has every member that its format asks for",
        "Give the card name, description, version, capabilities, defaultInputModes, "
        "defaultOutputModes and skills (each with id, name, description, tags); for 0.3 also "
        "protocolVersion and url, for 1.0 supportedInterfaces.",
    ),
    CheckRule(
        "card-interface",
        "must",
        "the card names an interface of JSON-RPC in format 0.3 or 1.0",
        'For 0.3 write "url", "protocolVersion": "0.3.0" and "preferredTransport": "JSONRPC"; for '
        '1.0 an entry of "supportedInterfaces" with "url", "protocolBinding": "JSONRPC" and '
        '"protocolVersion": "1.0".',
    ),
    CheckRule(
        "card-address",
        "should",
        "the card sends requests to the host that it comes from",
        "Write the public URL of the agent into the card. Credentials are sent to the host of the "
        "registered URL only, so that an agent elsewhere cannot be called with any.",
    ),
    # Every answer
    CheckRule(
        "answer-status",
        "must",
        "requests by POST are answered, and not redirected",
        "Take POST at the URL that the card names, and answer with HTTP status 200, errors of "
        "JSON-RPC too. Redirects are not followed: register the URL they lead to.",
    ),
    CheckRule(
        "answer-type",
        "must",
        "answers are application/json",
        "Send the header Content-Type: application/json with every answer that is no stream.",
    ),
    CheckRule(
        "answer-coding",
        "must",
        "answers are not compressed unless that was asked for",
        "Compress only where the request has an Accept-Encoding that allows it; Accord sends none.",
    ),
    CheckRule(
        "answer-version",
        "must",
        'answers have "jsonrpc": "2.0"',
        'Put "jsonrpc": "2.0" into every answer, errors included.',
    ),
    CheckRule(
        "answer-id",
        "must",
        "answers have the id of their request, unchanged",
        "Copy the request's id into the answer as it is: a text stays a text, with every character "
        "in it. Only where the id could not be read, with -32700 or -32600, it is null.",
    ),
    CheckRule(
        "answer-one-of",
        "must",
        "answers have either a result or an error",
        'Leave "error" out of an answer that has a "result", and the other way round; not even '
        "null may stand there.",
    ),
    CheckRule(
        "answer-error",
        "must",
        "errors have a code, which is a whole number, and a message, which is a text",
        'Write errors as {"code": -32603, "message": "what went wrong"}; further details belong '
        'into "data".',
    ),
    # Requests that are wrong
    CheckRule(
        "error-parse",
        "must",
        "what is no JSON is answered with -32700",
        "Answer a body that is no JSON with the error -32700 and the id null.",
    ),
    CheckRule(
        "error-request",
        "should",
        "JSON that is no request is answered with -32600",
        'Answer JSON without "jsonrpc": "2.0" or without a method with the error -32600.',
    ),
    CheckRule(
        "error-method",
        "must",
        "a method that is not there is answered with -32601",
        "Answer methods that the agent does not know with the error -32601.",
    ),
    CheckRule(
        "error-params",
        "should",
        "params that are wrong are answered with -32602",
        "Answer a request to send a message that has none in it with the error -32602.",
    ),
    CheckRule(
        "error-version",
        "should",
        "a version that is not spoken is answered with -32009",
        "Answer a request with an A2A-Version that the agent does not speak with the error "
        "-32009, not in another format.",
    ),
    # Messages
    CheckRule(
        "send-answered",
        "must",
        "a message with a text is answered with a result",
        "Answer message/send (1.0: SendMessage) with a task or a message. What goes wrong while "
        "the agent works is no error of JSON-RPC but a task in the state failed. Members that "
        "the agent does not know, such as metadata, are no reason to refuse a message.",
    ),
    CheckRule(
        "send-result",
        "must",
        "the result is a whole task or message of its format",
        'For 0.3 the result is the task itself, with "kind": "task", id, contextId and status, or '
        'the message, with "kind": "message", messageId, role and parts. For 1.0 it is '
        '{"task": …} or {"message": …}.',
    ),
    CheckRule(
        "send-parts",
        "must",
        "every part says what it is, as its format does",
        'For 0.3 each part has a kind, as {"kind": "text", "text": "…"}; for 1.0 none has, as '
        '{"text": "…"}.',
    ),
    CheckRule(
        "send-state",
        "must",
        "the state of a task is one of its format",
        "For 0.3 states are submitted, working, input-required, auth-required, completed, failed, "
        "rejected, canceled (with one l) and unknown; for 1.0 TASK_STATE_COMPLETED and so on.",
    ),
    CheckRule(
        "send-completed",
        "must",
        "the task comes to its end, and is completed",
        "Put a task that worked into the state completed, everything else into failed, rejected "
        "or canceled. Where the agent needs another text for that, check it with --text TEXT.",
    ),
    CheckRule(
        "send-output",
        "should",
        "the output is a text where it is looked for",
        "Put the text into parts of artifacts; else into the message of the status. Without any "
        "text the whole result becomes the output of the step.",
    ),
    CheckRule(
        "send-non-blocking",
        "must",
        "a message that nobody waits for is answered in time",
        'With "blocking": false (1.0: "returnImmediately": true) answer at once, with a task in '
        "the state submitted or working, and go on with it in the background.",
    ),
    CheckRule(
        "send-again",
        "should",
        "a message that comes again, with the same messageId, is not worked on again",
        "Remember the messageId, and answer one that comes again with the task that it began. "
        "Accord sends the same id again when it cannot know whether the first one arrived.",
    ),
    CheckRule(
        "send-forgotten",
        "should",
        "a message for a task that is not there is answered with -32001",
        "Answer a message with a taskId that the agent does not know with the error -32001, so "
        "that the work can begin anew.",
    ),
    # Tasks
    CheckRule(
        "task-get",
        "must",
        "a task can be asked for, and is the same",
        "Keep tasks for a while after they ended, and answer tasks/get (1.0: GetTask) with the "
        "task itself: the same id, its state, its artifacts.",
    ),
    CheckRule(
        "task-unknown",
        "must",
        "a task that is not there is answered with -32001",
        "Answer tasks/get (1.0: GetTask) for an id that the agent does not know with the error "
        "-32001: by it Accord knows that a task was forgotten.",
    ),
    CheckRule(
        "cancel-unknown",
        "must",
        "cancelling a task that is not there is answered with -32001",
        "Answer tasks/cancel (1.0: CancelTask) for an id that the agent does not know with -32001.",
    ),
    CheckRule(
        "cancel-over",
        "should",
        "cancelling a task that is over is answered with -32002",
        "Answer tasks/cancel (1.0: CancelTask) for a task that has ended with the error -32002, "
        "and leave the task as it is.",
    ),
    CheckRule(
        "cancel-running",
        "should",
        "a task that runs can be cancelled",
        "Answer tasks/cancel (1.0: CancelTask) for a running task with the task in the state "
        "canceled, and stop working on it.",
    ),
    # Streams
    CheckRule(
        "stream-type",
        "must",
        "streams are text/event-stream",
        "Answer message/stream (1.0: SendStreamingMessage) with Content-Type: text/event-stream, "
        'or set "streaming" to false in the capabilities of the card.',
    ),
    CheckRule(
        "stream-events",
        "must",
        "each event is an answer with the id of its request and a valid result",
        'Write each event as "data: " and a whole answer of JSON-RPC on one line, then an empty '
        "line. Its result is a task, a message, a status update or an artifact update.",
    ),
    CheckRule(
        "stream-end",
        "must",
        "a stream ends after the event that tells of the end",
        'Close the response after the last event: a message, or a status that is final (for 0.3 '
        '"final": true).',
    ),
    CheckRule(
        "stream-refused",
        "should",
        "an agent without streams says so",
        "Answer message/stream (1.0: SendStreamingMessage) with -32004 or -32601 where the card "
        'does not have "streaming": true.',
    ),
    # Credentials
    CheckRule(
        "auth-needed",
        "should",
        "requests without credentials are answered with 401",
        "Answer requests without credentials, or with wrong ones, with status 401 and the header "
        "WWW-Authenticate.",
    ),
    # The older format
    CheckRule(
        "plain-answer",
        "must",
        "answers of the older plain format are whole",
        'Answer {"task_id", "status", "output", "error"} with the task_id of the request, and '
        '"success" or "error" as the status.',
    ),
    CheckRule(
        "plain-moved",
        "must",
        "the agent speaks JSON-RPC",
        "Move the agent to JSON-RPC: docs/agents/migration.md shows the code before and after. "
        "Until then register it with the wire format plain.",
    ),
)  # fmt: skip

RULES: Final = {rule.id: rule for rule in _TABLE}
"""All rules by id, in the order of the report."""


Outcome: TypeAlias = Literal["pass", "fail", "warn", "skipped"]
MAX_DETAIL: Final = 300


class RuleFinding(Struct, frozen=True, kw_only=True):
    """The outcome of one rule."""

    rule: str
    wire: str
    """The checked format; empty for rules that do not depend on a format."""
    outcome: Outcome
    holds: str
    """The requirement that the rule states."""
    detail: str = ""
    fix: str = ""


class CheckReport(Struct, frozen=True, kw_only=True):
    """All findings about an agent."""

    url: str
    agent: str
    """The agent's name and version in its card; empty without a card."""
    wires: tuple[str, ...]
    findings: tuple[RuleFinding, ...]

    def count(self, outcome: Outcome) -> int:
        return Counter(each.outcome for each in self.findings)[outcome]

    @property
    def passed(self) -> bool:
        """Return true if every MUST rule holds."""
        return self.count("fail") == 0


class FindingCollector:
    """A collector of the findings of a check.

    The first outcome of a rule in a format counts, except that a later failure replaces a pass or a
    skip.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], RuleFinding] = {}

    def passed(self, rule: str, detail: str = "", *, wire: str = "") -> None:
        self._found.setdefault((rule, wire), _finding(RULES[rule], wire, "pass", detail))

    def failed(self, rule: str, detail: str, *, wire: str = "") -> None:
        known = self._found.get((rule, wire))
        if known is None or known.outcome in ("pass", "skipped"):
            outcome: Outcome = "fail" if RULES[rule].level == "must" else "warn"
            self._found[rule, wire] = _finding(RULES[rule], wire, outcome, detail)

    def skipped(self, rule: str, reason: str, *, wire: str = "") -> None:
        self._found.setdefault((rule, wire), _finding(RULES[rule], wire, "skipped", reason))

    def findings(self) -> tuple[RuleFinding, ...]:
        """Return the findings, sorted by format and by the order of the rules."""
        places = {rule: place for place, rule in enumerate(RULES)}
        return tuple(sorted(self._found.values(), key=lambda each: (each.wire, places[each.rule])))


def _finding(rule: CheckRule, wire: str, outcome: Outcome, detail: str) -> RuleFinding:
    shown = detail if len(detail) <= MAX_DETAIL else f"{detail[:MAX_DETAIL]}…"
    broken = outcome in ("fail", "warn")
    return RuleFinding(
        rule=rule.id,
        wire=wire,
        outcome=outcome,
        holds=rule.holds,
        detail=shown,
        fix=rule.fix if broken else "",
    )
