"""Topics that change while they are looked at; without a broker."""

from __future__ import annotations

from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException

from accord.workflows.bus import topics
from accord.workflows.bus.bus import TopicError
from accord.workflows.bus.topics import (
    BrokerUnreachableError,
    TopicNames,
    TopicShape,
    ensure_topics,
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
