"""The topics of the bus, and its address.

Missing topics are created, and existing ones are checked. A topic that deletes unread messages, or
keeps only the last message of each run (compaction), would lose work, so the bus refuses to use it.

An address is one line:

    kafka://one:9092,two:9092?partitions=8&retention_days=7&tasks=our.tasks&options=/etc/kafka.conf

Everything after `?` is optional. `options` names a file of librdkafka settings, one `name=value`
per line, which is the place for passwords.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType
from msgspec import Struct
from msgspec.structs import astuple, fields

from accord.workflows.bus.bus import BusError, TopicError

MAX_MESSAGE_BYTES: Final = 1_000_000
"""The maximum size of a message; larger ones are passed through the database.

A broker accepts batches of 1 MiB by default, including its own overhead.
"""
MIN_RETENTION_SECONDS: Final = 3_600
"""The minimum retention of a topic, in seconds."""
REPLICAS: Final = 3
"""The replication factor of new topics, limited by the number of brokers."""
BROKER_TIMEOUT_SECONDS: Final = 5.0
"""The timeout of requests to a broker, in seconds."""

_MAX_BATCH_BYTES: Final = MAX_MESSAGE_BYTES + 40_000


class TopicNames(Struct, frozen=True, kw_only=True):
    """The names of the topics that the bus uses."""

    tasks: str = "accord.tasks"
    results: str = "accord.results"
    runs: str = "accord.runs"
    events: str = "accord.events"
    dead_letters: str = "accord.dead-letters"

    def all(self) -> tuple[str, ...]:
        names: tuple[str, ...] = astuple(self)
        return names


class TopicShape(Struct, frozen=True, kw_only=True):
    """The settings with which topics are created."""

    partitions: int = 8
    retention_seconds: int = 7 * 86_400


class KnownTopic(Struct, frozen=True):
    """An existing topic, as described by the broker."""

    id: str
    """The id assigned by the broker; a recreated topic gets a new id."""
    partitions: int


class BrokerUnreachableError(Exception):
    """The broker cannot be reached."""


def ensure_topics(
    admin: AdminClient, names: TopicNames, shape: TopicShape
) -> dict[str, KnownTopic]:
    """Create missing topics, check existing ones, and return all by name. Blocks.

    Raise TopicError if a topic cannot be used, BrokerUnreachableError if the broker does not
    answer.
    """
    try:
        known = _known(admin, names.all())
        missing = [name for name in names.all() if name not in known]
        if missing:
            _create(admin, missing, shape)
            known = _wait_for(admin, names.all())
        _check(admin, known, shape)
    except TimeoutError:
        raise BrokerUnreachableError("no answer") from None
    except KafkaException as error:
        raise _translate(error) from None
    return {
        name: KnownTopic(str(topic.topic_id), len(topic.partitions))
        for name, topic in known.items()
    }


def _known(admin: AdminClient, names: Iterable[str]) -> dict[str, Any]:
    """Return the descriptions of those topics that exist, by name."""
    futures = admin.describe_topics(
        TopicCollection(list(names)), request_timeout=BROKER_TIMEOUT_SECONDS
    )
    found = {}
    for name, future in futures.items():
        try:
            found[name] = future.result(BROKER_TIMEOUT_SECONDS)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
    return found


def _wait_for(admin: AdminClient, names: Sequence[str]) -> dict[str, Any]:
    """Wait until all topics exist, and return their descriptions.

    Raise BrokerUnreachableError if that takes too long.
    """
    deadline = time.monotonic() + BROKER_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        known = _known(admin, names)
        if len(known) == len(names):
            return known
        time.sleep(0.05)
    raise BrokerUnreachableError("topics were made, and are not there yet")


def _create(admin: AdminClient, names: Iterable[str], shape: TopicShape) -> None:
    brokers = len(admin.list_topics(timeout=BROKER_TIMEOUT_SECONDS).brokers)
    config = {
        "cleanup.policy": "delete",
        "retention.ms": str(shape.retention_seconds * 1_000),
        "max.message.bytes": str(_MAX_BATCH_BYTES),
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
        request_timeout=BROKER_TIMEOUT_SECONDS,
    )
    for future in made.values():
        _settle(future)


def _settle(future: Future[Any]) -> None:
    try:
        future.result(BROKER_TIMEOUT_SECONDS)
    except KafkaException as error:
        # Another process was faster.
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


def _check(admin: AdminClient, known: Mapping[str, Any], shape: TopicShape) -> None:
    resources = {name: ConfigResource(ResourceType.TOPIC, name) for name in known}
    answers = admin.describe_configs(
        list(resources.values()), request_timeout=BROKER_TIMEOUT_SECONDS
    )
    problems = [
        f"{name} {problem}"
        for name, resource in resources.items()
        for problem in _problems(
            len(known[name].partitions), answers[resource].result(BROKER_TIMEOUT_SECONDS), shape
        )
    ]
    if problems:
        raise TopicError("topics cannot be used as they are: " + "; ".join(problems))


def _problems(partitions: int, config: Mapping[str, Any], shape: TopicShape) -> Iterator[str]:
    if partitions < shape.partitions:
        yield f"has {partitions} partitions, and {shape.partitions} are configured"
    if "compact" in config["cleanup.policy"].value:
        yield "is compacted, which loses messages of one run: set cleanup.policy=delete"
    retention = int(config["retention.ms"].value)
    if 0 <= retention < MIN_RETENTION_SECONDS * 1_000:
        yield (
            f"keeps messages for {retention / 1_000:g} s, and {MIN_RETENTION_SECONDS:,} are needed"
        )
    if int(config["retention.bytes"].value) >= 0:
        yield "forgets messages that nobody has read: set retention.bytes=-1"
    largest = int(config["max.message.bytes"].value)
    if largest < _MAX_BATCH_BYTES:
        yield (
            f"takes messages of {largest:,} bytes, "
            f"and max.message.bytes={_MAX_BATCH_BYTES} is needed"
        )


def _translate(error: KafkaException) -> Exception:
    reason: KafkaError = error.args[0]
    if reason.retriable() or reason.code() in _UNREACHABLE_CODES:
        return BrokerUnreachableError(reason.str())
    return TopicError(f"the broker refuses: {reason.str()}")


# confluent_kafka names the codes of the client itself with an underscore.
_UNREACHABLE_CODES: Final = frozenset(
    {
        KafkaError._TRANSPORT,  # noqa: SLF001
        KafkaError._TIMED_OUT,  # noqa: SLF001
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
        KafkaError._RESOLVE,  # noqa: SLF001
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.INVALID_REPLICATION_FACTOR,  # not all brokers are back yet
        KafkaError.UNKNOWN_TOPIC_OR_PART,  # deleted while it was looked at
    }
)


SCHEME: Final = "kafka://"
DAY: Final = 86_400

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_SERVER: Final = re.compile(r"[^\s,/@?#]+:\d{1,5}")
_TOPICS: Final = tuple(field.name for field in fields(TopicNames))
_KNOWN: Final = (*_TOPICS, "group", "partitions", "retention_days", "options")


class KafkaAddress(Struct, frozen=True, kw_only=True):
    """The parsed address of a Kafka bus."""

    servers: str
    names: TopicNames = TopicNames()
    shape: TopicShape = TopicShape()
    group: str = "accord"
    options: Mapping[str, str] = {}


def read_address(url: str) -> KafkaAddress:
    """Parse the address of a Kafka bus. Raise BusError if it is invalid."""
    servers, _, query = url.removeprefix(SCHEME).partition("?")
    servers = servers.rstrip("/")
    if not url.startswith(SCHEME) or not all(map(_SERVER.fullmatch, servers.split(","))):
        raise BusError("a Kafka is written kafka://host:port,host:port")
    parameters = dict(parse_qsl(query, keep_blank_values=True))
    for name in parameters:
        if name not in _KNOWN:
            raise BusError(f"{name!r} cannot be said of a Kafka; {', '.join(_KNOWN)} can")
    return KafkaAddress(
        servers=servers,
        names=_names({name: parameters[name] for name in _TOPICS if name in parameters}),
        shape=TopicShape(
            partitions=_number(parameters, "partitions", TopicShape().partitions),
            retention_seconds=DAY * _number(parameters, "retention_days", 7),
        ),
        group=_check_name(parameters.get("group", "accord")),
        options=_options(parameters["options"]) if "options" in parameters else {},
    )


def _names(parameters: Mapping[str, str]) -> TopicNames:
    names = TopicNames(**{field: _check_name(name) for field, name in parameters.items()})
    if len(set(names.all())) < len(names.all()):
        raise BusError("each topic needs a name of its own")
    return names


def _check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise BusError(f"{name[:80]!r} is no name of a topic or group")
    return name


def _number(parameters: Mapping[str, str], name: str, default: int) -> int:
    try:
        number = msgspec.convert(parameters.get(name, default), int, strict=False)
    except msgspec.ValidationError:
        number = 0
    if not 1 <= number <= 10_000:
        raise BusError(f"{name} is a number from 1 to 10,000")
    return number


def _options(path: str) -> dict[str, str]:
    try:
        lines = Path(path).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BusError(f"cannot read the options of Kafka: {error}") from None
    pairs = [line.partition("=") for line in map(str.strip, lines) if line and line[0] != "#"]
    if not all(sign for _, sign, _ in pairs):
        raise BusError(f"{path}: each line of options is name=value")
    return {name.strip(): value.strip() for name, _, value in pairs}
