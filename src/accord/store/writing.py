"""Whether a database can be written, as far as its store found out.

A write that fails since the disk is full, or the database read-only, is noted. From then on
whoever asks has a small write tried, as long as that fails too: without it nobody would find out
that there is room again, as nobody sends work to a server that is not ready.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from accord.store.errors import StoreError, UnavailableError, UnwritableError
from accord.store.store import Transaction

FULL: Final = "its disk is full"
READ_ONLY: Final = "it is read-only"
DISK_FAILS: Final = "its disk fails"

_PROBE: Final = "accord_write_probe"
_FILLER: Final = 1024 * 1024
"""Characters that are written: more than most writes, and than the database has left over."""
_MAKE: Final = f"CREATE TABLE IF NOT EXISTS {_PROBE} (filler TEXT)"
_FILL: Final = f"INSERT INTO {_PROBE} (filler) VALUES ($1)"
_DROP: Final = f"DROP TABLE IF EXISTS {_PROBE}"


class Writability:
    """What is known about writing to one database."""

    __slots__ = ("reason",)

    def __init__(self) -> None:
        self.reason = ""
        """Why the last write that failed for such a reason did; empty where none has."""

    async def check(self, probe: Callable[[], Awaitable[None]]) -> str:
        """Return why nothing can be written; empty where it can. Raises UnavailableError."""
        if not self.reason:
            return ""
        try:
            await probe()
        except UnwritableError as error:
            self.reason = error.reason
        except UnavailableError:
            raise
        except StoreError:
            self.reason = ""  # it cannot be tried: the next write will tell
        else:
            self.reason = ""
        return self.reason


async def try_writing(transaction: Transaction) -> None:
    """Write something, and leave nothing of it. Raises StoreError."""
    await write_filler(transaction)
    await remove_filler(transaction)


async def write_filler(transaction: Transaction) -> None:
    """Write something that `remove_filler` removes again. Raises StoreError."""
    await transaction.execute(_MAKE)
    await transaction.execute(_FILL, "x" * _FILLER)


async def remove_filler(transaction: Transaction) -> None:
    """Remove what `write_filler` wrote, if it did. Raises StoreError."""
    await transaction.execute(_DROP)
