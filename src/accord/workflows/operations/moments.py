"""Times: runs count seconds since 1970, people read UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import overload

from accord.operations.work import Work


@overload
def text_of(seconds: float) -> str: ...
@overload
def text_of(seconds: float | None) -> str | None: ...
def text_of(seconds: float | None) -> str | None:
    """A time as it is shown."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def now_of(work: Work) -> float:
    """The time of a call, as runs count it."""
    return datetime.fromisoformat(work.now).timestamp()
