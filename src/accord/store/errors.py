"""What can go wrong with a store. Nothing of the databases' own exceptions gets out."""

from __future__ import annotations


class StoreError(Exception):
    """The store cannot do what it was asked for; the message says why."""


class ConstraintError(StoreError):
    """A row would break a rule of its table, such as a key that is taken."""


class UnavailableError(StoreError):
    """The database cannot be reached, is locked by others for too long, or was closed."""

    told: str = "the database is not available at the moment"
    """What callers are told, who need not know where it is."""


class UnwritableError(UnavailableError):
    """The database can be read but not written, for a reason such as `its disk is full`."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.told = f"the database cannot be written at the moment: {reason}"
