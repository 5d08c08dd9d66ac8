"""One site of several applications, each at a path of its own; itself an application.

The longest path that fits decides. Each application sees requests as if it stood alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from inspect import isawaitable
from typing import Any, Final, Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from accord.app.traffic import Traffic
from accord.jsonrpc.channel import ChannelInfo
from accord.transports.http.replies import EXHAUSTED, Reply, text_reply
from accord.transports.http.request import place_below
from accord.transports.web.app import BodyLimit, Exchange, LivingApp, WebApp, WebRequest

OTHER: Final = "other"
"""The face of what belongs to none."""


@runtime_checkable
class Living(Protocol):
    """An application with a beginning and an end; see `LivingApp`."""

    async def start(self) -> None: ...

    async def close(self, drain: float) -> None: ...


class Placed(Struct, frozen=True):
    """What one of the applications made of a request's head."""

    app: WebApp[Any]
    face: str
    request: WebRequest
    judged: Any


class Site(LivingApp[Placed]):
    """Applications by their paths; implements `LivingApp`."""

    def __init__(
        self,
        apps: Mapping[str, WebApp[Any]],
        *,
        faces: Mapping[str, str] | None = None,
        traffic: Traffic | None = None,
    ) -> None:
        """Paths are without a slash at their end; "" is for all that no other takes. `traffic`
        counts requests, by what `faces` calls the paths."""
        self._apps = sorted(apps.items(), key=lambda each: -len(each[0]))
        self._faces = faces or {}
        self.traffic = Traffic() if traffic is None else traffic

    def judge(self, request: WebRequest) -> Reply | Placed:
        found = self._find(request)
        if found is None:
            return self._replied(OTHER, text_reply(404, "there is nothing here"))
        path, app, placed = found
        face = self._faces.get(path, OTHER)
        judged = app.judge(placed)
        if isinstance(judged, Reply):
            return self._replied(face, judged)
        return Placed(app, face, placed, judged)

    def body_limit(self, judged: Placed) -> BodyLimit:
        return judged.app.body_limit(judged.judged)

    def admit(
        self, judged: Placed, channel: ChannelInfo
    ) -> Reply | Placed | Awaitable[Reply | Placed]:
        found = judged.app.admit(judged.judged, channel)
        return self._wait(judged, found) if isawaitable(found) else self._admitted(judged, found)

    async def _wait(self, judged: Placed, found: Awaitable[Any]) -> Reply | Placed:
        return self._admitted(judged, await found)

    def _admitted(self, judged: Placed, found: Any) -> Reply | Placed:
        if isinstance(found, Reply):
            return self._replied(judged.face, found)
        return replace(judged, judged=found)

    def exhausted(self, request: WebRequest) -> Reply:
        found = self._find(request)
        if found is None:
            return self._replied(OTHER, EXHAUSTED)
        path, app, placed = found
        return self._replied(self._faces.get(path, OTHER), app.exhausted(placed))

    def too_large(self, request: WebRequest, most: int) -> Reply:
        found = self._find(request)
        if found is None:
            return self._replied(OTHER, text_reply(413, f"a request may have {most:,} bytes"))
        path, app, placed = found
        return self._replied(self._faces.get(path, OTHER), app.too_large(placed, most))

    def handle(self, judged: Placed, body: bytes, exchange: Exchange) -> None:
        self.traffic.handle(judged.face, judged.app, judged.request, judged.judged, body, exchange)

    def _replied(self, face: str, reply: Reply) -> Reply:
        self.traffic.replied(face, reply.status)
        return reply

    async def start(self) -> None:
        for app in self._living:
            await app.start()

    async def close(self, drain: float) -> None:
        """All at once: each has the whole time to finish what is under way."""
        await asyncio.gather(*(app.close(drain) for app in self._living))

    @property
    def _living(self) -> list[Living]:
        return [app for _, app in self._apps if isinstance(app, Living)]

    def _find(self, request: WebRequest) -> tuple[str, WebApp[Any], WebRequest] | None:
        for path, app in self._apps:
            place = place_below(request.path, path)
            if place is not None:
                return path, app, replace(request, place=place)
        return None
