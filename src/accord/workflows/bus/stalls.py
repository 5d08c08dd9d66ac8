"""Notices that a consumer does not get what the broker has. Where a broker is killed while
partitions are handed out, librdkafka may never fetch them; a new consumer does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from confluent_kafka import Consumer, TopicPartition

ANSWER_SECONDS: Final = 2.0
"""How long the broker may take to say where a partition ends."""

Place: TypeAlias = tuple[str, int]
"""A partition of a topic."""


class Stalls:
    """Looks at one consumer now and then, on its thread."""

    def __init__(self) -> None:
        self._positions: Mapping[Place, int] = {}
        self._behind: frozenset[Place] = frozenset()

    def look(self, consumer: Consumer) -> dict[Place, int]:
        """Where nothing came since the last look, though the broker had something then; and which
        offset was to come. Raises KafkaException where it does not answer; then nothing is known at
        the next look, either."""
        before, was_behind = self._positions, self._behind
        self._positions, self._behind = {}, frozenset()
        positions = {_place(each): each.offset for each in consumer.position(consumer.assignment())}
        behind = {}
        for place, offset in positions.items():
            if before.get(place) == offset:
                next_one, end = _next_and_end(consumer, place, offset)
                if next_one < end:
                    behind[place] = next_one
        self._positions, self._behind = positions, frozenset(behind)
        return {place: offset for place, offset in behind.items() if place in was_behind}


def _next_and_end(consumer: Consumer, place: Place, position: int) -> tuple[int, int]:
    """Which offset is to be read next, and where a partition ends."""
    partition = TopicPartition(*place)
    first, end = consumer.get_watermark_offsets(partition, timeout=ANSWER_SECONDS)
    if position < 0:  # nothing was read yet
        [committed] = consumer.committed([partition], timeout=ANSWER_SECONDS)
        position = max(first, committed.offset)
    return position, end


def _place(partition: TopicPartition) -> Place:
    return partition.topic, partition.partition


def places(partitions: Iterable[TopicPartition]) -> frozenset[Place]:
    return frozenset(map(_place, partitions))
