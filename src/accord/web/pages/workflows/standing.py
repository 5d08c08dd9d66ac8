"""How far the steps of a run are, on the boxes of its definition. Pure: the time comes in.

A step in a loop has one box for all rounds: it says how many are done, and looks as the one that
matters most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final
from urllib.parse import quote

from accord.web.dates import duration, parse
from accord.web.drawing.graph import Graph, Node
from accord.web.pages.workflows.outline import FAILED, Box, Outline, title_of
from accord.web.states import Tone
from accord.workflows.operations.run_calls import RunCall
from accord.workflows.operations.run_views import Run, Step

TONES: Final[Mapping[str, Tone]] = {
    "completed": "ok",
    "running": "info",
    "waiting": "accent",
    "failed": "bad",
}
"""All other states are quiet."""
_URGENT: Final = ("failed", "waiting", "running", "paused", "cancelled", "pending", "completed")
WHOLE: Final = "@run"
"""Stands for the run itself where a step is chosen; no step has such a name."""


class Standing:
    """The steps of a run by name, and what is under way."""

    def __init__(self, run: Run, calls: Sequence[RunCall], now: float) -> None:
        self.run = run
        self._now = now
        self._attempts = {each.step: each.attempt for each in calls}
        self._by_name: dict[str, list[Step]] = {}
        for step in run.steps:
            self._by_name.setdefault(step.name, []).append(step)

    def graph(self, outline: Outline, chosen: str, link: Callable[[str], str]) -> Graph:
        """The boxes with their states; those of steps that there are lead to `link(key)`."""
        return outline.graph(lambda box: self._node(box, chosen, link))

    def usual(self) -> str:
        """The step that one wants to see first: what failed, then what is under way, then the run
        itself."""
        for state in ("failed", "waiting", "running"):
            found = [each for each in self.run.steps if each.state == state]
            inner = [each for each in found if each.type not in ("parallel", "loop", "condition")]
            if found:
                return (inner or found)[-1].key
        return WHOLE

    def seconds(self, step: Step) -> float | None:
        """How long a step took, or takes so far."""
        return seconds_between(step.started_at, step.finished_at, self._now)

    def attempts(self, step: Step) -> int:
        return self._attempts.get(step.key, step.attempts)

    def _node(self, box: Box, chosen: str, link: Callable[[str], str]) -> Node:
        rounds = self._by_name.get(box.name, [])
        if not rounds:
            note = "" if box.name == FAILED else "pending"
            return Node(id=box.name, title=title_of(box), subtitle=box.about, note=note)
        step = min(rounds, key=lambda each: _URGENT.index(_plain(each.state)))
        return Node(
            id=box.name,
            title=box.name,
            subtitle=box.about,
            note=self._note(box, step) if len(rounds) == 1 else self._count(rounds),
            tone=TONES.get(step.state, "idle"),
            href=link(step.key),
            is_marked=any(each.key == chosen for each in rounds),
        )

    def _count(self, rounds: Sequence[Step]) -> str:
        done = Counter(each.state for each in rounds)
        if done["failed"]:
            return f"{done['failed']} of {len(rounds)} failed"
        return f"{done['completed']} of {len(rounds)} done"

    def _note(self, box: Box, step: Step) -> str:
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
    """Where a step of a run is shown."""
    return lambda key: f"/runs/{quote(run_id)}?step={quote(key)}"


def seconds_between(begin: str | None, end: str | None, now: float) -> float | None:
    if begin is None:
        return None
    last = now if end is None else parse(end).timestamp()
    return max(0.0, last - parse(begin).timestamp())


def _short(seconds: float) -> str:
    """A duration in few letters: tenths of seconds are enough in a box."""
    return f"{seconds:.1f} s" if 0.1 <= seconds < 10 else duration(seconds)


def _plain(state: str) -> str:
    return "completed" if state == "skipped" else state
