"""What an ASGI application that serves a router answers."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from accord import Limits, RpcError
from accord.transports.asgi import AsgiEndpoint
from accord.transports.asgi.scope import Event
from accord.transports.pages import Page
from tests.transports.asgi.service import PATIENCE, Answer, Bare, Service, ask, note

JSON = {"content-type": "application/json"}
TEXT = {"content-type": "text/plain; charset=utf-8"}
CALL = b'{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}'
THREE = b'{"jsonrpc":"2.0","id":1,"result":3}'
HOLD = b'{"jsonrpc":"2.0","id":1,"method":"hold"}'
TYPE = (b"content-type", b"application/json")


def endpoint(**options: Any) -> AsgiEndpoint:
    return AsgiEndpoint(Service().router, **options)


def text(status: int, message: str, **headers: str) -> Answer:
    body = message.encode() + b"\n"
    return Answer(status, {**headers, **TEXT, "content-length": str(len(body))}, body)


def error_of(answer: Answer) -> tuple[int, int, str]:
    error = msgspec.json.decode(answer.body)["error"]
    return answer.status, error["code"], error["message"]


def json(status: int, body: bytes, **headers: str) -> Answer:
    return Answer(status, {**JSON, "content-length": str(len(body)), **headers}, body)


@pytest.mark.req("O-01")
@pytest.mark.parametrize("method", ["add", "add_in_thread"])
async def test_a_call_is_answered(method: str) -> None:
    call = CALL.replace(b'"add"', f'"{method}"'.encode())
    assert await ask(endpoint(), call) == json(200, THREE)


@pytest.mark.req("O-01")
@pytest.mark.parametrize("method", ["add", "soon"])
async def test_a_notification_is_answered_by_nothing(method: str) -> None:
    notification = f'{{"jsonrpc":"2.0","method":"{method}","params":[1]}}'.encode()
    assert await ask(endpoint(), notification) == Answer(204, {}, b"")


@pytest.mark.req("O-01")
async def test_a_batch_is_answered_in_its_order() -> None:
    later = b'{"jsonrpc":"2.0","id":2,"method":"soon","params":["x"]}'
    batch = b"[%b,%b,%b]" % (later, CALL, b'{"jsonrpc":"2.0","method":"add","params":[1,2]}')
    answer = b'[{"jsonrpc":"2.0","id":2,"result":"x"},%b]' % THREE
    assert await ask(endpoint(), batch) == json(200, answer)


async def test_what_is_no_message_is_told_so_by_the_status_too() -> None:
    assert error_of(await ask(endpoint(), b"{")) == (
        400, -32700, "Parse error: Input data was truncated",
    )  # fmt: skip
    assert error_of(await ask(endpoint())) == (
        400, -32700, "Parse error: the message is empty",
    )  # fmt: skip
    answer = await ask(endpoint(), b'{"jsonrpc":"2.0","id":1,"method":"no"}')
    assert error_of(answer) == (200, -32601, "Method not found: no")


async def test_a_body_may_come_in_pieces() -> None:
    assert await ask(endpoint(), CALL[:9], b"", CALL[9:]) == json(200, THREE)


@pytest.mark.req("O-12")
async def test_a_body_over_the_limit_is_not_read_further() -> None:
    limited = endpoint(limits=Limits(max_message_bytes=100))
    too_large = (413, -32012, "the message is over the limit of 100 bytes")
    assert error_of(await ask(limited, b"x" * 101)) == too_large
    exchange = Bare(*[b"x" * 60] * 5)
    await exchange.run(limited, method="POST", path="/", headers=[TYPE])
    assert (error_of(exchange.answer), exchange.received) == (too_large, 2)
    told = Bare(b"x" * 101)
    await told.run(limited, method="POST", path="/", headers=[TYPE, (b"content-length", b"101")])
    assert (error_of(told.answer), told.received) == (too_large, 0)


async def test_without_a_limit_any_body_is_read() -> None:
    unlimited = endpoint(limits=Limits(max_message_bytes=None))
    assert await ask(unlimited, b" " * 2_000_000, CALL) == json(200, THREE)


@pytest.mark.req("O-12")
async def test_an_answer_over_the_limit_is_an_error(caplog: pytest.LogCaptureFixture) -> None:
    limited = endpoint(limits=Limits(max_queued_bytes=1000))
    call = b'{"jsonrpc":"2.0","id":1,"method":"soon","params":["%b"]}' % (b"x" * 1000)
    assert error_of(await ask(limited, call)) == (
        500, -32012, "the answer of 1,036 bytes is over the limit of 1,000",
    )  # fmt: skip
    assert [line.getMessage() for line in caplog.records] == [
        "a call is not answered: 1036 bytes are over the limit"
    ]


@pytest.mark.req("O-12")
async def test_calls_have_a_time_limit_and_so_many_at_once() -> None:
    service = Service()
    limited = AsgiEndpoint(service.router, limits=Limits(max_in_flight=1, call_seconds=0.05))
    first = asyncio.ensure_future(ask(limited, HOLD))
    await service.started.wait()
    assert limited.in_flight == 1
    assert error_of(await ask(limited, HOLD)) == (
        200, -32010, "1 calls are being handled, the limit",
    )  # fmt: skip
    assert error_of(await first) == (200, -32009, "hold took longer than 0.05 s")


@pytest.mark.req("O-12")
async def test_batches_have_a_limit() -> None:
    batch = b"[%b,%b]" % (CALL, CALL)
    assert error_of(await ask(endpoint(limits=Limits(max_batch_items=1)), batch)) == (
        200, -32600, "Invalid Request: the batch is over the limit of 1 messages: split it",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        ([], "the content type is missing; send your call with content-type: application/json"),
        (
            [(b"content-type", b"text/plain")],
            "the content type is text/plain; send your call with content-type: application/json",
        ),
        ([TYPE, (b"content-encoding", b"gzip")], "send the body without content-encoding"),
    ],
)
async def test_another_kind_of_body_is_refused(
    headers: list[tuple[bytes, bytes]], error: str
) -> None:
    answer = await ask(endpoint(), CALL, headers=headers)
    assert error_of(answer) == (415, -32600, f"Invalid Request: {error}")


async def test_other_methods_and_paths_are_refused_readably() -> None:
    post_only = text(
        405,
        "This is a JSON-RPC 2.0 endpoint: send your call as a POST with "
        "content-type: application/json",
        allow="POST",
    )
    assert await ask(endpoint(), method="GET") == post_only
    head = await ask(endpoint(), method="HEAD")
    assert head == Answer(405, post_only.headers, b"")
    nothing = text(404, "Nothing is here: JSON-RPC is served at /")
    assert await ask(endpoint(), CALL, path="/elsewhere") == nothing
    mounted = await ask(endpoint(), CALL, path="/api/elsewhere", root_path="/api")
    assert mounted == text(404, "Nothing is here: JSON-RPC is served at /api")


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        (b"content-length", b"-1", "the header field content-length is invalid"),
        (b"content-type", b"text/plain", "the header field content-type is given twice"),
    ],
)
async def test_a_malformed_head_is_refused(name: bytes, value: bytes, reason: str) -> None:
    answer = await ask(endpoint(), CALL, headers=[TYPE, (name, value)])
    assert answer == text(400, reason)


NAMES = st.sampled_from(
    [b"content-type", b"content-length", b"content-encoding", b"origin", b"host", b"if-none-match"]
)
VALUES = st.sampled_from([b"application/json", b"7", b"http://x", b"*"]) | st.binary(max_size=20)


@given(
    method=st.sampled_from(["POST", "GET", "HEAD", "OPTIONS"]) | st.text(),
    path=st.sampled_from(["/", "", "/note", "/rpc"]) | st.text(),
    root_path=st.sampled_from(["", "/rpc"]) | st.text(),
    headers=st.lists(st.tuples(NAMES | st.binary(max_size=10), VALUES)),
    bodies=st.lists(st.sampled_from([CALL, b"[", b"", b"]"]) | st.binary(max_size=50), max_size=3),
    client=st.none() | st.tuples(st.text(), st.integers()),
)
def test_anything_is_answered(
    method: str,
    path: str,
    root_path: str,
    headers: list[tuple[bytes, bytes]],
    bodies: list[bytes],
    client: tuple[str, int] | None,
) -> None:
    app = endpoint(pages={"note": lambda: note("hi")}, limits=Limits(max_message_bytes=100))
    answer = asyncio.run(
        ask(
            app,
            *bodies,
            method=method,
            path=path,
            root_path=root_path,
            headers=headers,
            client=client,
        )
    )
    assert answer.status in (200, 204, 304, 400, 403, 404, 405, 413, 415)


# Browsers


async def test_pages_of_other_origins_are_refused() -> None:
    headers = [TYPE, (b"host", b"example.com"), (b"origin", b"https://evil.example")]
    refused = text(403, "Requests of this origin are not let in")
    assert await ask(endpoint(), CALL, headers=headers) == refused
    own = [TYPE, (b"host", b"example.com"), (b"origin", b"https://example.com")]
    assert await ask(endpoint(), CALL, headers=own) == json(200, THREE)
    # DNS rebinding: a foreign name for this machine
    assert await ask(endpoint(), CALL, headers=own, client=("127.0.0.1", 9)) == refused
    assert await ask(endpoint(), CALL, headers=own, client=None) == json(200, THREE)


async def test_named_origins_are_let_in_after_a_preflight() -> None:
    app = endpoint(origins=("https://app.example",), pages={"note": lambda: note("hi")})
    origin = (b"origin", b"https://app.example")
    cors = {"access-control-allow-origin": "https://app.example", "vary": "origin"}
    assert await ask(app, CALL, headers=[TYPE, origin]) == json(200, THREE, **cors)
    asked = [origin, (b"access-control-request-method", b"POST")]
    told = {"access-control-allow-headers": "content-type", "access-control-max-age": "600"}
    assert await ask(app, method="OPTIONS", headers=asked) == Answer(
        204, {"access-control-allow-methods": "POST", **told, **cors}, b""
    )
    assert await ask(app, method="OPTIONS", path="/note", headers=asked) == Answer(
        204, {"access-control-allow-methods": "GET, HEAD", **told, **cors}, b""
    )
    assert (await ask(app, method="PUT")).headers["allow"] == "POST, OPTIONS"


# Pages


async def test_pages_are_below_the_endpoint() -> None:
    app = endpoint(pages={"docs/note": lambda: note("hi")})
    page = await ask(app, method="GET", path="/docs/note")
    tag = page.headers["etag"]
    assert page == Answer(200, {"etag": tag, **TEXT, "content-length": "2"}, b"hi")
    assert await ask(app, method="HEAD", path="/docs/note") == Answer(200, page.headers, b"")
    unchanged = await ask(
        app, method="GET", path="/docs/note", headers=[(b"if-none-match", tag.encode())]
    )
    assert unchanged == Answer(304, {"etag": tag}, b"")
    assert await ask(app, CALL, path="/docs/note") == text(
        405, "This is a page to read: ask for it with GET", allow="GET, HEAD"
    )
    assert (await ask(app, method="GET", path="/docs")).status == 404


async def test_the_endpoint_can_have_a_page_of_its_own() -> None:
    app = endpoint(pages={"": lambda: note("read me")})
    assert (await ask(app, method="GET")).body == b"read me"
    assert await ask(app, CALL) == json(200, THREE)
    assert (await ask(app, method="PUT")).headers["allow"] == "POST, GET, HEAD"


async def test_a_page_that_cannot_be_made_is_an_error_of_its_own(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken() -> Page:
        raise LookupError("a secret")

    def split() -> Page:
        return Page(body=b"", media_type="text/plain", headers=(("x", "a\r\nset-cookie: b"),))

    app = endpoint(pages={"broken": broken, "split": split})
    for path in ("/broken", "/split"):
        answer = await ask(app, method="GET", path=path)
        assert answer == text(500, "This page could not be made")
    assert [line.getMessage() for line in caplog.records] == [
        "the page broken could not be made",
        "the page split could not be made",
    ]


# Handlers and their clients


async def test_a_client_that_goes_away_cancels_what_runs_for_it() -> None:
    service = Service()
    app = AsgiEndpoint(service.router)
    exchange = Bare(b"[%b,%b]" % (HOLD, CALL))
    serving = asyncio.ensure_future(exchange.run(app, method="POST", path="/", headers=[TYPE]))
    await service.started.wait()
    exchange.go_away()
    await serving
    await service.cancelled.wait()
    assert (exchange.sent, app.in_flight) == ([], 0)


async def test_a_client_that_goes_away_while_it_sends_is_not_answered() -> None:
    exchange = Bare(CALL)
    exchange.go_away()
    exchange.received = 1
    await exchange.run(endpoint(), method="POST", path="/", headers=[TYPE])
    assert exchange.sent == []


async def test_a_server_that_cancels_the_request_cancels_the_handler() -> None:
    service = Service()
    serving = asyncio.ensure_future(ask(AsgiEndpoint(service.router), HOLD))
    await service.started.wait()
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    await service.cancelled.wait()


@pytest.mark.parametrize("failing", [True, False])
async def test_a_server_that_does_not_tell_of_disconnects_is_borne(failing: bool) -> None:
    service = Service()
    app = AsgiEndpoint(service.router)
    exchange = Bare(HOLD)
    asked = asyncio.Event()

    async def receive() -> Event:
        if exchange.received == 0:
            return await exchange.receive()
        asked.set()
        if failing:
            raise RuntimeError("the body has been read")
        return {"type": "http.request"}

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [TYPE]}
    serving = asyncio.ensure_future(app(scope, receive, exchange.send))
    await asked.wait()
    service.release.set()
    await serving
    assert exchange.answer == json(200, b'{"jsonrpc":"2.0","id":1,"result":"released"}')


async def test_a_client_that_is_gone_when_it_is_answered_is_no_error() -> None:
    answered = 0

    async def send(event: Event) -> None:
        nonlocal answered
        answered += 1
        raise OSError("gone")

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [TYPE]}
    await endpoint()(scope, Bare(CALL).receive, send)
    assert answered == 1


async def test_what_a_middleware_raises_while_the_body_is_read_is_left_to_it() -> None:
    async def receive() -> Event:
        raise LookupError("of the middleware")

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [TYPE]}
    with pytest.raises(LookupError):
        await endpoint()(scope, receive, Bare().send)


async def test_a_handler_knows_the_request() -> None:
    service = Service()
    user = object()
    look = b'{"jsonrpc":"2.0","id":1,"method":"look"}'
    headers = [TYPE, (b"x-tenant", b"a")]
    await ask(AsgiEndpoint(service.router), look, headers=headers, scheme="https", user=user)
    await ask(AsgiEndpoint(service.router), look, client=None)
    context, unknown = service.contexts
    assert dict(context.headers) == {"content-type": "application/json", "x-tenant": "a"}
    assert (context.channel.scheme, context.channel.address) == ("https", "203.0.113.7:5")
    assert not context.channel.duplex
    assert context.state["asgi.scope"]["user"] is user
    assert unknown.channel.address == ""


async def test_calls_are_observed() -> None:
    seen: list[object] = []

    class Watching:
        def called(self, method: str, id: object, **rest: object) -> Watching:
            seen.append(method)
            return self

        def ended(self, outcome: object, error: object) -> None:
            seen.append(outcome)

        def left(self) -> None: ...

        def batch_received(self, size: int) -> None: ...

        def refused(self, error: RpcError) -> None:
            seen.append(error.code)

    app = endpoint(observer=Watching())
    assert await ask(app, CALL) == json(200, THREE)
    await ask(app, b"{")
    assert seen == ["add", None, -32700]


async def test_answers_that_nobody_asked_for_are_counted() -> None:
    app = endpoint()
    assert await ask(app, THREE) == Answer(204, {}, b"")
    broken = b'{"jsonrpc":"2.0","id":[],"result":1}'
    assert await ask(app, broken) == Answer(204, {}, b"")
    assert (app.statistics.answers_unknown, app.statistics.answers_broken) == (1, 1)


async def test_a_message_that_breaks_the_dispatcher_is_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR)

    class Broken(dict[str, Any]):
        def get(self, key: Any, default: Any = None) -> Any:
            raise RuntimeError("a router that breaks its promise")

    service = Service()
    service.router.direct = Broken()
    assert error_of(await ask(AsgiEndpoint(service.router), CALL)) == (
        500, -32603, "Internal error",
    )  # fmt: skip
    assert caplog.records[0].getMessage() == "a request could not be handled"


# The life of an application


class Lifespan:
    """A server's side of the lifespan protocol."""

    def __init__(self, app: AsgiEndpoint) -> None:
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._told: asyncio.Queue[Event] = asyncio.Queue()
        self._task = asyncio.ensure_future(
            app({"type": "lifespan"}, self._events.get, self._told.put)
        )

    async def tell(self, what: str) -> str:
        self._events.put_nowait({"type": f"lifespan.{what}"})
        async with asyncio.timeout(PATIENCE):
            told = await self._told.get()
        return str(told["type"])

    async def ended(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self._task


async def test_a_shutdown_gives_handlers_time_to_finish() -> None:
    service = Service()
    app = AsgiEndpoint(service.router)
    lifespan = Lifespan(app)
    assert await lifespan.tell("startup") == "lifespan.startup.complete"
    running = asyncio.ensure_future(ask(app, HOLD))
    await service.started.wait()
    ending = asyncio.ensure_future(lifespan.tell("shutdown"))
    await asyncio.sleep(0)
    service.release.set()
    assert await ending == "lifespan.shutdown.complete"
    await lifespan.ended()
    assert (await running).body == b'{"jsonrpc":"2.0","id":1,"result":"released"}'


async def test_a_shutdown_ends_handlers_that_do_not_finish() -> None:
    service = Service()
    app = AsgiEndpoint(service.router, drain=0.01)
    lifespan = Lifespan(app)
    running = asyncio.ensure_future(ask(app, HOLD))
    await service.started.wait()
    assert await lifespan.tell("shutdown") == "lifespan.shutdown.complete"
    await lifespan.ended()
    assert error_of(await running) == (
        200, -32010, "this end closes before the call has ended",
    )  # fmt: skip
    assert await ask(app, CALL) == json(200, THREE)  # another beginning, in the same process


async def test_an_application_that_was_never_called_shuts_down() -> None:
    lifespan = Lifespan(endpoint())
    assert await lifespan.tell("shutdown") == "lifespan.shutdown.complete"
    await lifespan.ended()


def test_an_endpoint_works_on_one_loop_after_the_other() -> None:
    app = endpoint()
    call = CALL.replace(b'"add"', b'"add_in_thread"')
    loops: weakref.WeakSet[asyncio.AbstractEventLoop] = weakref.WeakSet()

    async def main() -> Answer:
        loops.add(asyncio.get_running_loop())
        return await ask(app, call)

    for _ in range(3):
        assert asyncio.run(main()) == json(200, THREE)
    gc.collect()
    assert len(loops) == 1  # those before are not held on to


async def test_another_kind_of_scope_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="the ASGI scope 'smtp' is not served"):
        await endpoint()({"type": "smtp"}, Bare().receive, Bare().send)
