"""The requirements that both sides hold: the same texts, made from a seed. Imports nothing that
every environment has not."""

from __future__ import annotations

import random
from collections.abc import Iterator

COUNT = 50_000
PER_STORY = 25
COMMON = "system"
"""A word that is in every requirement."""
RARE = "gyroscope"
"""A word that is in one of a thousand."""

_ACTORS = ("operator", "nurse", "driver", "auditor", "customer", "administrator", "planner")
_VERBS = ("store", "show", "reject", "confirm", "transmit", "archive", "encrypt", "validate")
_OBJECTS = (
    *("dose record", "route plan", "invoice", "access request", "sensor reading", "audit entry"),
    *("shift report", "battery state", "delivery note", "firmware image", "consent form"),
)
_EVENTS = ("is submitted", "changes", "expires", "is revoked", "exceeds its limit", "is imported")


def requirements(count: int = COUNT) -> Iterator[tuple[int, str, str]]:
    """Number, title and description of each, from 1 on."""
    chance = random.Random(2026)
    for number in range(1, count + 1):
        thing, verb = chance.choice(_OBJECTS), chance.choice(_VERBS)
        seconds = chance.randint(1, 60)
        title = f"{verb.capitalize()} the {thing} within {seconds} s"
        extra = f" The {RARE} is calibrated first." if number % 1_000 == 500 else ""
        yield (
            number,
            title,
            f"When a {chance.choice(_OBJECTS)} {chance.choice(_EVENTS)}, the {COMMON} shall {verb} "
            f"the {thing} for the {chance.choice(_ACTORS)} within {seconds} seconds.{extra}",
        )
