"""The older plain format: `{task_id, input}` is posted, `{task_id, status, output, error}` comes
back. Whether an agent speaks it, and how well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from accord.a2a.checker.probe import Probe, Seen, Unseen
from accord.a2a.checker.report import Notes
from accord.transports.web_address import WebAddress

PLAIN: Final = "plain"
_HEADERS: Final = {"accept": "application/json", "content-type": "application/json"}


async def ask_plainly(
    probe: Probe, address: WebAddress, headers: Mapping[str, str], text: str, task_id: str
) -> Seen | Unseen:
    """Ask in the older format."""
    body = msgspec.json.encode({"task_id": task_id, "input": text})
    return await probe.ask("POST", address, {**headers, **_HEADERS}, body)


def is_plain(seen: Seen | Unseen) -> bool:
    """Whether an answer looks like one of the older format."""
    value = seen.json if isinstance(seen, Seen) else None
    return isinstance(value, dict) and "task_id" in value and "jsonrpc" not in value


def judge_plain(seen: Seen | Unseen, task_id: str, notes: Notes) -> None:
    """Tell what is wrong with an answer, and that there is a newer format."""
    problems = _problems(seen, task_id)
    if problems:
        notes.failed("plain-answer", "; ".join(problems), wire=PLAIN)
    else:
        notes.passed("plain-answer", wire=PLAIN)
    notes.failed("plain-moved", "the agent speaks the older plain format", wire=PLAIN)


def _problems(seen: Seen | Unseen, task_id: str) -> list[str]:
    if isinstance(seen, Unseen):
        return [seen.why]
    value = seen.json
    if not isinstance(value, dict):
        return [f"it was HTTP {seen.status}, and no JSON object"]
    problems = [] if seen.status == 200 else [f"it was HTTP {seen.status}"]
    if value.get("task_id") != task_id:
        problems.append("the task_id is not that of the request")
    return problems + _status_problems(value)


def _status_problems(value: dict[str, Any]) -> list[str]:
    match value.get("status"):
        case "success":
            return [] if "output" in value else ["there is no output"]
        case "error":
            return [] if value.get("error") else ["there is no error"]
        case _:
            return ["the status is neither success nor error"]
