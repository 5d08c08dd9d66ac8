"""What happened in a run, in sentences. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from accord.web.formatting import Tone, parse
from accord.workflows.operations.run_views import RunEvent

MAX_TEXT: Final = 300
"""Most characters of what somebody said in an event."""


class RunLogEntry(Struct, frozen=True):
    """One event: when, after the beginning; which step; what."""

    sequence: int
    at: str
    since: str
    step: str
    text: str
    tone: Tone


def told(event: RunEvent, begin: str) -> RunLogEntry:
    """An event as people say it."""
    detail = event.detail
    step = str(detail.get("key") or detail.get("task") or "").partition("@")[0]
    plain = event.type.replace("_", " ")
    say, tone = _SAID.get(event.type, (lambda _: plain, "idle"))
    try:
        text = say(detail)
    except (AttributeError, TypeError, ValueError):  # a newer release tells it differently
        text = plain
    return RunLogEntry(
        event.sequence, event.at, clock(event.at, begin), step, text[:MAX_TEXT], tone
    )


def clock(at: str, begin: str) -> str:
    """How long after the beginning: minutes, seconds and tenths."""
    seconds = max(0.0, parse(at).timestamp() - parse(begin).timestamp())
    hours, rest = divmod(seconds, 3_600)
    minutes, rest = divmod(rest, 60)
    most = f"{hours:.0f}:" if hours >= 1 else ""
    return f"{most}{int(minutes):02}:{int(rest * 10) / 10:04.1f}"


def _by(words: str) -> Callable[[dict[str, Any]], str]:
    def say(detail: dict[str, Any]) -> str:
        by, reason = detail.get("by", ""), detail.get("reason", "")
        return f"{words}{f' by {by}' if by else ''}{f': {reason}' if reason else ''}"

    return say


def _failed(detail: dict[str, Any]) -> str:
    error = detail.get("error") or {}
    attempts = detail.get("attempts", 1)
    tried = f" after {attempts} attempts" if attempts > 1 else ""
    return f"failed{tried}: {error.get('code', '')}, {error.get('message', '')}"


def _done(detail: dict[str, Any]) -> str:
    attempts = detail.get("attempts", 1)
    return f"completed after {attempts} attempts" if attempts > 1 else "completed"


def _started(detail: dict[str, Any]) -> str:
    if detail.get("choice"):
        return f"started, and chose {detail['choice']}"
    if isinstance(detail.get("items"), list):
        return f"started with {len(detail['items']):,} items"
    return f"started, until {detail['wake']}" if detail.get("wake") else "started"


def _from(step: str | None) -> str:
    return "" if step is None else f" from {step}"


def _decided(detail: dict[str, Any]) -> str:
    return _by("approved" if detail.get("approved") else "rejected")(detail)


def _settled(detail: dict[str, Any]) -> str:
    return _failed(detail) if detail.get("error") else "is over"


def _finished(detail: dict[str, Any]) -> str:
    error = detail.get("error") or {}
    why = f": {error.get('message', '')}" if error else ""
    return f"the run {detail.get('status', 'ended')}{why}"


_SAID: Final[dict[str, tuple[Callable[[dict[str, Any]], str], Tone]]] = {
    "run_started": (lambda _: "the run started", "idle"),
    "task_succeeded": (_done, "ok"),
    "task_failed": (_failed, "bad"),
    "task_asked": (lambda _: "the agent asks for input", "accent"),
    "task_continued": (lambda _: "got the input that it asked for", "idle"),
    "signal_received": (lambda detail: f"signal {detail.get('name', '')}", "idle"),
    "approval_given": (_decided, "idle"),
    "pause_requested": (_by("paused"), "idle"),
    "resume_requested": (_by("resumed"), "idle"),
    "cancel_requested": (_by("cancelled"), "idle"),
    "retry_requested": (
        lambda detail: _by(f"retried{_from(detail.get('step'))}")(detail),
        "idle",
    ),
    "step_started": (_started, "idle"),
    "step_failed": (_failed, "bad"),
    "round_started": (lambda _: "another round", "idle"),
    "step_settled": (_settled, "idle"),
    "timer_fired": (
        lambda detail: "took too long" if detail.get("kind") == "deadline" else "is due",
        "idle",
    ),
    "run_finished": (_finished, "idle"),
}
