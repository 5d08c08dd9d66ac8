"""Requests to a run, and the states that do not allow them."""

from __future__ import annotations

import pytest

from accord.workflows.core.errors import RefusedError
from accord.workflows.core.events import (
    ApprovalGiven,
    CancelRequested,
    PauseRequested,
    ResumeRequested,
    RetryRequested,
    SignalReceived,
)
from accord.workflows.core.machine import Request, check_request
from tests.workflows.core.run import Run, agent, wait


def refusal(run: Run, request: Request) -> str | None:
    try:
        check_request(run.program, run.state, request)
    except RefusedError as error:
        return str(error)
    return None


def test_a_run_that_waits_takes_requests() -> None:
    run = Run(wait("w", approval={"by": ["ann"]})).start()
    for request in (
        ApprovalGiven(at=0.0, task="w", approved=True, by="ann"),
        CancelRequested(at=0.0),
        PauseRequested(at=0.0),
        SignalReceived(at=0.0, name="s", id="1"),
    ):
        assert refusal(run, request) is None


def test_what_makes_no_sense_now_is_refused() -> None:
    run = Run(agent("a"), agent("b"))
    assert refusal(run, PauseRequested(at=0.0)) == "the run did not start"
    run.start()
    assert refusal(run, ResumeRequested(at=0.0)) == "the run is not paused"
    assert refusal(run, ApprovalGiven(at=0.0, task="a", approved=True, by="x")) == (
        "nobody is asked to approve 'a'"
    )
    assert refusal(run, RetryRequested(at=0.0, step="a")) == (
        "a run that is running has nothing to retry"
    )
    run.pause()
    assert refusal(run, PauseRequested(at=0.0)) == "the run is paused already"
    assert refusal(run, ResumeRequested(at=0.0)) is None
    run.resume().done("a").done("b")
    assert refusal(run, CancelRequested(at=0.0)) == "the run is completed already"


def test_a_retry_names_a_step_that_started() -> None:
    run = Run(agent("a"), agent("b"), on_error=[agent("h")]).start().fail("a").done("h")
    assert refusal(run, RetryRequested(at=0.0, step="a")) is None
    assert refusal(run, RetryRequested(at=0.0, step="b")) == "no step 'b' was started in this run"
    assert (
        refusal(run, RetryRequested(at=0.0, step="h")) == "'h' belongs to the workflow's on_error"
    )


@pytest.mark.parametrize(
    ("kept", "taken", "expected"),
    [
        (999, 0, None),
        (1_000, 0, "1,000 signals wait to be taken, and that is the limit"),
        (0, 10_000, "the run got 10,000 signals, and that is the limit"),
    ],
)
def test_a_run_keeps_so_many_signals(kept: int, taken: int, expected: str | None) -> None:
    run = Run(wait("w", signal="go")).start()
    run.state.signals = {"x": [None] * kept}
    run.state.signal_ids = {str(number): 1 for number in range(taken)}
    assert refusal(run, SignalReceived(at=0.0, name="x", id="new")) == expected


def test_a_signal_that_came_already_is_not_refused() -> None:
    run = Run(wait("w", signal="go")).start().signal("x", id="one")
    assert refusal(run, SignalReceived(at=0.0, name="x", id="one")) is None
