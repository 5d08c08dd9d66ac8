"""A worker in the process of an executor. Tasks that it has room for are its own from the start:
nobody looks for them, takes them and reads them, and nobody has to be woken. The tables say the
same as if it had taken them, so that others take them over when the process is gone.

    claim     before the transaction: which tasks are to be recorded as its own
    give      after it: they are recorded, and begin
    drop      or else: it is not known whether they are recorded; where they are, it finds them
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from accord.workflows.storage.tasks import NewTask


class Hands(Protocol):
    """Belongs to the event loop."""

    @property
    def owner(self) -> str:
        """The member that it works for."""

    def claim(self, tasks: Sequence[NewTask]) -> list[NewTask]:
        """Those of these tasks that it has room for."""

    def give(self, tasks: Sequence[NewTask]) -> None: ...

    def drop(self, tasks: Sequence[NewTask]) -> None: ...
