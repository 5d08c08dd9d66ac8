"""What an application that answers HTTP needs from whoever carries it.

    judge(request)                  the head alone: a refusal, or what the application made of it
      ├─ body_limit(judged)         how large a body may be here
      ├─ admit(judged, channel)     who sends it: a refusal, or the body is read
      └─ handle(judged, body, exchange)
           ├─ exchange.reply(…)                        one response
           └─ stream = exchange.stream(…)              a response in pieces
                stream.write(…) … stream.close()

`admit` is the one hook in which credentials are checked before a body is read. It is asked where
the body has not arrived whole with the head; a small one that has costs no memory, and `handle`
checks credentials in any case: they may have been revoked while the body was on its way.

Everything here is called on the event loop's thread, and nothing here blocks. `handle` runs
in the transport's own callback, so that an answer which is there at once leaves at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeVar

from msgspec import Struct

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.transports.http.replies import EXHAUSTED, Reply
from accord.transports.http.request import WebRequest as WebRequest
from accord.transports.memory_budget import SMALL_BYTES

JSON: Final = b"content-type: application/json\r\n"


class BodyLimit(Struct, frozen=True):
    """What is read of a request's body."""

    max_bytes: int | None = None
    """None for as much as the server takes anywhere."""
    anonymous: bool = False
    """Whether nobody knows who sends it until it is read, as with signed deliveries: such bodies
    share a part of the memory that there is for all."""


SMALL_BODY: Final = BodyLimit(SMALL_BYTES, anonymous=True)
"""For requests that are there for everybody: forms to sign in, and requests without a use for a
body."""


class Stream(Protocol):
    """A response that is sent in pieces."""

    def write(self, data: bytes) -> None:
        """Queue a piece; does nothing once the client is gone. A client that lets too much be
        queued, or takes nothing for too long, is cut off."""

    def close(self) -> None:
        """End the response."""


class Exchange(Protocol):
    """One request that is to be answered, once. Nothing happens once its client is gone."""

    on_gone: Callable[[], None] | None
    """Called, once, when the client is gone before it was answered completely."""

    @property
    def channel(self) -> ChannelInfo:
        """Who asks."""

    def reply(self, body: bytes, *, status: int = 200, headers: bytes = JSON) -> None:
        """Answer; `headers` are lines, each with its line end."""

    def stream(self, *, status: int = 200, headers: bytes = JSON) -> Stream:
        """Begin an answer in pieces."""


H = TypeVar("H")


class WebApp(Protocol[H]):
    """Answers requests."""

    def judge(self, request: WebRequest) -> Reply | H:
        """What follows from the head of a request: a refusal, or what `handle` is to know.

        Equal heads must be judged alike: who carries the application may ask only once.
        """
        raise NotImplementedError

    def body_limit(self, judged: H) -> BodyLimit:
        """Return what is read of the body of a request that was let in so far."""
        return BodyLimit()

    def admit(self, judged: H, channel: ChannelInfo) -> Reply | H | Awaitable[Reply | H]:
        """Check the credentials of a request whose body is still to be read.

        Returns a refusal, or what `handle` is to know.
        """
        return judged

    def too_large(self, request: WebRequest, most: int) -> Reply:
        """The answer to a body of more than `most` bytes, which is not read."""
        raise NotImplementedError

    def exhausted(self, request: WebRequest) -> Reply:
        """Return the answer to a body for which there is no memory left: 503 with `Retry-After`."""
        return EXHAUSTED

    def handle(self, judged: H, body: bytes, exchange: Exchange) -> None:
        """Answer a request, now or later. What this raises is answered 500."""
        raise NotImplementedError


class LivingApp(WebApp[H], Protocol[H]):
    """An application with a beginning and an end."""

    async def start(self) -> None:
        """Get ready. Where nobody tells of a beginning, as inside of other applications, the
        first request comes without it."""

    async def close(self, drain: float) -> None:
        """Answer what is under way for so long, and end every stream."""
