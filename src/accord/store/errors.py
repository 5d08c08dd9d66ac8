"""What can go wrong with a store. Nothing of the databases' own exceptions gets out."""

from __future__ import annotations


class StoreError(Exception):
    """The store cannot do what it was asked for; the message says why."""


class ConstraintError(StoreError):
    """A row would break a rule of its table, such as a key that is taken."""


class UnavailableError(StoreError):
    """The database cannot be reached, is locked by others for too long, or was closed."""
