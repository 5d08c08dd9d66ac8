"""The shop, put together."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, WebSocket
from starlette.staticfiles import StaticFiles

from tests.exposure.shop import answers, categories, customers, orders, products
from tests.exposure.shop.admin import make_admin
from tests.exposure.shop.legacy import make_legacy
from tests.exposure.shop.middleware import Door
from tests.exposure.shop.store import Store


def make_shop() -> FastAPI:
    """A shop of its own: `app.state.store` is what it knows."""
    store = Store()
    app = FastAPI(title="Shop", version="3.1", description="Sells cups and lamps.")
    app.state.store = store
    app.add_middleware(Door, store=store)
    for part in (products, categories, orders, customers, answers):
        app.include_router(part.router)

    @app.websocket("/live")
    async def live(socket: WebSocket) -> None:
        await socket.accept()
        await socket.close()

    app.mount("/static", StaticFiles(directory=Path(__file__).parent), name="static")
    app.mount("/admin", make_admin(store))
    app.mount("/legacy", make_legacy())
    return app
