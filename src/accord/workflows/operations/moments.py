"""Times: runs count seconds since 1970, people read UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, overload

from accord.operations.work import Work

_EARLIEST: Final = datetime(1000, 1, 1, tzinfo=UTC).timestamp()
_LATEST: Final = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()


@overload
def text_of(seconds: float) -> str: ...
@overload
def text_of(seconds: float | None) -> str | None: ...
def text_of(seconds: float | None) -> str | None:
    """Return a time as it is shown. One beyond the calendar, as damaged histories may have, is
    shown as its first or last second."""
    if seconds is None:
        return None
    shown = datetime.fromtimestamp(min(max(seconds, _EARLIEST), _LATEST), UTC)
    return shown.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def now_of(work: Work) -> float:
    """The time of a call, as runs count it."""
    return datetime.fromisoformat(work.now).timestamp()
