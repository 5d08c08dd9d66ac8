"""Publishes results that are in no table: whoever hands one over keeps it until it is recorded, and
is told here whether the broker has it. Those that come together, and while the last were on their
way, go together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from accord.workflows.bus.counts import BusCounts
from accord.workflows.bus.publisher import Parcel, Publisher

log = logging.getLogger("accord.workflows.bus")

MOST: Final = 500
"""How many go together."""
PACE_SECONDS: Final = 0.002
"""How long to wait for more, for each that was among the last,"""
LONGEST_PACE: Final = 0.1
"""but no longer than this."""
LOOK_SECONDS: Final = 1.0
"""How often it is looked whether all has caught up."""


class _Sent(Struct, frozen=True):
    parcel: Parcel
    after: Callable[[bool], None]


class Courier:
    """Belongs to one event loop. After the broker did not take something it takes nothing until
    `is_caught_up`: what goes another way meanwhile is not to be overtaken."""

    def __init__(
        self,
        publisher: Publisher,
        counts: BusCounts,
        is_caught_up: Callable[[], Awaitable[bool]],
    ) -> None:
        self._publisher = publisher
        self._counts = counts
        self._is_caught_up = is_caught_up
        self._loop = asyncio.get_running_loop()
        self._waiting: list[_Sent] = []
        self._last = 0
        self._closed = False
        self._running: asyncio.Task[None] | None = None
        self._recovering: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the broker is likely to take something."""
        return not self._closed and self._recovering is None

    def send(self, parcel: Parcel, after: Callable[[bool], None]) -> None:
        """Publish something; `after` is told whether the broker has it. Where it is not, it may
        have it all the same."""
        self._waiting.append(_Sent(parcel, after))
        if self._running is None:
            self._running = self._loop.create_task(self._run())

    async def close(self) -> None:
        """Nothing is taken any more; what is under way ends with the publisher."""
        self._closed = True
        if self._recovering is not None:
            self._recovering.cancel()
        under_way = {each for each in (self._running, self._recovering) if each is not None}
        if under_way:
            await asyncio.wait(under_way)

    async def _run(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(min(self._last * PACE_SECONDS, LONGEST_PACE))
                some, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
                self._last = len(some)
                await self._publish(some)
        finally:
            self._running = None

    async def _publish(self, some: list[_Sent]) -> None:
        try:
            failed = set(await self._publisher.publish([each.parcel for each in some]))
        except Exception:
            log.exception("results were not published")
            failed = set(range(len(some)))
        if failed:
            self._counts.failures += len(failed)
            if self._recovering is None and not self._closed:
                self._recovering = self._loop.create_task(self._recover())
        for place, each in enumerate(some):
            if place not in failed:
                self._counts.published[each.parcel.topic] += 1
            each.after(place not in failed)
        if failed:
            others, self._waiting = self._waiting, []
            for each in others:
                each.after(False)

    async def _recover(self) -> None:
        try:
            is_caught_up = False
            while not is_caught_up:
                await asyncio.sleep(LOOK_SECONDS)
                is_caught_up = await self._is_caught_up()
        finally:
            self._recovering = None
