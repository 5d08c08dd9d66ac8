"""What was there before: plain Starlette, mounted into the shop."""

from __future__ import annotations

from starlette.endpoints import HTTPEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, Router


async def stock(request: Request) -> Response:
    """How many there are of a product."""
    return JSONResponse(
        {"id": request.path_params["id"], "shelf": request.query_params.get("shelf")}
    )


async def note(request: Request) -> Response:
    """Keep what the body says."""
    return JSONResponse({"kept": await request.json()}, status_code=201)


class Shelf(HTTPEndpoint):
    """One shelf."""

    async def get(self, request: Request) -> Response:
        return PlainTextResponse(f"shelf {request.path_params['place']}")

    async def delete(self, request: Request) -> Response:
        return Response(status_code=204)


def make_legacy() -> Router:
    shelves = Router([Route("/{place:path}", Shelf)])
    return Router(
        [
            Route("/stock/{id:int}", stock),
            Route("/notes", note, methods=["POST"], name="keep_note"),
            Mount("/shelves", shelves),
        ]
    )
