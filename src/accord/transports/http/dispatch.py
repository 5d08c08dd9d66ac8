"""What the HTTP server asks of whoever answers the messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from accord.jsonrpc.channel import ChannelInfo


class Running(Protocol):
    """A message whose answer is being worked on."""

    def cancel(self) -> None:
        """Give up; nobody waits for the answer any more."""


class Dispatch(Protocol):
    """Answers messages one by one."""

    def handle(
        self,
        data: bytes,
        on_done: Callable[[bytes | None], None],
        *,
        headers: Callable[[], Mapping[str, str]],
        info: ChannelInfo,
    ) -> bytes | None | Running:
        """The answer, None for nothing to say, or what is running.

        `on_done` gets the answer of what is running, once, and never before this returns. An
        answer of the type `Refused` says that `data` was no message.
        """
