"""docs/workflows/chaos.md: what is killed, how it is judged, and what came of it last."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from chaos.progress import SHARES, Progress
from chaos.rounds import RUNS
from chaos.setups import LEASE_SECONDS, PAIRS
from chaos.verdict import FAULTS

PAGE: Final = Path(__file__).parent.parent / "docs" / "workflows" / "chaos.md"

_TITLES: Final = {
    "sqlite": "`accord serve` on SQLite",
    "postgresql": "server, executors, bridges on PostgreSQL",
    "kafka": "the same with Kafka",
}
_COLUMNS: Final = ("rounds", "runs", "retries", "sent again", "unanswered", "seconds a round")
_TEXT: Final = """# Killing everything

`make chaos` runs workflows on real processes, kills one of these with SIGKILL, starts it again, and
checks from outside that nothing was lost and nothing was done twice. It takes more than an hour;
Ctrl-C stops it, and the same command goes on where it was. `ROUNDS=50 SEED=3` makes other rounds,
always the same for the same seed. Ten rounds are part of the tests.

This page is written by the program; shorter runs that came later are added at its end.

## What is killed

A round starts {runs} runs over REST. One of them is cancelled; one is cancelled and retried, up to
three times; one fails in a branch and is retried. Their workflow has agents in sequence, in
parallel, in a loop, behind a condition, in a race that one of them loses and in a step that always
fails and is tolerated; it waits for a signal and for the time, starts a run of another workflow,
and calls an operation of the hub.
While they go on, one process is killed, in each fifth round two, and comes back at once or within
a second:

| set-up | what runs | what is killed |
|---|---|---|
| SQLite | a server | it, the agent |
| PostgreSQL | a server, {pairs} executors, {pairs} bridges | these, the agent, the database |
| Kafka | the same, with `--bus kafka://…` | these, and the broker |

The moment is any, or right after a run was acknowledged, after the agent got a message, after it
had an effect, after somebody heard of that, or after an operation of the hub was done. The agent
comes back with its memory or without. Leases are {lease} seconds. In some rounds an executor or a
bridge is not killed, but stopped (SIGSTOP) until others have taken over, and woken.

## How it is judged

Two ledgers are kept outside. The agent (`chaos/agent.py`, no line of it is Accord's) writes each
message and each effect to a file, on the disk before it answers. The client keeps which runs the
server acknowledged; it asks again with the same idempotency key until it has an answer. After each
round these must agree with the database, row by row:

- each acknowledged run has completed with the right output, after retries where it was to be
  retried, or was cancelled on purpose; there is no run that nobody asked for, and none was started
  twice;
- the rows of each history follow on each other without a gap; each step started once, each task has
  one outcome; in a run that was retried each step completed once, and did not start again after
  that;
- the agent was asked each thing under one message id, and did it once; an agent that forgot
  everything may have done it once more for each time that it did. Where a run was retried it may
  have been asked under a new id, but never after it had done the thing;
- the operation of the hub was done once for each run, and there is one child run;
- nothing is left: no task, no message in an inbox or outbox, no open approval, no dead letter but
  those of the steps that are to fail;
- no process ended that nobody killed.

"""


def write_page(progress: Progress, *, commit: str, date: str) -> None:
    PAGE.write_text(page(progress, commit=commit, date=date))


def page(progress: Progress, *, commit: str, date: str) -> str:
    text = _TEXT.format(runs=RUNS, pairs=PAIRS, lease=LEASE_SECONDS)
    return text + "".join(f"{line}\n" for line in _lines(progress, commit, date))


def _lines(progress: Progress, commit: str, date: str) -> Iterator[str]:
    command = f"make chaos ROUNDS={progress.rounds} SEED={progress.seed}"
    yield "## The last time"
    yield ""
    yield f"`{command}` on {date}, commit {commit}, Python {platform.python_version()}:"
    yield f"{progress.next:,} of {progress.rounds:,} rounds."
    yield ""
    yield _row("set-up", *_COLUMNS, *FAULTS)
    yield "|---" * (1 + len(_COLUMNS) + len(FAULTS)) + "|"
    for set_up, _ in SHARES:
        tally = progress.tallies.get(set_up)
        if tally is not None:
            numbers = (
                *(tally.rounds, tally.runs, tally.retries, tally.repeated),
                tally.unanswered,
            )
            faults = (tally.faults.get(fault, 0) for fault in FAULTS)
            seconds = f"{tally.seconds / tally.rounds:.1f}"
            yield _row(_TITLES[set_up], *(f"{each:,}" for each in numbers), seconds, *faults)
    yield ""
    yield "`sent again` are messages that the agent got more than once, under the same id,"
    yield "`unanswered` requests that the client sent again, as nobody answered, or with 503."
    yield ""
    yield f"Killed: {_counts(progress, 'killed')}. Moments: {_counts(progress, 'moments')}."
    for failed in progress.failed:
        yield f"- {failed}"


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _counts(progress: Progress, field: str) -> str:
    counts: Counter[str] = Counter()
    for tally in progress.tallies.values():
        counts.update(getattr(tally, field))
    return ", ".join(f"{name} {number:,}" for name, number in sorted(counts.items()))
