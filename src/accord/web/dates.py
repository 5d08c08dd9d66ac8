"""Times as people say them. Pure: what time it is comes in."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

_STEPS: Final = (
    (60, 1, "second"),
    (3_600, 60, "minute"),
    (86_400, 3_600, "hour"),
    (86_400 * 30, 86_400, "day"),
)


def parse(value: str | float) -> datetime:
    """A time as the API tells it: in ISO 8601, or in seconds since 1970."""
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    return datetime.fromisoformat(value).astimezone(UTC)


def relative(time: datetime, now: datetime) -> str:
    """How long ago, or how soon; the date for what is further than a month."""
    seconds = (now - time).total_seconds()
    away = abs(seconds)
    if away < 5:
        return "just now"
    for limit, size, unit in _STEPS:
        if away < limit:
            count = int(away // size)
            said = f"{count} {unit}{'' if count == 1 else 's'}"
            return f"{said} ago" if seconds > 0 else f"in {said}"
    return f"{time.day} {time:%b %Y}"


def exact(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S} UTC"


def duration(seconds: float) -> str:
    """How long something took."""
    if seconds < 0.001:
        return "0 s"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5_400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3_600:.1f} h"
