"""What is done once per request, and what its results look like."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
from msgspec import Struct

from accord.mcp.server.input_requests.request_state import Once


class Receipt(Struct):
    number: int


async def test_a_result_is_of_the_type_that_its_function_returns_in_every_run() -> None:
    async def pay(amount: int) -> Receipt:
        return Receipt(amount)

    once = Once()
    assert await once.do("pay", partial(pay, 3)) == Receipt(3)
    assert once.results == {"pay": b'{"number":3}'}
    assert await Once(dict(once.results)).do("pay", partial(pay, 4)) == Receipt(3)


async def test_a_result_of_no_type_is_what_json_makes_of_it() -> None:
    once = Once()
    assert await once.do("plain", lambda: (1, 2)) == [1, 2]
    assert await once.do("none", lambda: None) is None
    assert await once.do("none", lambda: 1) is None


async def test_who_wants_the_same_at_the_same_time_waits_for_one_run() -> None:
    runs: list[int] = []

    async def count() -> int:
        runs.append(1)
        await asyncio.sleep(0)
        return len(runs)

    once = Once()
    assert await asyncio.gather(*(once.do("count", count) for _ in range(3))) == [1, 1, 1]


async def test_what_fails_is_done_again() -> None:
    runs: list[int] = []

    async def fail() -> int:
        runs.append(1)
        if len(runs) == 1:
            raise OSError("full")
        return 7

    once = Once()
    with pytest.raises(OSError, match="full"):
        await once.do("fail", fail)
    assert await once.do("fail", fail) == 7


async def test_a_result_that_is_not_what_its_function_says_is_an_error() -> None:
    def wrong() -> Any:
        return "seven"

    wrong.__annotations__["return"] = int
    with pytest.raises(TypeError, match="expected int"):
        await Once().do("wrong", wrong)


async def test_what_has_begun_can_be_waited_for_or_stopped() -> None:
    release = asyncio.Event()

    async def slow() -> int:
        await release.wait()
        return 1

    once = Once()
    first = asyncio.ensure_future(once.do("slow", slow))
    await asyncio.sleep(0)
    first.cancel()
    release.set()
    await once.finish()
    assert once.results == {"slow": b"1"}

    release.clear()
    again = Once()
    second = asyncio.ensure_future(again.do("slow", slow))
    await asyncio.sleep(0)
    again.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    assert again.results == {}
