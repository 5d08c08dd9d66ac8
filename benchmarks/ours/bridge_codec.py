"""What it costs to make the request for a task and to read the agent's answer, in both formats of
A2A: from the input of a step to the bytes of a body, and from those of the answer to an output.

Prints JSON: microseconds of CPU, the median of many slices.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from statistics import median
from typing import Any, Final

from accord.a2a.protocol.calls import message_of, read_answer, send_request
from accord.a2a.protocol.fields import Wire
from accord.a2a.protocol.formats import FORMATS
from accord.a2a.protocol.model import Send
from accord.a2a.protocol.outcome import DoneOutcome, outcome_of

ID: Final = "0b6f4a4e-3c1c-4c55-9f3b-0d8a2f1e7c11/step-1"
TEXT: Final = "The system shall keep the logs for a year. " * 24
SLICES, CALLS = 21, 500

PARTS: Final = {Wire.V03: {"kind": "text", "text": TEXT}, Wire.V10: {"text": TEXT}}
TASKS: Final[dict[Wire, dict[str, Any]]] = {
    Wire.V03: {"kind": "task", "status": {"state": "completed"}},
    Wire.V10: {"status": {"state": "TASK_STATE_COMPLETED"}},
}


def build(wire: Wire) -> bytes:
    message = message_of({"text": TEXT, "language": "en"}, message_id=ID)
    return send_request(wire, ID, Send(message=message, blocking=False))


def answer(wire: Wire) -> bytes:
    artifact = {"artifactId": "1", "parts": [PARTS[wire]]}
    task = {"id": "1", "contextId": "2", "artifacts": [artifact], **TASKS[wire]}
    result = {"task": task} if wire is Wire.V10 else task
    return json.dumps({"jsonrpc": "2.0", "id": ID, "result": result}).encode()


def parse(wire: Wire, body: bytes) -> str:
    outcome = outcome_of(read_answer(body, ID, wire))
    assert isinstance(outcome, DoneOutcome)
    return str(outcome.extracted.output)


def microseconds(operation: Callable[[], object]) -> float:
    taken = []
    for _ in range(SLICES):
        started = time.thread_time_ns()
        for _ in range(CALLS):
            operation()
        taken.append((time.thread_time_ns() - started) / CALLS / 1e3)
    return median(taken)


def main() -> None:
    found = {}
    for wire in FORMATS:
        body = answer(wire)
        assert parse(wire, body) == TEXT
        found[f"build {wire.value}"] = microseconds(lambda wire=wire: build(wire))  # type: ignore[misc]
        found[f"parse {wire.value}"] = microseconds(
            lambda wire=wire, body=body: parse(wire, body)  # type: ignore[misc]
        )
    print(json.dumps(found), flush=True)


main()
