"""What a bus in the same process offers to an executor to decide on: it is in no table, and whoever
offers it keeps it until it is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from msgspec import Struct

from accord.workflows.storage.inbox import Message, Received


class Offer(Struct, eq=False):
    """Messages that came together; `done` has the ids of those that were recorded."""

    messages: list[Received]
    recorded: set[str]
    done: asyncio.Future[set[str]]


class Offers:
    """Those that wait. Belongs to the event loop."""

    def __init__(self) -> None:
        self._waiting: list[Offer] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, messages: Iterable[Message]) -> asyncio.Future[set[str]]:
        received = [_received(each) for each in messages]
        offer = Offer(received, set(), asyncio.get_running_loop().create_future())
        self._waiting.append(offer)
        return offer.done

    def take(self) -> list[Offer]:
        """All of them, each to be settled."""
        taken, self._waiting = self._waiting, []
        return taken


def record(offers: Sequence[Offer], messages: Iterable[Received]) -> None:
    """These messages are recorded."""
    ids = [each.message_id for each in messages if each.message is not None]
    for offer in offers:
        offer.recorded.update(ids)


def settle(offers: Sequence[Offer]) -> None:
    """Nothing more is recorded of these."""
    for offer in offers:
        if not offer.done.done():
            offer.done.set_result(offer.recorded)


def _received(message: Message) -> Received:
    return Received(0, message.id, message.run_id, "", 0, message)
