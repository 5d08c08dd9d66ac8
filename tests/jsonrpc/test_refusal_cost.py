"""Refusing a message costs about as much as reading a valid one, whatever is wrong with it."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from msgspec import Meta, Struct, UnsetType

from accord import Context, Limits, Router
from accord.jsonrpc.channel import ChannelInfo
from accord.jsonrpc.codec import decode
from accord.jsonrpc.dispatcher import Dispatcher
from accord.jsonrpc.messages import Failure, Id, Invalid, Success
from tests.hostile.cost import assert_refused_cheaply
from tests.hostile.messages import CASES, KIB, SIZES, Case

every_size = pytest.mark.parametrize(
    "size",
    [
        pytest.param(
            size, id=f"{size:,}", marks=[] if size in (KIB, 256 * KIB) else pytest.mark.matrix
        )
        for size in SIZES
    ],
)
"""The bound is one thing for small messages and another for all others: one size shows each."""

router = Router()


class Record(Struct):
    a: list[int]


@router.method
def sink(*values: Any) -> None:
    pass


@router.method
def nothing() -> None:
    pass


@router.method
def numbers(values: list[int]) -> None:
    pass


@router.method
def records(values: list[Record]) -> None:
    pass


@router.method
def anything(data: Any) -> None:
    pass


@router.method
def limited(data: list[int], size: Annotated[int, Meta(ge=0)] = 0) -> None:
    pass


@router.method
def short(data: Annotated[list[int], Meta(max_length=3)]) -> None:
    pass


@router.method(name="sum")
def add_up(*values: int) -> None:
    pass


class Source:
    def context(self, method: str, id: Id | UnsetType) -> Context:
        return Context(method, id, channel=ChannelInfo(scheme="test"))

    def answer(self, data: bytes | None) -> None:
        raise AssertionError("answered later")

    def settle(self, response: Success | Failure | Invalid) -> None:
        pass


@pytest.mark.req("F-31")
@every_size
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_refusing_costs_at_most_twice_what_a_valid_message_does(
    case: Case, size: int
) -> None:
    dispatcher = Dispatcher(router, limits=Limits())
    source = Source()
    hostile, valid = case.hostile(size), case.valid(size)
    served = dispatcher.handle(valid, source)
    assert not (isinstance(served, bytes) and b'"error"' in served), served[:200]
    assert_refused_cheaply(
        lambda: dispatcher.handle(hostile, source), lambda: dispatcher.handle(valid, source), size
    )


@pytest.mark.req("F-31")
@every_size
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reading_what_is_refused_costs_at_most_twice_as_much(case: Case, size: int) -> None:
    hostile, valid = case.hostile(size), case.valid(size)
    assert_refused_cheaply(lambda: decode(hostile), lambda: decode(valid), size)
