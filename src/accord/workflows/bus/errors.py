"""What can be wrong with a bus.

BusError
├── TopicError        topics are not as they must be; the message names them and what to do
├── EnvelopeError     a message cannot be understood
└── ReplayError       a dead letter cannot be published again
"""

from __future__ import annotations


class BusError(Exception):
    """The bus cannot be used as it is set up."""


class TopicError(BusError):
    """Topics are not as they must be; the message names each and what to do."""


class EnvelopeError(BusError):
    """A message that cannot be understood, or means nothing here: `code` says which."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ReplayError(BusError):
    """A dead letter cannot be published again; the message says why."""
