"""What stands before all routes of the shop: it is counted, and may be closed."""

from __future__ import annotations

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.exposure.shop.store import Store


class Door:
    """Writes down each request, answers 503 while the shop is closed, and signs the answers."""

    def __init__(self, app: ASGIApp, store: Store) -> None:
        self.app = app
        self.store = store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        self.store.requests.append((scope["method"], scope["path"]))
        if not self.store.open and not scope["path"].startswith("/admin/"):
            closed = JSONResponse({"detail": "closed"}, 503, {"Retry-After": "3600"})
            return await closed(scope, receive, send)

        async def sign(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"x-served-by", b"shop")]
            await send(message)

        return await self.app(scope, receive, sign)
