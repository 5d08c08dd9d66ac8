"""What can go wrong with backups."""

from __future__ import annotations


class KeepingError(Exception):
    """A backup cannot be taken, read or restored; the message says what to do."""


class DamagedError(KeepingError):
    """A file is no backup, or not as it was written."""
