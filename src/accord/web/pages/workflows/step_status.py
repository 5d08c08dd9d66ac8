"""The status of a run's steps as graph and timeline, and its log in sentences.

The functions do no I/O, and the current time is a parameter. A step in a loop has one box for all
its rounds, which shows the number of completed rounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from msgspec import Struct

from accord.web.formatting import Tone, duration, parse
from accord.web.graph_layout import Graph, GraphNode
from accord.web.pages.workflows.definitions import FAILED, Box, DefinitionGraph, title_of
from accord.workflows.operations.run_views import Run, RunEvent, RunWait, Step
from accord.workflows.operations.runs import RunCall

_FIRST: tuple[str, ...] = ("approval", "question", "signal", "time", "run", "task")
"""The kinds of waits, the most important first: waits that a person can end before all others."""


def waits_for(run: Run, now: float) -> str:
    """Describe what a run waits for; "" if it waits for nothing."""
    if run.problem is not None:
        return f"does not go on: {run.problem.code}"
    if run.state == "pending":
        return "waiting for an executor"
    if run.state == "paused":
        return "until somebody resumes it"
    if not run.waits:
        return ""
    waits = sorted(run.waits, key=lambda wait: _FIRST.index(wait.kind))
    more = f", and {len(waits) - 1} more" if len(waits) > 1 else ""
    return _describe_wait(waits[0], now) + more


def _describe_wait(wait: RunWait, now: float) -> str:
    left = None if wait.until is None else max(0.0, parse(wait.until).timestamp() - now)
    if wait.kind == "time":
        return f"{wait.step} is due in {duration(left)}" if left is not None else wait.step
    words = {
        "approval": f"waiting for the approval of {wait.what}",
        "question": f"waiting for an answer to {wait.what}",
        "signal": f"waiting for the signal {wait.what}",
        "run": f"waiting for a run of {wait.what}",
        "task": f"waiting for {wait.what}",
    }
    is_asked = wait.kind not in ("run", "task")
    expires = f", expires in {duration(left)}" if is_asked and left is not None else ""
    return f"{words[wait.kind]} ({wait.step}){expires}"


TONES: Final[Mapping[str, Tone]] = {
    "completed": "ok",
    "running": "info",
    "waiting": "accent",
    "failed": "bad",
}
"""The tone (the colour) of a step, by state of the step; other states have the tone `idle`."""
_URGENT: Final = ("failed", "waiting", "running", "paused", "cancelled", "pending", "completed")
WHOLE: Final = "@run"
"""The key that selects the whole run instead of one of its steps; no step has this key."""


class StepStatus:
    """The status of all steps of a run.

    For a step with a call in flight, the status has the attempt number of the call.
    """

    def __init__(self, run: Run, calls: Sequence[RunCall], now: float) -> None:
        self.run = run
        self._now = now
        self._attempts = {each.step: each.attempt for each in calls}
        self._by_name: dict[str, list[Step]] = {}
        for step in run.steps:
            self._by_name.setdefault(step.name, []).append(step)

    def graph(self, outline: DefinitionGraph, chosen: str, link: Callable[[str], str]) -> Graph:
        """Return the graph with the states of the steps.

        The box of a started step links to the path `link(key)` of the step.
        """
        return outline.graph(lambda box: self._node(box, chosen, link))

    def default_step(self) -> str:
        """Return the key of the step to show by default.

        That is a failed step, otherwise an active step, otherwise `WHOLE` for the whole run.
        """
        for state in ("failed", "waiting", "running"):
            found = [each for each in self.run.steps if each.state == state]
            inner = [each for each in found if each.type not in ("parallel", "loop", "condition")]
            if found:
                return (inner or found)[-1].key
        return WHOLE

    def seconds(self, step: Step) -> float | None:
        """Return the seconds from the start of a step to its end, or to now."""
        return seconds_between(step.started_at, step.finished_at, self._now)

    def attempts(self, step: Step) -> int:
        return self._attempts.get(step.key, step.attempts)

    def _node(self, box: Box, chosen: str, link: Callable[[str], str]) -> GraphNode:
        rounds = self._by_name.get(box.name, [])
        if not rounds:
            note = "" if box.name == FAILED else "pending"
            return GraphNode(id=box.name, title=title_of(box), subtitle=box.about, note=note)
        step = min(rounds, key=lambda each: _URGENT.index(_as_completed(each.state)))
        return GraphNode(
            id=box.name,
            title=box.name,
            subtitle=box.about,
            note=self._note(step) if len(rounds) == 1 else self._count(rounds),
            tone=TONES.get(step.state, "idle"),
            href=link(step.key),
            is_marked=any(each.key == chosen for each in rounds),
        )

    def _count(self, rounds: Sequence[Step]) -> str:
        done = Counter(each.state for each in rounds)
        if done["failed"]:
            return f"{done['failed']} of {len(rounds)} failed"
        return f"{done['completed']} of {len(rounds)} done"

    def _note(self, step: Step) -> str:
        seconds = self.seconds(step)
        match step.state:
            case "completed":
                return f"done {_short(seconds)}" if seconds is not None else "done"
            case "running" if self.attempts(step) > 1:
                return f"attempt {self.attempts(step)}"
            case "running" if step.type in ("parallel", "loop", "condition"):
                return "running"
            case "running":
                return f"running {_short(seconds)}" if seconds is not None else "running"
            case "waiting":
                return "waits"
            case _:
                return step.state


def link_to(run_id: str) -> Callable[[str], str]:
    """Return a function that returns the path of a step of this run, by the step's key."""
    return lambda key: f"/runs/{quote(run_id)}?step={quote(key)}"


def seconds_between(begin: str | None, end: str | None, now: float) -> float | None:
    if begin is None:
        return None
    last = now if end is None else parse(end).timestamp()
    return max(0.0, last - parse(begin).timestamp())


def _short(seconds: float) -> str:
    """Return a short text for a duration, to be shown in a box."""
    return f"{seconds:.1f} s" if 0.1 <= seconds < 10 else duration(seconds)


def _as_completed(state: str) -> str:
    return "completed" if state == "skipped" else state


SCALE: Final = 1_000
"""The width of a bar for the whole duration of a run."""
MIN_BAR_WIDTH: Final = 8
"""The minimum width of a bar, so that short steps are visible."""
MAX_BARS: Final = 200


class Bar(Struct, frozen=True):
    """The bar of a step in the timeline; `left` and `width` are in units of `SCALE`."""

    step: Step
    tone: Tone
    left: int
    width: int
    seconds: float


def bars(status: StepStatus, steps: Sequence[Step], now: float) -> list[Bar]:
    """Return the timeline bars of the first `MAX_BARS` started steps, in order."""
    run = status.run
    begin = parse(run.created_at).timestamp()
    end = now if run.finished_at is None else parse(run.finished_at).timestamp()
    whole = max(end - begin, 0.001)
    found = []
    for step in steps:
        seconds = status.seconds(step)
        if step.started_at is None or seconds is None:
            continue
        width = max(MIN_BAR_WIDTH, round(seconds / whole * SCALE))
        left = round((parse(step.started_at).timestamp() - begin) / whole * SCALE)
        left = min(max(left, 0), SCALE - MIN_BAR_WIDTH)
        found.append(
            Bar(step, TONES.get(step.state, "idle"), left, min(width, SCALE - left), seconds)
        )
        if len(found) == MAX_BARS:
            break
    return found


MAX_TEXT: Final = 300
"""The most characters of the sentence about an event."""


class RunLogEntry(Struct, frozen=True):
    """An event in the log of a run, described in a sentence."""

    sequence: int
    at: str
    since: str
    step: str
    text: str
    tone: Tone


def log_entry(event: RunEvent, begin: str) -> RunLogEntry:
    """Return an event as an entry of the run log; `begin` is when the run was created."""
    detail = event.detail
    step = str(detail.get("key") or detail.get("task") or "").partition("@")[0]
    plain = event.type.replace("_", " ")
    say, tone = _SENTENCES.get(event.type, (lambda _: plain, "idle"))
    try:
        text = say(detail)
    except (AttributeError, TypeError, ValueError):  # a newer release has other details
        text = plain
    return RunLogEntry(
        event.sequence, event.at, clock(event.at, begin), step, text[:MAX_TEXT], tone
    )


def clock(at: str, begin: str) -> str:
    """Return the time from `begin` to `at`, in hours, minutes, seconds and tenths."""
    seconds = max(0.0, parse(at).timestamp() - parse(begin).timestamp())
    hours, rest = divmod(seconds, 3_600)
    minutes, rest = divmod(rest, 60)
    hours_part = f"{hours:.0f}:" if hours >= 1 else ""
    return f"{hours_part}{int(minutes):02}:{int(rest * 10) / 10:04.1f}"


def _with_user(words: str) -> Callable[[dict[str, Any]], str]:
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
    return _with_user("approved" if detail.get("approved") else "rejected")(detail)


def _settled(detail: dict[str, Any]) -> str:
    return _failed(detail) if detail.get("error") else "is over"


def _finished(detail: dict[str, Any]) -> str:
    error = detail.get("error") or {}
    reason = f": {error.get('message', '')}" if error else ""
    return f"the run {detail.get('status', 'ended')}{reason}"


_SENTENCES: Final[dict[str, tuple[Callable[[dict[str, Any]], str], Tone]]] = {
    "run_started": (lambda _: "the run started", "idle"),
    "task_succeeded": (_done, "ok"),
    "task_failed": (_failed, "bad"),
    "task_asked": (lambda _: "the agent asks for input", "accent"),
    "task_continued": (lambda _: "got the input that it asked for", "idle"),
    "signal_received": (lambda detail: f"signal {detail.get('name', '')}", "idle"),
    "approval_given": (_decided, "idle"),
    "pause_requested": (_with_user("paused"), "idle"),
    "resume_requested": (_with_user("resumed"), "idle"),
    "cancel_requested": (_with_user("cancelled"), "idle"),
    "retry_requested": (
        lambda detail: _with_user(f"retried{_from(detail.get('step'))}")(detail),
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
