"""Several observers in the place of one, and the current trace."""

from __future__ import annotations

import logging
import sys
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from accord import RpcError
from accord.telemetry.observers import all_of, current_traceparent
from accord.telemetry.tracing import trace_headers


class Recorder:
    """Writes down what it is told, and fails where it should."""

    def __init__(self, name: str, told: list[str], *, fails_in: str = "") -> None:
        self._name = name
        self._told = told
        self._fails_in = fails_in

    def _tell(self, what: str, about: object = "") -> None:
        self._told.append(f"{self._name} {what} {about}".rstrip())
        if what == self._fails_in:
            raise RuntimeError(what)

    def called(self, method: str, id: Any, **about: Any) -> Recorder:
        self._tell("called", method)
        return self

    def ended(self, outcome: Any, error: BaseException | None) -> None:
        self._tell("ended", outcome)

    def left(self) -> None:
        self._tell("left")

    def batch_received(self, size: int) -> None:
        self._tell("batch", size)

    def refused(self, error: RpcError) -> None:
        self._tell("refused", error.code)


def tell_everything(observer: Any) -> None:
    seen = observer.called("add", 1, known=True, context=lambda method, id: None)
    seen.ended(7, None)
    seen.left()
    observer.batch_received(2)
    observer.refused(RpcError("no", code=8))


def test_all_are_told_in_order_and_left_in_reverse() -> None:
    told: list[str] = []
    tell_everything(all_of(Recorder("first", told), Recorder("second", told)))
    assert told == [
        *("first called add", "second called add"),
        *("first ended 7", "second ended 7"),
        *("second left", "first left"),
        *("first batch 2", "second batch 2"),
        *("first refused 8", "second refused 8"),
    ]


@pytest.mark.parametrize("place", ["called", "ended", "left", "batch", "refused"])
def test_one_that_fails_is_logged_and_does_not_hinder_the_others(
    place: str, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []
    broken = Recorder("broken", told, fails_in=place)
    tell_everything(all_of(Recorder("first", told), broken, Recorder("last", told)))
    for name in ("first", "last"):
        assert [each for each in told if each.startswith(name)] == [
            f"{name} called add",
            f"{name} ended 7",
            f"{name} left",
            f"{name} batch 2",
            f"{name} refused 8",
        ]
    assert [(record.levelno, record.message) for record in caplog.records] == [
        (logging.ERROR, "an observer of calls failed")
    ]
    # Whoever did not begin to follow a call is not told of its end.
    assert ("broken ended 7" in told) is (place != "called")


def test_none_is_an_observer_too() -> None:
    told: list[str] = []
    tell_everything(all_of(all_of(), Recorder("only", told), all_of()))
    assert told == [
        *("only called add", "only ended 7", "only left", "only batch 2", "only refused 8"),
    ]


def test_the_current_span_is_told_as_headers_tell_it() -> None:
    assert current_traceparent() == ""
    with TracerProvider().get_tracer("test").start_as_current_span("work"):
        assert current_traceparent() == trace_headers()["traceparent"]
    assert current_traceparent() == ""


def test_without_opentelemetry_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.trace")
    assert current_traceparent() == ""
