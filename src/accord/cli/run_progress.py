"""A run as it happens, line by line; what its end means for the exit code."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

import msgspec

from accord.cli import exits
from accord.cli.output import paint, pretty, print_error_line, print_line, printable

if TYPE_CHECKING:
    from accord.app.local import Local
    from accord.operations.caller import Caller
    from accord.workflows.operations.run_views import Run, RunEvent

CODES: Final = {
    "completed": exits.OK,
    "failed": exits.RUN_FAILED,
    "cancelled": exits.RUN_CANCELLED,
}
_SAID: Final[Mapping[str, str]] = {
    "run_started": "started",
    "step_started": "{key} started",
    "task_succeeded": "{task} completed",
    "task_failed": "{task} failed: {error[message]}",
    "task_asked": "{task} asks for input",
    "task_continued": "{key} got its input",
    "signal_received": "got the signal {name}",
    "approval_given": "{task} was decided by {by}",
    "pause_requested": "paused by {by}",
    "resume_requested": "resumed by {by}",
    "cancel_requested": "is to be cancelled, says {by}",
    "retry_requested": "is to be retried, says {by}",
    "step_failed": "{key} failed: {error[message]}",
    "step_settled": "{key} is over",
    "timer_fired": "{key} is due",
    "run_finished": "{status}",
}


async def follow(local: Local, caller: Caller, run_id: str, *, as_json: bool) -> int:
    """Print what happens in a run until it has ended; the exit code. Raises NotFoundError."""
    from accord.workflows.operations.run_views import shown_event

    found: Run = await call(local, caller, "get_run", id=run_id)
    if found.problem is not None:
        print_error_line(f"note: the run does not go on: {printable(found.problem.message)}")
    asked: set[str] = set()
    async with aclosing(local.watch.follow(run_id)) as following:
        async for events in following:
            for number, event in events:
                shown = shown_event(number, event)
                print_line(msgspec.json.encode(shown) if as_json else _line(shown))
            if events and not as_json:
                _print_approvals(await call(local, caller, "get_run", id=run_id), asked)
    run: Run = await call(local, caller, "get_run", id=run_id)
    if not as_json:
        print_end(run)
    return CODES[run.state]


async def call(local: Local, caller: Caller, operation: str, **arguments: Any) -> Any:
    """The result of an operation that somebody calls."""
    from accord.operations.arguments import convert

    found = local.runner.registry[operation]
    outcome = await local.runner.run(found, lambda: convert(found, arguments), caller)
    return outcome.result


def _print_approvals(run: Run, asked: set[str]) -> None:
    """The decisions that the run waits for, each once."""
    for each in run.approvals:
        if f"{each.key} {each.since}" not in asked:
            asked.add(f"{each.key} {each.since}")
            message = f": {each.message}" if each.message else ""
            said = f"{each.key} waits for the approval of {' or '.join(each.by)}{message}"
            print_line(f"          {printable(said)}")
            if each.data is not None:
                print_line(pretty(msgspec.json.encode(each.data), sys.stdout))


def print_end(run: Run) -> None:
    """What came of a run."""
    if run.error is not None:
        print_line(paint(f"{run.error.code}: {printable(run.error.message)}", "error", sys.stdout))
    elif run.state == "completed":
        print_line(pretty(msgspec.json.encode(run.output), sys.stdout))


def _line(event: RunEvent) -> str:
    words = _SAID.get(event.type, event.type)
    if event.type == "retry_requested" and "step" in event.detail:
        words = "is to be retried from {step}, says {by}"
    try:
        said = printable(words.format_map(_Known(event.detail)))
    except (AttributeError, TypeError, KeyError):  # a newer release tells it differently
        said = event.type
    return f"{paint(event.at[11:19], 'faint', sys.stdout)}  {said}"


class _Known(dict[str, Any]):
    """What an event does not tell is left out."""

    def __missing__(self, key: str) -> str:
        return ""
