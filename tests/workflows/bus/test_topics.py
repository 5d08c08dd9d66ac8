"""Addresses of brokers, and topics that change while they are checked; without a broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException

from accord.workflows.bus import topics
from accord.workflows.bus.bus import BusError, TopicError
from accord.workflows.bus.topics import (
    BrokerUnreachableError,
    KafkaAddress,
    TopicNames,
    TopicShape,
    ensure_topics,
    read_address,
)


@pytest.mark.parametrize(
    ("code", "raised"),
    [
        (KafkaError.UNKNOWN_TOPIC_OR_PART, BrokerUnreachableError),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, TopicError),
    ],
)
def test_one_that_is_deleted_meanwhile_is_looked_at_again_later(
    monkeypatch: pytest.MonkeyPatch, code: int, raised: type[Exception]
) -> None:
    def gone(*asked: Any) -> None:
        raise KafkaException(KafkaError(code))

    monkeypatch.setattr(topics, "_known", lambda admin, names: dict.fromkeys(names))
    monkeypatch.setattr(topics, "_check", gone)
    with pytest.raises(raised):
        ensure_topics(cast(Any, None), TopicNames(), TopicShape())


def test_servers_are_enough() -> None:
    assert read_address("kafka://one:9092,10.0.0.1:9093/") == KafkaAddress(
        servers="one:9092,10.0.0.1:9093"
    )


def test_everything_can_be_said(tmp_path: Path) -> None:
    file = tmp_path / "kafka.conf"
    file.write_text("# ours\n\nsecurity.protocol=SASL_SSL\nsasl.password = a=b\n")
    url = (
        "kafka://one:9092?tasks=t&results=r&runs=s&events=e&dead_letters=d&group=g"
        f"&partitions=3&retention_days=2&options={file}"
    )
    assert read_address(url) == KafkaAddress(
        servers="one:9092",
        names=TopicNames(tasks="t", results="r", runs="s", events="e", dead_letters="d"),
        shape=TopicShape(partitions=3, retention_seconds=172_800),
        group="g",
        options={"security.protocol": "SASL_SSL", "sasl.password": "a=b"},
    )


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://one:9092", "kafka://host:port"),
        ("kafka://", "kafka://host:port"),
        ("kafka://one", "kafka://host:port"),
        ("kafka://one:9092,", "kafka://host:port"),
        ("kafka://user:secret@one:9092", "kafka://host:port"),
        ("kafka://one:9092?colour=red", "'colour' cannot be said of a Kafka; tasks, "),
        ("kafka://one:9092?tasks=a&results=a", "each topic needs a name of its own"),
        ("kafka://one:9092?tasks=a%20b", "'a b' is no name"),
        ("kafka://one:9092?partitions=0", "partitions is a number from 1 to 10,000"),
        ("kafka://one:9092?retention_days=x", "retention_days is a number"),
        ("kafka://one:9092?options=/does/not/exist", "cannot read the options of Kafka"),
    ],
)
def test_what_is_wrong_is_said(url: str, problem: str) -> None:
    with pytest.raises(BusError, match=problem) as caught:
        read_address(url)
    assert "secret" not in str(caught.value)


def test_a_file_of_options_has_a_value_on_each_line(tmp_path: Path) -> None:
    (tmp_path / "conf").write_text("sasl.password\n")
    with pytest.raises(BusError, match="each line of options is name=value"):
        read_address(f"kafka://one:9092?options={tmp_path}/conf")
