"""The topics that a bus uses: made where they are missing, checked where they are there.

A topic that forgets what nobody has read, or that keeps only the last message of each run, would
lose work; the bus refuses to use one.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType
from msgspec import Struct
from msgspec.structs import astuple

from accord.workflows.bus.errors import TopicError

LARGEST: Final = 1_000_000
"""Bytes of a message: what is larger never goes through a broker. By default one takes 1 MiB of
batches, with what it adds itself."""
SHORTEST_RETENTION: Final = 3_600
"""Seconds for which a topic must keep what it has."""
REPLICAS: Final = 3
"""How many brokers keep each message of a topic that is made here, where there are as many."""
SECONDS: Final = 5.0
"""How long a broker may take to answer."""

_ROOM: Final = LARGEST + 40_000


class Names(Struct, frozen=True, kw_only=True):
    """What topics are called."""

    tasks: str = "accord.tasks"
    results: str = "accord.results"
    runs: str = "accord.runs"
    events: str = "accord.events"
    dead_letters: str = "accord.dead-letters"

    def all(self) -> tuple[str, ...]:
        names: tuple[str, ...] = astuple(self)
        return names


class Shape(Struct, frozen=True, kw_only=True):
    """What topics are made like."""

    partitions: int = 8
    retention_seconds: int = 7 * 86_400


class Topic(Struct, frozen=True):
    """A topic that is there."""

    id: str
    """Which the broker gave it."""
    partitions: int


class Unreachable(Exception):  # noqa: N818 - a state of the network, and not somebody's error
    """The broker does not answer."""


def ensure(admin: AdminClient, names: Names, shape: Shape) -> dict[str, Topic]:
    """Have all topics, by their names. Blocks.

    Raises TopicError for those that cannot be used, Unreachable.
    """
    try:
        known = _known(admin, names.all())
        missing = [name for name in names.all() if name not in known]
        if missing:
            _create(admin, missing, shape)
            known = _wait_for(admin, names.all())
        _check(admin, known, shape)
    except TimeoutError:
        raise Unreachable("no answer") from None
    except KafkaException as error:
        raise _translated(error) from None
    return {
        name: Topic(str(topic.topic_id), len(topic.partitions)) for name, topic in known.items()
    }


def _known(admin: AdminClient, names: Iterable[str]) -> dict[str, Any]:
    """Those topics that are there."""
    asked = admin.describe_topics(TopicCollection(list(names)), request_timeout=SECONDS)
    found = {}
    for name, future in asked.items():
        try:
            found[name] = future.result(SECONDS)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
    return found


def _wait_for(admin: AdminClient, names: Sequence[str]) -> dict[str, Any]:
    """All topics, once the broker that answers has heard of those that were made."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        known = _known(admin, names)
        if len(known) == len(names):
            return known
        time.sleep(0.05)
    raise Unreachable("topics were made, and are not there yet")


def _create(admin: AdminClient, names: Iterable[str], shape: Shape) -> None:
    brokers = len(admin.list_topics(timeout=SECONDS).brokers)
    config = {
        "cleanup.policy": "delete",
        "retention.ms": str(shape.retention_seconds * 1_000),
        "max.message.bytes": str(_ROOM),
    }
    made = admin.create_topics(
        [
            NewTopic(
                name,
                num_partitions=shape.partitions,
                replication_factor=min(REPLICAS, brokers),
                config=config,
            )
            for name in names
        ],
        request_timeout=SECONDS,
    )
    for future in made.values():
        _settle(future)


def _settle(future: Future[Any]) -> None:
    try:
        future.result(SECONDS)
    except KafkaException as error:
        # Another process was faster.
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


def _check(admin: AdminClient, known: Mapping[str, Any], shape: Shape) -> None:
    asked = {name: ConfigResource(ResourceType.TOPIC, name) for name in known}
    answers = admin.describe_configs(list(asked.values()), request_timeout=SECONDS)
    problems = [
        f"{name} {problem}"
        for name, resource in asked.items()
        for problem in _problems(
            len(known[name].partitions), answers[resource].result(SECONDS), shape
        )
    ]
    if problems:
        raise TopicError("topics cannot be used as they are: " + "; ".join(problems))


def _problems(partitions: int, config: Mapping[str, Any], shape: Shape) -> Iterator[str]:
    if partitions < shape.partitions:
        yield f"has {partitions} partitions, and {shape.partitions} are configured"
    if "compact" in config["cleanup.policy"].value:
        yield "is compacted, which loses messages of one run: set cleanup.policy=delete"
    retention = int(config["retention.ms"].value)
    if 0 <= retention < SHORTEST_RETENTION * 1_000:
        yield f"keeps messages for {retention / 1_000:g} s, and {SHORTEST_RETENTION:,} are needed"
    if int(config["retention.bytes"].value) >= 0:
        yield "forgets messages that nobody has read: set retention.bytes=-1"
    largest = int(config["max.message.bytes"].value)
    if largest < _ROOM:
        yield f"takes messages of {largest:,} bytes, and max.message.bytes={_ROOM} is needed"


def _translated(error: KafkaException) -> Exception:
    reason: KafkaError = error.args[0]
    if reason.retriable() or reason.code() in _AWAY:
        return Unreachable(reason.str())
    return TopicError(f"the broker refuses: {reason.str()}")


_AWAY: Final = frozenset(
    {
        KafkaError._TRANSPORT,
        KafkaError._TIMED_OUT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.INVALID_REPLICATION_FACTOR,  # not all brokers are back yet
        KafkaError.UNKNOWN_TOPIC_OR_PART,  # deleted while it was looked at
    }
)
