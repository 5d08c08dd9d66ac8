"""Logs as lines of JSON or as text, with the call that they belong to."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from accord.operations.auth.credentials import make_token
from accord.operations.context import Caller
from accord.operations.logs import Level, LogFormat, configure_logging, serving

log = logging.getLogger("accord.test")

Sink = Callable[..., Callable[[], str]]


@pytest.fixture
def sink() -> Iterator[Sink]:
    """Configures logging; what it gives tells what was logged since."""
    root = logging.getLogger()
    before = (
        root.handlers[:],
        root.level,
        sys.excepthook,
        threading.excepthook,
        sys.unraisablehook,
    )

    def configure(level: Level = "info", format: LogFormat = "json") -> Callable[[], str]:
        stream = io.StringIO()
        configure_logging(level, format, stream)
        return stream.getvalue

    yield configure
    logging.captureWarnings(False)
    root.handlers[:], level, sys.excepthook, threading.excepthook, sys.unraisablehook = before
    root.setLevel(level)


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@contextmanager
def serving_call(username: str, correlation_id: str) -> Iterator[None]:
    """Serve a call of `create_epic` in this block."""
    caller = Caller(
        user_id="1",
        username=username,
        role="User",
        via="token",
        face="mcp",
        correlation_id=correlation_id,
    )
    token = serving.set((caller, "create_epic"))
    try:
        yield
    finally:
        serving.reset(token)


@pytest.mark.req("H-19")
def test_a_line_has_time_level_logger_message_and_context(sink: Sink) -> None:
    said = sink()
    with serving_call("ada", "c-1"):
        log.info("served %s in %d ms", "epics", 3, extra={"count": 2})
    [line] = lines(said())
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "info",
        "logger": "accord.test",
        "message": "served epics in 3 ms",
        "correlation_id": "c-1",
        "operation": "create_epic",
        "actor": "ada",
        "face": "mcp",
        "count": 2,
    }


@pytest.mark.req("H-19")
async def test_a_line_logged_during_a_call_says_which(sink: Sink) -> None:
    said = sink()

    async def call(number: int) -> None:
        with serving_call(f"ada {number}", f"c-{number}"):
            await asyncio.sleep(0)
            log.info("here")

    await asyncio.gather(call(1), call(2))
    log.info("outside")
    assert [(line.get("correlation_id"), line.get("actor")) for line in lines(said())] == [
        ("c-1", "ada 1"),
        ("c-2", "ada 2"),
        (None, None),
    ]


@pytest.mark.req("H-18", "H-19")
@pytest.mark.parametrize("format", ["json", "text"])
def test_no_secret_gets_through_whatever_way_it_takes(sink: Sink, format: LogFormat) -> None:
    said = sink("debug", format)
    canary = make_token("pat")
    secret = "hunter2-canary"
    log.info("in the message %s", canary)
    log.info(f"formatted before {canary}")  # noqa: G004
    log.info("wrong arguments %d", canary)
    log.info("extra", extra={"token": secret, "headers": {"Authorization": secret}, "v": [canary]})
    log.info("by name: password=%s", secret)
    with serving_call(canary, canary):
        log.info("in the context")
    try:
        try:
            raise ValueError(f"cause {canary}")
        except ValueError as error:
            raise RuntimeError({"password": secret}) from error
    except RuntimeError:
        log.exception("failed with %r", {"password": secret})
    log.debug("request: %s", json.dumps({"password": secret, "token": canary}))
    logging.getLogger("other").warning("not ours %s", canary)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn(f"a warning {canary}", stacklevel=1)
    try:
        raise KeyError(canary)
    except KeyError as error:
        sys.excepthook(KeyError, error, error.__traceback__)
    thread = threading.Thread(target=lambda: int(canary), name="worker")
    thread.start()
    thread.join()
    text = said()
    assert canary not in text
    assert secret not in text
    assert "Traceback" in text
    assert "thread worker ended by an exception" in text
    assert "a warning" in text


def test_text_is_one_line_whatever_is_said(sink: Sink) -> None:
    said = sink("info", "text")
    log.warning("two\nlines \x1b[31m", extra={"who": "a\nb"})
    [line] = said().splitlines()
    assert line.endswith(r"WARNING  accord.test: two\x0alines \x1b[31m  who=a\x0ab")


def test_a_field_does_not_replace_what_a_line_always_has(sink: Sink) -> None:
    said = sink()
    log.info("hello", extra={"level": "forged", "time": "forged"})
    [line] = lines(said())
    assert (line["level"], line["level_"], line["time_"]) == ("info", "forged", "forged")


def test_what_was_configured_before_is_replaced(sink: Sink) -> None:
    first, second = sink(), sink()
    log.info("once")
    assert (first(), len(lines(second()))) == ("", 1)
