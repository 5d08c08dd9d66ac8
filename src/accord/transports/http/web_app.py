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
    """The limit on the body of a request."""

    max_bytes: int | None = None
    """Maximum size of the body; None for the server's limit."""
    anonymous: bool = False
    """True if only the body identifies the sender, as with signed webhooks. The bodies of such
    requests share a part of the memory budget."""


SMALL_BODY: Final = BodyLimit(SMALL_BYTES, anonymous=True)
"""The limit for public requests: sign-in forms, and requests that use no body."""


class Stream(Protocol):
    """A response that is sent in pieces."""

    def write(self, data: bytes) -> None:
        """Queue a piece; do nothing once the client is gone.

        A client that lets too many bytes be queued, or accepts none for too long, is disconnected.
        """

    def close(self) -> None:
        """End the response."""


class Exchange(Protocol):
    """One request that is answered once.

    The methods do nothing once the client is gone.
    """

    on_gone: Callable[[], None] | None
    """Called once if the client disconnects before the answer is complete."""

    @property
    def channel(self) -> ChannelInfo:
        """Information about the connection of the client."""

    def reply(self, body: bytes, *, status: int = 200, headers: bytes = JSON) -> None:
        """Answer the request; `headers` are header lines, each with its line end."""

    def stream(self, *, status: int = 200, headers: bytes = JSON) -> Stream:
        """Begin a response whose body is sent in pieces."""


H = TypeVar("H")


class WebApp(Protocol[H]):
    """An application that answers HTTP requests."""

    def judge(self, request: WebRequest) -> Reply | H:
        """Return the decision on the head of a request.

        The decision is a `Reply` that refuses the request, or any value, which the other methods
        get as `judged`. Equal heads must get equal decisions: servers cache them.
        """
        raise NotImplementedError

    def body_limit(self, judged: H) -> BodyLimit:
        """Return the limit on the body of a request that was not refused."""
        return BodyLimit()

    def admit(self, judged: H, channel: ChannelInfo) -> Reply | H | Awaitable[Reply | H]:
        """Check the credentials of a request whose body is still to be read.

        Returns a `Reply` that refuses the request, or the value that `handle` gets as `judged`.
        """
        return judged

    def too_large(self, request: WebRequest, most: int) -> Reply:
        """Return the answer to a body of more than `most` bytes, which is not read."""
        raise NotImplementedError

    def exhausted(self, request: WebRequest) -> Reply:
        """Return the answer to a body that exceeds the memory budget: 503 with `Retry-After`."""
        return EXHAUSTED

    def handle(self, judged: H, body: bytes, exchange: Exchange) -> None:
        """Answer a request, now or later.

        If this raises an exception, the request is answered 500.
        """
        raise NotImplementedError


class LivingApp(WebApp[H], Protocol[H]):
    """An application with a start and a shutdown."""

    async def start(self) -> None:
        """Start the application.

        Mounted ASGI applications get no lifespan events, so they are not started before the first
        request.
        """

    async def close(self, drain: float) -> None:
        """Answer running requests for up to `drain` seconds, and end every stream."""


class WebRules:
    """The rules for requests to one application, with a cache of decisions."""

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
        """Return the decisions about the head `raw`. Raises MalformedError for an invalid one."""
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
    """Return the smallest of the limits; None if there is none."""
    return min((each for each in limits if each is not None), default=None)


class Underway:
    """A set of running tasks of one event loop, which can be ended together."""

    __slots__ = ("_tasks",)

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run `work` in a task."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self, drain: float) -> None:
        """Wait up to `drain` seconds for all tasks, then cancel those that still run."""
        if self._tasks and drain > 0:
            await asyncio.wait(self._tasks, timeout=drain)
        for task in tuple(self._tasks):
            task.cancel()
