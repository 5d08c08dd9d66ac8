"""When each step of a run was under way, as bars under each other. Pure: the time comes in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from accord.web.dates import parse
from accord.web.pages.workflows.standing import TONES, Standing
from accord.web.states import Tone
from accord.workflows.operations.run_views import Step

SCALE: Final = 1_000
"""The whole time of a run, in the units of a bar."""
LEAST: Final = 8
"""What is over in no time is to be seen, too."""
MAX_BARS: Final = 200


class Bar(Struct, frozen=True):
    """One step; `left` and `width` are of `SCALE`."""

    step: Step
    tone: Tone
    left: int
    width: int
    seconds: float


def bars(standing: Standing, steps: Sequence[Step], now: float) -> list[Bar]:
    """The steps that began, in their order; the first `MAX_BARS` of them."""
    run = standing.run
    begin = parse(run.created_at).timestamp()
    end = now if run.finished_at is None else parse(run.finished_at).timestamp()
    whole = max(end - begin, 0.001)
    found = []
    for step in steps:
        seconds = standing.seconds(step)
        if step.started_at is None or seconds is None:
            continue
        width = max(LEAST, round(seconds / whole * SCALE))
        left = round((parse(step.started_at).timestamp() - begin) / whole * SCALE)
        left = min(max(left, 0), SCALE - LEAST)
        found.append(
            Bar(step, TONES.get(step.state, "idle"), left, min(width, SCALE - left), seconds)
        )
        if len(found) == MAX_BARS:
            break
    return found
