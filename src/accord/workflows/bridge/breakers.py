"""Who is left alone for a while, as those know who call agents in this process. Where others do
the calling, nothing is known here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from accord.workflows.bridge.breaker import BreakerState
from accord.workflows.bridge.targets import Key
from accord.workflows.storage.tasks import Kind

Known: TypeAlias = Callable[[], Mapping[Key, BreakerState]]


class Breakers:
    """Of all workers of this process."""

    def __init__(self) -> None:
        self._known: dict[Kind, Known] = {}

    def add(self, kind: Kind, known: Known) -> None:
        """Somebody calls targets of this kind from now on."""
        self._known[kind] = known

    def remove(self, kind: Kind) -> None:
        self._known.pop(kind, None)

    def states(self, kind: Kind) -> Mapping[Key, BreakerState] | None:
        """Those that were called lately; None where nobody here calls any of this kind."""
        return self._known[kind]() if kind in self._known else None
