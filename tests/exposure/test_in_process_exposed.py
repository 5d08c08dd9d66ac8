"""Exposed routes as methods of a router: names, headers, contexts, and whole ways through HTTP."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from typing import Annotated, Any

import httpx
import pytest
from fastapi import FastAPI, Form, Request, UploadFile
from starlette.middleware.trustedhost import TrustedHostMiddleware

from accord import InvalidParamsError, Peer, RegistrationError, Router, RpcError, connect, serve
from accord.exposure.find import find_routes
from accord.exposure.in_process import Exposed, InProcess
from accord.exposure.routes import Route, RouteParameter, rpc_name
from accord.jsonrpc.protocol.channel import Limits
from accord.transports.asgi import AsgiEndpoint


def router_of(app: FastAPI, calls: InProcess | None = None) -> Router:
    """The routes of `app` as methods, each named as its function is."""
    router = Router()
    calls = InProcess(app) if calls is None else calls
    for route in find_routes(app):
        router.add(Exposed(calls, route), route.rpc_name or route.name)
    return router


@contextlib.asynccontextmanager
async def peer_of(app: FastAPI, url: str = "memory:exposed") -> AsyncIterator[Peer]:
    async with serve(router_of(app), url), connect(url) as peer:
        yield peer


async def test_arguments_may_have_any_name() -> None:
    app = FastAPI()

    @app.get("/names")
    async def names(request: Request) -> list[Any]:
        return request.query_params.multi_items()

    odd = ("self", "context", "headers", "route", "arguments", "scope", "a-b", "", "ü", "class")
    route = Route(
        method="GET",
        path="/names",
        parameters=tuple(
            RouteParameter(name=name, wire_name=f"w{number}", location="query")
            for number, name in enumerate(odd)
        ),
    )
    router = Router()
    router.add(Exposed(InProcess(app), route), "names")
    async with serve(router, "memory:names"), connect("memory:names") as peer:
        result = await peer.call("names", {name: number for number, name in enumerate(odd)})
    assert result == [[f"w{number}", str(number)] for number in range(len(odd))]


async def test_arguments_are_given_by_name_only() -> None:
    app = FastAPI()

    @app.get("/items/{id}")
    async def item(id: int) -> int:
        return id

    async with peer_of(app) as peer:
        assert await peer.call("item", {"id": 7}) == 7
        with pytest.raises(InvalidParamsError) as raised:
            await peer.call("item", [7])
    assert raised.value.message == (
        "parameter 'params': the method takes 0 parameters by position, 1 came"
    )


async def test_a_route_without_parameters_is_called_without_params() -> None:
    app = FastAPI()

    @app.get("/")
    async def ping() -> str:
        return "pong"

    async with peer_of(app) as peer:
        assert [
            await peer.call("ping"),
            await peer.call("ping", {}),
            await peer.call("ping", []),
        ] == ["pong"] * 3


async def test_wrong_arguments_are_told_as_by_any_method() -> None:
    app = FastAPI()

    @app.get("/items/{id}")
    async def item(id: int, limit: int = 1) -> int:
        return id

    async with peer_of(app) as peer:
        for params, path in (({"id": "x"}, "id"), ({"id": 1, "limt": 2}, "limt"), ({}, "id")):
            with pytest.raises(InvalidParamsError) as raised:
                await peer.call("item", params)
            assert (raised.value.data["reason"], raised.value.data["path"]) == (
                "invalid_params",
                path,
            )


async def test_numbers_of_a_json_body_keep_their_digits() -> None:
    app = FastAPI()

    @app.post("/")
    async def echo(request: Request, price: float) -> str:
        return (await request.body()).decode()

    route = Route(
        method="POST",
        path="/",
        body="json",
        parameters=(
            RouteParameter(name="price", wire_name="price", location="query"),
            RouteParameter(name="body", wire_name="", location="body"),
        ),
    )
    router = Router()
    router.add(Exposed(InProcess(app), route), "echo")
    async with AsgiClient(AsgiEndpoint(router)) as client:
        sent = b'{"jsonrpc":"2.0","id":1,"method":"echo","params":{"price":1,"body":[1.10, 9e999]}}'
        assert (await client.post("/", content=sent)).json()["result"] == "[1.10, 9e999]"


class AsgiClient(httpx.AsyncClient):
    """An HTTP client of an ASGI application."""

    def __init__(self, app: Any, **options: Any) -> None:
        transport = httpx.ASGITransport(app, client=("192.0.2.7", 4711))
        super().__init__(
            transport=transport,
            base_url="https://shop.example",
            headers={"content-type": "application/json"},
            **options,
        )

    async def rpc(self, path: str, method: str, **params: Any) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return (await self.post(path, json=message)).json()["result"]


@pytest.mark.req("O-02")
async def test_mounted_into_its_application_a_call_is_like_the_request_that_carries_it() -> None:
    app = FastAPI()
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=["shop.example"])

    @app.get("/who")
    async def who(request: Request) -> dict[str, Any]:
        return {
            "client": request.client,
            "url": str(request.url_for("who")),
            "db": getattr(request.state, "db", None),
            "token": request.headers.get("authorization"),
            "other": request.headers.get("x-other"),
        }

    app.mount("/rpc", AsgiEndpoint(router_of(app)))

    async def server(scope: Any, receive: Any, send: Any) -> None:
        scope["state"] = {"db": "pool"}  # as servers do with what the lifespan yielded
        await app(scope, receive, send)

    async with AsgiClient(server) as client:
        client.headers.update({"authorization": "Bearer t", "x-other": "o"})
        assert await client.rpc("/rpc/", "who") == {
            "client": ["192.0.2.7", 4711],
            "url": "https://shop.example/who",
            "db": "pool",
            "token": "Bearer t",
            "other": None,
        }


async def test_on_our_own_server_the_application_sees_the_client_and_the_headers() -> None:
    app = FastAPI()

    @app.get("/who")
    async def who(request: Request) -> list[Any]:
        assert request.client is not None
        return [request.client.host, str(request.url), request.headers.get("authorization")]

    async with (
        serve(router_of(app), "http://127.0.0.1:0/rpc") as server,
        httpx.AsyncClient() as client,
    ):
        response = await client.post(
            server.url,
            json={"jsonrpc": "2.0", "id": 1, "method": "who"},
            headers={"Authorization": "Bearer t"},
        )
    assert response.json()["result"] == ["127.0.0.1", "http://localhost/who", "Bearer t"]


async def test_where_there_is_no_address_the_application_sees_no_client() -> None:
    app = FastAPI()

    @app.get("/who")
    async def who(request: Request) -> bool:
        return request.client is None

    async with peer_of(app) as peer:
        assert await peer.call("who") is True


async def test_a_deadline_cancels_the_application() -> None:
    app = FastAPI()
    cancelled = asyncio.Event()

    @app.get("/")
    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    router = Router()
    (route,) = find_routes(app)
    router.add(Exposed(InProcess(app), route), "slow", deadline=0.02)
    async with serve(router, "memory:slow"), connect("memory:slow") as peer:
        with pytest.raises(RpcError) as raised:
            await peer.call("slow")
        assert raised.value.code == -32009
        await cancelled.wait()


async def test_many_calls_run_at_once() -> None:
    app = FastAPI()
    barrier = asyncio.Barrier(50)

    @app.get("/{id}")
    async def meet(id: int) -> int:
        await barrier.wait()
        return id

    async with peer_of(app) as peer:
        calls = [peer.call("meet", {"id": number}) for number in range(50)]
        assert await asyncio.gather(*calls) == list(range(50))


async def test_files_go_in_and_out_in_the_same_form() -> None:
    app = FastAPI()

    @app.post("/upload")
    @rpc_name("upload")
    async def upload(
        note: Annotated[str, Form()],
        more: list[UploadFile],
        file: UploadFile | None = None,
    ) -> Any:
        files = [each for each in (file, *more) if each is not None]
        return [
            note,
            [[each.filename, each.content_type, (await each.read()).hex()] for each in files],
        ]

    content = bytes(range(256))
    data = base64.b64encode(content).decode()
    async with peer_of(app) as peer:
        result = await peer.call(
            "upload",
            {
                "note": "ü\r\n--",
                "file": {"data": data, "filename": 'ü ".bin', "mediaType": "image/png"},
                "more": [data, {"data": "", "filename": "empty"}],
            },
        )
    assert result == [
        "ü\r\n--",
        [
            ["ü %22.bin", "image/png", content.hex()],
            ["more", "application/octet-stream", content.hex()],
            ["empty", "application/octet-stream", ""],
        ],
    ]


def test_a_route_that_cannot_be_called_is_refused_when_it_is_exposed() -> None:
    with pytest.raises(RegistrationError):
        Exposed(InProcess(FastAPI()), Route(method="GET", path="/{id}"))


def test_an_exposed_route_says_what_it_is() -> None:
    exposed = Exposed(InProcess(FastAPI()), Route(method="GET", path="/items"))
    assert repr(exposed) == "<Exposed GET /items>"


async def test_a_result_that_is_too_large_for_a_batch_is_no_more_than_an_error() -> None:
    app = FastAPI()

    @app.get("/")
    async def large() -> str:
        return "x" * 2000

    endpoint = AsgiEndpoint(router_of(app), limits=Limits(max_batch_response_bytes=3000))
    batch = [{"jsonrpc": "2.0", "id": number, "method": "large"} for number in range(2)]
    async with AsgiClient(endpoint) as client:
        answers = (await client.post("/", json=batch)).json()
    assert [each.get("error", {}).get("code") for each in answers] == [None, -32012]
