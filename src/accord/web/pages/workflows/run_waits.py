"""What a run waits for, in a few words for its header. Pure: the time comes in."""

from __future__ import annotations

from accord.web.dates import duration, parse
from accord.workflows.operations.run_views import Run, RunWait

_FIRST: tuple[str, ...] = ("approval", "question", "signal", "time", "run", "task")
"""What people can do something about comes first."""


def waits_for(run: Run, now: float) -> str:
    """What a run waits for; empty for one that has ended."""
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
    return _said(waits[0], now) + more


def _said(wait: RunWait, now: float) -> str:
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
