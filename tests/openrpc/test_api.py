"""A described router as an ASGI application: the document by HTTP and by `rpc.discover`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.types import ASGIApp

from accord import RegistrationError, Router, connect, serve
from accord.openrpc import About, Api
from accord.telemetry.metrics import Metrics


def router() -> Router:
    router = Router()

    @router.method
    def add(a: int, b: int) -> int:
        """The sum."""
        return a + b

    return router


@asynccontextmanager
async def client(app: ASGIApp) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://example.com:8000"
    ) as client:
        yield client


def discovering(**more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "rpc.discover", **more}


def mounted(api: Api) -> Starlette:
    app = Starlette()
    app.mount("/deep/rpc", api)
    return app


@pytest.mark.req("O-01", "O-09")
async def test_calls_and_the_document_are_at_the_same_mount() -> None:
    api = Api(router(), title="Sums", version="1.0")
    async with client(mounted(api)) as http:
        call = {"jsonrpc": "2.0", "id": 1, "method": "add", "params": [1, 2]}
        assert (await http.post("/deep/rpc/", json=call)).json()["result"] == 3
        page = await http.get("/deep/rpc/openrpc.json")
        assert (page.status_code, page.headers["content-type"]) == (200, "application/json")
        assert page.json() == api.document("http://example.com:8000/deep/rpc/")
        assert page.json()["servers"] == [{"url": "http://example.com:8000/deep/rpc/"}]
        again = {"if-none-match": page.headers["etag"]}
        assert (await http.get("/deep/rpc/openrpc.json", headers=again)).status_code == 304
        discovered = await http.post("/deep/rpc/", json=discovering())
        assert discovered.json()["result"] == page.json()


@pytest.mark.req("O-09")
async def test_discovery_answers_on_any_transport_with_the_bytes_of_the_document() -> None:
    api = Api(router(), title="Sums", version="1.0")
    async with (
        serve(api.router, "memory:discovery"),
        connect("memory:discovery") as peer,
    ):
        assert await peer.call("rpc.discover") == api.document()


@pytest.mark.req("O-08")
def test_discovery_describes_itself_without_other_documents() -> None:
    api = Api(router(), title="Sums", version="1.0")
    [_, discover] = api.document()["methods"]
    assert discover == {
        "name": "rpc.discover",
        "summary": "The OpenRPC document that describes the methods of this service.",
        "paramStructure": "either",
        "params": [],
        "result": {
            "name": "result",
            "description": "An OpenRPC document.",
            "schema": {"title": "OpenRPC document", "type": "object"},
        },
    }


async def test_a_method_that_is_added_later_is_in_the_document() -> None:
    api = Api(router(), title="Sums", version="1.0")
    async with client(api) as http:
        first = await http.get("/openrpc.json")
        api.router.add(lambda: None, "later")
        second = await http.get("/openrpc.json", headers={"if-none-match": first.headers["etag"]})
        assert [each["name"] for each in second.json()["methods"]] == [
            "add",
            "later",
            "rpc.discover",
        ]


@pytest.mark.parametrize(
    ("host", "servers"),
    [
        ("example.com", [{"url": "http://example.com/"}]),
        ("[::1]:8000", [{"url": "http://[::1]:8000/"}]),
        ('x","evil":"', None),
        ("a b", None),
        ("user@example.com", None),
        ("example.com/../x", None),
        ("", None),
        ("x" * 5000, None),
    ],
)
async def test_a_host_that_is_none_is_not_repeated(host: str, servers: Any) -> None:
    api = Api(router(), title="Sums", version="1.0")
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(event: Any) -> None:
        sent.append(event)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/openrpc.json",
        "raw_path": b"/openrpc.json",
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", host.encode())],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    await api(scope, receive, send)
    assert sent[0]["status"] == 200
    assert httpx.Response(200, content=sent[1]["body"]).json().get("servers") == servers


async def test_servers_that_are_given_are_the_ones_in_the_document() -> None:
    api = Api(router(), title="Sums", version="1.0", servers=["https://api.example.com/rpc"])
    async with client(mounted(api)) as http:
        page = await http.get("/deep/rpc/openrpc.json")
    assert page.json()["servers"] == [{"url": "https://api.example.com/rpc"}]


async def test_it_can_be_at_a_path_of_an_application_of_its_own() -> None:
    api = Api(router(), title="Sums", version="1.0", path="/rpc")
    async with client(api) as http:
        page = await http.get("/rpc/openrpc.json")
        assert page.json()["servers"] == [{"url": "http://example.com:8000/rpc/"}]
        assert (await http.get("/openrpc.json")).status_code == 404


def test_a_description_that_does_not_fit_stops_the_start_and_changes_nothing() -> None:
    it = router()
    it.add(lambda: None, "odd", about=About(params={"x": "?"}))
    with pytest.raises(RegistrationError, match="method 'odd'"):
        Api(it, title="Sums", version="1.0")
    assert sorted(it.methods) == ["add", "odd"]


def test_a_router_is_described_once() -> None:
    it = router()
    Api(it, title="Sums", version="1.0")
    with pytest.raises(RegistrationError, match=r"method 'rpc\.discover' is .* already"):
        Api(it, title="Sums again", version="1.0")


async def test_the_explorer_is_below_the_mount_and_calls_it_with_a_slash() -> None:
    async with client(mounted(Api(router(), title="Sums <1>", version="1.0"))) as http:
        page = await http.get("/deep/rpc/explore")
        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert 'data-endpoint="./"' in page.text
        assert "Sums &lt;1&gt;" in page.text


async def test_there_is_no_explorer_where_none_is_wanted() -> None:
    api = Api(router(), title="Sums", version="1.0", explorer=False)
    assert list(api.pages) == ["openrpc.json"]
    async with client(api) as http:
        assert (await http.get("/explore")).status_code == 404


@pytest.mark.req("O-11")
async def test_metrics_are_a_page_if_wanted() -> None:
    class Listener(Metrics):
        pass

    other = Listener()
    api = Api(router(), title="Sums", version="1.0", metrics=True, observer=other)
    async with client(mounted(api)) as http:
        await http.post(
            "/deep/rpc/", json={"jsonrpc": "2.0", "id": 1, "method": "add", "params": [1, 2]}
        )
        page = await http.get("/deep/rpc/metrics")
    expected = b'accord_calls_total{method="add",kind="request"} 1\n'
    assert expected in page.content
    assert expected in other.text()
    own = Metrics(namespace="sums")
    assert Api(router(), title="Sums", version="1.0", metrics=own).observer is own


@pytest.mark.req("O-09")
async def test_our_own_server_serves_the_pages_too() -> None:
    api = Api(router(), title="Sums", version="1.0")
    async with serve(api.router, "http://127.0.0.1:0/rpc", pages=api.pages) as server:
        api.place = server.url
        async with httpx.AsyncClient() as http:
            page = await http.get(f"{server.url}/openrpc.json")
            assert page.json() == api.document()
            assert page.json()["servers"] == [{"url": server.url}]
            assert (await http.get(f"{server.url}/explore")).status_code == 200
