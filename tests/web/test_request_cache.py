"""What is costly to find out is found out once, until something changes."""

from __future__ import annotations

import asyncio

import pytest

from accord.web.request import PageCache

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]


class Source:
    """Gives a number more each time it is asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.was_asked = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def find(self) -> int:
        self.asked += 1
        number = self.asked
        self.was_asked.set()
        await self.may_answer.wait()
        return number


async def test_what_was_found_is_kept_until_something_changes() -> None:
    keeping, source = PageCache(), Source()
    assert [await keeping.get("a", source.find) for _ in range(3)] == [1, 1, 1]
    assert await keeping.get("b", source.find) == 2
    keeping.forget()
    assert await keeping.get("a", source.find) == 3


async def test_those_who_ask_at_the_same_time_wait_for_one_answer() -> None:
    keeping, source = PageCache(), Source()
    assert await asyncio.gather(*(keeping.get("a", source.find) for _ in range(5))) == [1] * 5


async def test_what_changed_while_it_was_found_out_is_not_kept() -> None:
    keeping, source = PageCache(), Source()
    source.may_answer.clear()
    asking = asyncio.create_task(keeping.get("a", source.find))
    await source.was_asked.wait()
    keeping.forget()
    source.may_answer.set()
    assert await asking == 1
    assert await keeping.get("a", source.find) == 2


async def test_names_are_not_kept_without_end() -> None:
    keeping, source = PageCache(), Source()
    for number in range(500):
        await keeping.get(str(number), source.find)
    assert await keeping.get("0", source.find) == 501
