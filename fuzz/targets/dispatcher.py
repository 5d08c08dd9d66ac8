"""A dispatcher with the methods of `accord demo`: what it answers is JSON-RPC 2.0, to the id."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from msgspec import UnsetType

from accord.cli.demo import demo_router
from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.protocol.channel import ChannelInfo, Limits
from accord.jsonrpc.protocol.messages import Failure, Id, Invalid, Success
from accord.jsonrpc.runtime.dispatcher import Dispatcher
from accord.jsonrpc.runtime.requests import Cancellable
from fuzz import reference
from fuzz.reference import Verdict, typed
from fuzz.targets import Check

LIMITS: Final = Limits(max_depth=8, max_batch_items=6, max_in_flight=2)
TURNS: Final = 4
"""How many turns of the loop a handler gets before its caller gives up."""


@contextmanager
def target() -> Iterator[Check]:
    with asyncio.Runner() as runner:
        caller = runner.run(_make_caller())
        yield caller.check


async def _make_caller() -> Caller:
    return Caller()


class Caller:
    """Where all calls come from; implements `Source`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._dispatcher = Dispatcher(demo_router(), limits=LIMITS)
        self._answers: list[bytes | None] = []
        self._settled = 0

    def check(self, data: bytes) -> None:
        self._answers.clear()
        self._settled = 0
        answer = self._dispatcher.handle(data, self)
        assert not self._answers, "answered before it returned"
        if answer is not None and not isinstance(answer, bytes):
            self._loop.run_until_complete(self._wait(answer))
        assert self._dispatcher.in_flight == 0, "something still runs"
        if self._answers:
            (answer,) = self._answers
        if answer is None or isinstance(answer, bytes):  # else it was given up
            _check_answer(answer, _expected(data))

    async def _wait(self, running: Cancellable) -> None:
        for _ in range(TURNS):
            await asyncio.sleep(0)
        if not self._answers:
            running.cancel()
            for _ in range(TURNS):
                await asyncio.sleep(0)
            assert not self._answers, "answered though it was cancelled"

    # Source

    def context(self, method: str, id: Id | UnsetType) -> Context:
        return Context(
            method,
            id,
            peer=None,
            channel=ChannelInfo(scheme="memory"),
            state={},
        )

    def answer(self, data: bytes | None) -> None:
        self._answers.append(data)

    def settle(self, response: Success | Failure | Invalid) -> None:
        self._settled += 1


def _expected(data: bytes) -> Any:
    """The ids of the answers that are due: a list of them for a batch, None for no answer."""
    read = reference.read(data, LIMITS.max_depth)
    if not isinstance(read, list):
        return _due_id(read)
    if len(read) > LIMITS.max_batch_items:
        return typed(None)
    return [id for id in map(_due_id, read) if id is not None] or None


def _due_id(verdict: Verdict) -> Any:
    match verdict:
        case ("request", id, *_):
            return id
        case ("invalid", id, _, False):
            return id
    return None


def _check_answer(answer: bytes | None, expected: Any) -> None:
    if answer is None:
        assert expected is None, f"nothing was answered to {expected}"
        return
    value = json.loads(answer)
    if isinstance(value, list):
        found: Any = [_answered_id(item) for item in value]
    else:
        found = _answered_id(value)
    assert found == expected, f"answered to {found} instead of {expected}"


def _answered_id(response: Any) -> Any:
    assert response.pop("jsonrpc") == "2.0"
    id = typed(response.pop("id"))
    ((kind, content),) = response.items()
    if kind == "error":
        assert type(content["code"]) is int
        assert type(content["message"]) is str
        assert set(content) <= {"code", "message", "data"}
    else:
        assert kind == "result"
    return id
