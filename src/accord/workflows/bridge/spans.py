"""Spans of calls, where tracing is on: what is called continues the trace of its run."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from accord.workflows.bridge.claimed import ClaimedTask


class Spans(Protocol):
    """Makes spans, as `accord.telemetry.tracing.OutgoingSpans` does."""

    def call(
        self, name: str, traceparent: str, attributes: Mapping[str, str]
    ) -> AbstractContextManager[str]: ...


def span_of(spans: Spans | None, task: ClaimedTask) -> AbstractContextManager[str]:
    """A span around an attempt; gives what the request names as its parent."""
    if spans is None:
        return nullcontext(task.traceparent)
    attributes = {
        "accord.task.id": task.id,
        "accord.task.kind": task.kind,
        "accord.task.target": task.shown_target,
        "accord.task.attempt": str(task.attempt),
    }
    return spans.call(f"{task.kind} {task.shown_target}", task.traceparent, attributes)
