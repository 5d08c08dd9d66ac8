"""What a bus has carried, for Prometheus. Plain numbers of one process."""

from __future__ import annotations

from collections import Counter
from typing import Final

from accord.telemetry.metrics import Exposition, Kind

_BY_TOPIC: Final[dict[str, tuple[str, Kind, str]]] = {
    "published": ("accord_bus_published_total", "counter", "Messages acknowledged by the broker."),
    "consumed": ("accord_bus_consumed_total", "counter", "Messages received and stored."),
    "duplicates": (
        "accord_bus_duplicates_total",
        "counter",
        "Messages dropped because what they say was known.",
    ),
    "dead_letters": (
        "accord_bus_dead_letters_total",
        "counter",
        "Messages that were given up.",
    ),
    "lag": ("accord_bus_lag", "gauge", "Messages in the broker that were not received yet."),
}
_PLAIN: Final[dict[str, tuple[str, Kind, str]]] = {
    "failures": (
        "accord_bus_publish_failures_total",
        "counter",
        "Messages that the broker did not acknowledge, and that are sent again.",
    ),
    "swept": (
        "accord_bus_swept_total",
        "counter",
        "Tasks and results sent again because nobody received them.",
    ),
    "rebalances": (
        "accord_bus_rebalances_total",
        "counter",
        "Times that partitions were given to a consumer here.",
    ),
    "stalls": (
        "accord_bus_stalls_total",
        "counter",
        "Times that a consumer got nothing of what the broker had, and was replaced.",
    ),
    "outbox": ("accord_bus_outbox", "gauge", "Messages that wait to be published."),
    "outbox_seconds": (
        "accord_bus_outbox_seconds",
        "gauge",
        "How long the relay has been behind.",
    ),
}


class BusCounts:
    """The counts of one process. `outbox` and its age are known where the relay runs."""

    def __init__(self) -> None:
        self.published: Counter[str] = Counter()
        self.consumed: Counter[str] = Counter()
        self.duplicates: Counter[str] = Counter()
        self.dead_letters: Counter[str] = Counter()
        self.lag: dict[str, int] = {}
        self.failures = 0
        self.swept = 0
        self.rebalances = 0
        self.stalls = 0
        self.outbox = 0
        self.outbox_seconds = 0.0

    def write(self, page: Exposition) -> None:
        for field, (name, kind, about) in _BY_TOPIC.items():
            values = sorted(getattr(self, field).items())
            page.family(
                name, kind, about, [((("topic", topic),), value) for topic, value in values]
            )
        for field, (name, kind, about) in _PLAIN.items():
            page.family(name, kind, about, [((), getattr(self, field))])
