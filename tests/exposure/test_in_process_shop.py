"""Every route of the shop, called in process and requested over httpx: the outcomes are the same."""

from __future__ import annotations

import base64
import json
from typing import Any
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI
from msgspec import Raw, Struct

from accord.exposure.find import find_routes
from accord.exposure.in_process import InProcess
from accord.exposure.routes import name_routes
from accord.jsonrpc.protocol.errors import RpcError
from tests.exposure.shop import ADMIN_KEY, PASSWORD, TOKEN, make_shop
from tests.exposure.shop.models import OrderDraft, OrderLine

HEADERS = {"Authorization": f"Bearer {TOKEN}", "X-Admin-Key": ADMIN_KEY}
ORDER = str(UUID(int=1))
DRAFT = {"name": "Pen", "price": {"amount": "1.20"}, "tags": ["desk"], "attributes": {"ink": 1}}
REVIEW = {"stars": 4, "text": "ü", "replies": [{"stars": 1}]}


class Case(Struct, frozen=True):
    """A call, and the request that it stands for."""

    name: str
    arguments: dict[str, Any]
    request: str
    options: dict[str, Any] = {}


CASES = [
    Case("products.get", {}, "GET /products"),
    Case("products.get", {"q": "Maß / 50%", "offset": 0}, "GET /products?q=Ma%C3%9F+%2F+50%25&offset=0"),
    Case("products.get", {"tag": ["kitchen", "blue"], "limit": 1, "q": None}, "GET /products?tag=kitchen&tag=blue&limit=1"),
    Case("products.get", {"availability": "in stock"}, "GET /products?availability=in%20stock"),
    Case("products.get", {"limit": 1000, "offset": "x"}, "GET /products?limit=1000&offset=x"),
    Case("products.post", DRAFT, "POST /products", {"json": DRAFT}),
    Case("products.post", {"name": "", "price": {"amount": -1}}, "POST /products", {"json": {"name": "", "price": {"amount": -1}}}),
    Case("products.filtered.get", {"min_price": 5.5, "order_by": "name"}, "GET /products/filtered?min_price=5.5&order_by=name"),
    Case("products.export.get", {}, "GET /products/export"),
    Case("products.search.phrase.get", {"phrase": "maß / 50%"}, "GET /products/search/ma%C3%9F%20/%2050%25"),
    Case("products.product_id.get", {"product_id": 1}, "GET /products/1"),
    Case("products.product_id.get", {"product_id": 99}, "GET /products/99"),
    Case("products.product_id.get", {"product_id": 0}, "GET /products/0"),
    Case("products.product_id.put", {"product_id": 2, **DRAFT}, "PUT /products/2", {"json": DRAFT}),
    Case("products.product_id.patch", {"product_id": 2}, "PATCH /products/2", {"json": {}}),
    Case("products.product_id.patch", {"product_id": 2, "name": None, "availability": "gone"}, "PATCH /products/2", {"json": {"name": None, "availability": "gone"}}),
    Case("products.product_id.delete", {"product_id": 2}, "DELETE /products/2"),
    Case("products.product_id.picture.get", {"product_id": 1}, "GET /products/1/picture"),
    Case("products.product_id.reviews.get", {"product_id": 1}, "GET /products/1/reviews"),
    Case("products.product_id.reviews.post", {"product_id": 1, "review": REVIEW, "notify": True}, "POST /products/1/reviews", {"json": {"review": REVIEW, "notify": True}}),
    Case("categories.get", {}, "GET /categories"),
    Case("categories.name.put", {"name": "desk", "name_body": "office", "dry": True}, "PUT /categories/desk?dry=true", {"json": {"name": "office"}}),
    Case("categories.name.order.put", {"name": "all", "body": ["desk", "kitchen"]}, "PUT /categories/all/order", {"json": ["desk", "kitchen"]}),
    Case("orders.get", {}, "GET /orders"),
    Case("orders.get", {"id": [ORDER, ORDER]}, f"GET /orders?id={ORDER}&id={ORDER}"),
    Case("orders.post", {"lines": [{"product_id": 1}], "x_request_id": "r1", "deliverOn": "2030-01-01"}, "POST /orders", {"json": {"lines": [{"product_id": 1}], "deliverOn": "2030-01-01"}, "headers": {"X-Request-Id": "r1"}}),
    Case("orders.bulk.post", {"body": [{"lines": [{"product_id": 1}]}]}, "POST /orders/bulk", {"json": [{"lines": [{"product_id": 1}]}]}),
    Case("orders.bulk.post", {"body": [{"lines": []}, 7]}, "POST /orders/bulk", {"json": [{"lines": []}, 7]}),
    Case("orders.order_id.get", {"order_id": ORDER}, f"GET /orders/{ORDER}"),
    Case("orders.order_id.get", {"order_id": "x"}, "GET /orders/x"),
    Case("orders.order_id.pay.post", {"order_id": ORDER, "body": {"kind": "transfer", "iban": "NL1"}}, f"POST /orders/{ORDER}/pay", {"json": {"kind": "transfer", "iban": "NL1"}}),
    Case("orders.order_id.cancel.post", {"order_id": ORDER}, f"POST /orders/{ORDER}/cancel"),
    Case("orders.order_id.invoice.get", {"order_id": ORDER}, f"GET /orders/{ORDER}/invoice"),
    Case("orders.order_id.parcel.get", {"order_id": ORDER}, f"GET /orders/{ORDER}/parcel"),
    Case("login.post", {"username": "ada", "password": PASSWORD}, "POST /login", {"data": {"username": "ada", "password": PASSWORD}}),
    Case("login.post", {"username": "ada", "password": "wröng&"}, "POST /login", {"data": {"username": "ada", "password": "wröng&"}}),
    Case("me.get", {}, "GET /me"),
    Case("me.address.put", {"street": "S", "city": "C", "country": "DE"}, "PUT /me/address", {"json": {"street": "S", "city": "C", "country": "DE"}}),
    Case("me.address.delete", {}, "DELETE /me/address"),
    Case("me.view.get", {"theme": "dark", "last_seen": "2030"}, "GET /me/view", {"headers": {"Cookie": "theme=dark; last-seen=2030"}}),
    Case("feedback.post", {"topic": "praise", "text": "a b&c", "stars": 5}, "POST /feedback", {"data": {"topic": "praise", "text": "a b&c", "stars": "5"}}),
    Case("parcels.code.get", {"code": "a b?"}, "GET /parcels/a%20b%3F"),
    Case("quote.get", {"on": "2030-01-01", "urgency": 2, "exact": True, "weights": [1.5, 2]}, "GET /quote?on=2030-01-01&urgency=2&exact=true&weights=1.5&weights=2"),
    Case("headers.get", {"x_trace": ["a", "b"], "x_api_version": 2}, "GET /headers", {"headers": [("X-Trace", "a"), ("X-Trace", "b"), ("X-API-Version", "2"), *HEADERS.items()]}),
    Case("catalogue.get", {"old_style": True}, "GET /catalogue?old_style=true"),
    Case("stats.get", {}, "GET /stats"),
    Case("home.get", {}, "GET /home"),
    Case("licence.get", {}, "GET /licence"),
    Case("ticker.get", {}, "GET /ticker"),
    Case("sum.post", {"body": {"a": 1, "b": 2}}, "POST /sum", {"json": {"a": 1, "b": 2}}),
    Case("sum.post", {"body": [1, 2]}, "POST /sum", {"json": [1, 2]}),
    Case("maybe.post", {}, "POST /maybe"),
    Case("maybe.post", {"body": {"x": None}}, "POST /maybe", {"json": {"x": None}}),
    Case("teapot.get", {}, "GET /teapot"),
    Case("crash.get", {}, "GET /crash"),
    Case("admin.customers.name.get", {"name": "ada"}, "GET /admin/customers/ada"),
    Case("admin.customers.name.get", {"name": "bob"}, "GET /admin/customers/bob"),
    Case("admin.opening.post", {"opened": False}, "POST /admin/opening?opened=false"),
    Case("legacy.stock.id.get", {"id": 7, "query": {"shelf": "ü"}}, "GET /legacy/stock/7?shelf=%C3%BC"),
    Case("legacy.notes.post", {"body": [1]}, "POST /legacy/notes", {"json": [1]}),
    Case("legacy.shelves.place.get", {"place": "a/b"}, "GET /legacy/shelves/a/b"),
    Case("legacy.shelves.place.delete", {"place": "a/b"}, "DELETE /legacy/shelves/a/b"),
]  # fmt: skip


ROUTES = name_routes(find_routes(make_shop()))


def shop() -> FastAPI:
    app = make_shop()
    app.state.store.add_order(OrderDraft(lines=[OrderLine(product_id=1)]))
    return app


async def called(app: FastAPI, case: Case) -> Any:
    """What a call gives: the result, or the status and body of an error."""
    calls = InProcess(app, forward=["authorization", "x-admin-key"])
    try:
        result = await calls.call(ROUTES[case.name], case.arguments, headers=HEADERS)
    except RpcError as error:
        return {name: error.data.get(name) for name in ("status", "body", "location")}
    finally:
        await calls.drain()
    return json.loads(bytes(result)) if isinstance(result, Raw) else result


async def requested(app: FastAPI, case: Case) -> Any:
    """What the request gives, in the same terms."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        method, url = case.request.split(" ")
        options = {**case.options}
        if not isinstance(headers := options.get("headers", {}), list):
            options["headers"] = {**HEADERS, **headers}
        response = await client.request(method, url, **options)
    kind = response.headers.get("content-type", "").partition(";")[0]
    body: Any = response.content or None
    if body is not None and kind.endswith("json") and kind != "application/x-ndjson":
        body = response.json()
    elif body is not None and kind.startswith("text/"):
        body = response.text
    if response.is_error or response.is_redirect:
        location = response.headers.get("location")
        return {"status": response.status_code, "body": body, "location": location}
    if isinstance(body, bytes):
        file = {"mediaType": kind, "data": base64.b64encode(body).decode()}
        _, named, filename = response.headers.get("content-disposition", "").partition("filename=")
        return {**file, "filename": filename.strip('"')} if named else file
    return body


@pytest.mark.req("O-02")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name} {case.request}")
async def test_a_call_gives_what_the_request_gives(case: Case) -> None:
    by_call, by_request = shop(), shop()
    result = await called(by_call, case)
    assert result == await requested(by_request, case)
    for part in ("requests", "outbox", "open"):
        assert getattr(by_call.state.store, part) == getattr(by_request.state.store, part)


def test_every_route_of_the_shop_is_called() -> None:
    assert {case.name for case in CASES} == set(ROUTES)
