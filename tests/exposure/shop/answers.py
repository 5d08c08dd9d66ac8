"""Routes whose answers are out of the ordinary, and parameters of the rarer types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from enum import IntEnum
from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, HTTPException, Query
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, StreamingResponse

from tests.exposure.shop.security import TheStore

router = APIRouter(tags=["answers"])


class Urgency(IntEnum):
    LOW = 1
    HIGH = 2


class Wrapped(JSONResponse):
    """JSON under a media type of its own, in an envelope."""

    media_type = "application/vnd.shop+json"

    def render(self, content: Any) -> bytes:
        return json.dumps({"shop": content}).encode()


@router.get("/parcels/{code}")
async def track(code: str) -> dict[str, str]:
    return {"code": code, "where": "Delft"}


@router.get("/quote")
async def quote(
    on: date,
    at: datetime | None = None,
    within: timedelta = timedelta(hours=24),
    urgency: Urgency = Urgency.LOW,
    exact: bool = False,
    weights: Annotated[list[float], Query()] = [],  # noqa: B006  as FastAPI shows it
) -> dict[str, Any]:
    """What delivery costs: dates, a duration, an enum of integers, lists."""
    return {
        "on": on,
        "at": at,
        "hours": within.total_seconds() / 3600,
        "urgency": urgency,
        "exact": exact,
        "weight": sum(weights),
    }


@router.get("/headers")
async def headers(
    x_trace: Annotated[list[str] | None, Header()] = None,
    version: Annotated[int, Header(alias="X-API-Version")] = 1,
) -> dict[str, Any]:
    return {"trace": x_trace, "version": version}


@router.get("/catalogue", deprecated=True)
async def catalogue(
    store: TheStore, old_style: Annotated[bool, Query(deprecated=True)] = False
) -> list[str]:
    """Use the list of products instead."""
    return [each.name.upper() if old_style else each.name for each in store.products.values()]


@router.get("/stats", response_class=Wrapped)
async def stats(store: TheStore) -> dict[str, int]:
    return {"products": len(store.products)}


@router.get("/home", response_class=HTMLResponse)
async def home() -> str:
    return "<h1>Shop</h1>"


@router.get("/licence", response_class=FileResponse)
async def licence() -> FileResponse:
    return FileResponse(__file__, filename="answers.py", media_type="text/x-python")


@router.get("/ticker", response_class=StreamingResponse)
def ticker() -> StreamingResponse:
    """Lines of JSON, one after another."""
    return StreamingResponse(_ticks(), media_type="application/x-ndjson")


@router.post("/sum")
async def add_up(numbers: Annotated[list[int] | dict[str, int], Body()]) -> int:
    """A body that is one thing or another."""
    return sum(numbers.values() if isinstance(numbers, dict) else numbers)


@router.post("/maybe")
async def maybe(
    note: Annotated[dict[str, Any] | None, Body()] = None,
) -> dict[str, Any]:
    """A body that may be left out."""
    return {"note": note}


@router.get("/teapot", responses={418: {"description": "It is a teapot."}})
async def teapot() -> None:
    raise HTTPException(418, {"pot": "tea"}, headers={"Retry-After": "60"})


@router.get("/crash")
async def crash() -> None:
    raise RuntimeError("secret of the shop")


@router.get("/health", include_in_schema=False)
async def health() -> dict[str, bool]:
    return {"ok": True}


def _ticks() -> Iterator[str]:
    for number in range(3):
        yield json.dumps({"tick": number}) + "\n"
