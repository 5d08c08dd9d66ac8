"""Runs are shared out among executors by shards, each decided on by one of them at a time."""

from __future__ import annotations

from typing import Final
from zlib import crc32

SHARDS: Final = 32
"""As many as the migration makes rows: it cannot change while there are runs."""


def shard_of(run_id: str) -> int:
    """The shard of a run."""
    return crc32(run_id.encode()) % SHARDS
