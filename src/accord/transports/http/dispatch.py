"""What the HTTP server asks of whoever answers the messages: a `Dispatcher` does."""

from __future__ import annotations

from typing import Protocol

from accord.jsonrpc.protocol.messages import Failure, Invalid, Success
from accord.jsonrpc.protocol.session import Statistics
from accord.jsonrpc.runtime.requests import Cancellable, Source


class Dispatch(Protocol):
    """Answers messages one by one."""

    @property
    def statistics(self) -> Statistics: ...

    def handle(self, data: bytes, source: Source) -> bytes | None | Cancellable:
        """The answer, None for nothing to say, or what is running.

        `source.answer` gets the answer of what is running, once, never before this returns.
        An answer of the type `Refused` says that `data` was no message.
        """


def count_unasked(statistics: Statistics, response: Success | Failure | Invalid) -> None:
    """Over HTTP nobody here asks anything: count an answer, and drop it."""
    if isinstance(response, Invalid):
        statistics.answers_broken += 1
    else:
        statistics.answers_unknown += 1
