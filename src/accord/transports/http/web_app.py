"""The interface between an application that answers HTTP and the server that carries it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, Protocol, TypeVar

from msgspec import Struct

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.transports.http.admission import Head, conclude, expectation_failed, remember
from accord.transports.http.heads import WebRequest as WebRequest, read_request
from accord.transports.http.replies import EXHAUSTED, Reply
from accord.transports.options import SMALL_BYTES

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


class WebRules:
    """The rules of one application at one path."""

    def __init__(
        self,
        app: WebApp[Any],
        *,
        path: str,
        max_body: int | None,
        loopback: bool,
        bound: str = "",
    ) -> None:
        self._app = app
        self._bound = bound
        self._root = path.rstrip("/")
        self._max_body = max_body
        self._loopback = loopback
        self.known: dict[bytes, Head] = {}

    def judge(self, raw: bytes) -> Head:
        """What follows from the head `raw`. Raises MalformedError when it is none."""
        request = read_request(raw, root=self._root, loopback=self._loopback, bound=self._bound)
        judged = expectation_failed(request) or self._app.judge(request)
        limit, most = SMALL_BODY, None
        if not isinstance(judged, Reply):
            limit = self._app.body_limit(judged)
            most = least(self._max_body, limit.max_bytes)
            if most is not None and request.length > most:
                judged = self._app.too_large(request, most)
        reply = judged if isinstance(judged, Reply) else None
        head = conclude(
            request,
            reply,
            judged=judged,
            max_body=most,
            admits=True,
            anonymous=limit.anonymous,
        )
        remember(self.known, raw, head)
        return head

    def too_large(self, head: Head) -> Reply:
        assert head.max_body is not None
        return self._app.too_large(head.request, head.max_body)

    def exhausted(self, head: Head) -> Reply:
        return self._app.exhausted(head.request)


def least(*limits: int | None) -> int | None:
    """Return the smallest of the limits; None where there is none."""
    return min((each for each in limits if each is not None), default=None)


class Underway:
    """Tasks that have not ended. Belongs to one event loop."""

    __slots__ = ("_tasks",)

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do `work` beside everything else."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self, drain: float) -> None:
        """Wait so many seconds for all of it, and cancel what has not ended then."""
        if self._tasks and drain > 0:
            await asyncio.wait(self._tasks, timeout=drain)
        for task in tuple(self._tasks):
            task.cancel()
