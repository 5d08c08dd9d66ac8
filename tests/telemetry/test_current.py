"""The span that something happens in."""

from __future__ import annotations

import sys

import pytest
from opentelemetry.sdk.trace import TracerProvider

from accord.telemetry.current import current_traceparent
from accord.telemetry.tracing import trace_headers


def test_the_current_span_is_told_as_headers_tell_it() -> None:
    assert current_traceparent() == ""
    with TracerProvider().get_tracer("test").start_as_current_span("work"):
        assert current_traceparent() == trace_headers()["traceparent"]
    assert current_traceparent() == ""


def test_without_opentelemetry_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.trace")
    assert current_traceparent() == ""
