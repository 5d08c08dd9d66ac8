"""Clients written with code of others call our demo, each over what it can speak."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec import Struct

from tests.interop.conftest import Demo
from tests.interop.programs import ACCORD, driving, peer


class Client(Struct, frozen=True):
    """A client of others, and what it knows of JSON-RPC."""

    script: str
    url: str
    headers: bool = False
    """Whether it tells messages apart by Content-Length headers."""
    duplex: bool = False
    """Whether it can be called back."""
    batches: bool = False


CLIENTS = {
    "python-lsp-jsonrpc over stdio": Client("pylsp_client.py", "stdio:", True, True),
    "vscode-jsonrpc over stdio": Client("vscode.js", "stdio:", True, True),
    "vscode-jsonrpc over tcp": Client("vscode.js", "tcp://127.0.0.1:0", True, True),
    "vscode-jsonrpc over unix": Client("vscode.js", "unix:", True, True),
    "jayson over tcp": Client("jayson.js", "tcp://127.0.0.1:0", batches=True),
    "jayson over unix": Client("jayson.js", "unix:", batches=True),
    "jayson over http": Client("jayson.js", "http://127.0.0.1:0/rpc", batches=True),
    "jayson over https": Client("jayson.js", "https://127.0.0.1:0/rpc", batches=True),
    "jayson over websocket": Client("jayson.js", "ws://127.0.0.1:0/rpc", batches=True),
}
UNICODE = 'Straße, 日本語, 😀, \u2028, \x00, \\ and "quotes"'
VALUES = [None, True, 0, -1.5, "", UNICODE, [], {}, [[1, [2, {"a": None}]]], {"": {"ключ": ["値"]}}]

Run = Callable[[Sequence[Any]], list[Any]]
Start = Callable[[Client], Run]


def clients(fits: Callable[[Client], bool] = lambda client: True) -> pytest.MarkDecorator:
    chosen = {name: client for name, client in CLIENTS.items() if fits(client)}
    return pytest.mark.parametrize("client", chosen.values(), ids=chosen)


@pytest.fixture(scope="module")
def start(
    demo: Demo, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Start]:
    """Starts a client, once, and has it connect to our demo."""
    folder = tmp_path_factory.mktemp("sockets")

    def demo_for(client: Client) -> tuple[str, list[str]]:
        """Where our demo is for that client, and the certificate it needs to trust."""
        flags = ["--framing", "content-length"] if client.headers else []
        if client.url == "unix:":
            name = "headers" if client.headers else "lines"
            return demo(f"unix://{folder}/{name}.sock", *flags), []
        if client.url.startswith("https:"):
            certificate, key = request.getfixturevalue("certificate")
            flags = ["--tls-cert", str(certificate), "--tls-key", str(key)]
            return demo(client.url, *flags), [str(certificate)]
        return demo(client.url, *flags), []

    def arguments(client: Client) -> list[str]:
        """How the client's script is told."""
        server = [*ACCORD, "demo", "stdio:", "--framing", "content-length"]
        if client.script == "pylsp_client.py":
            return server
        if client.url == "stdio:":
            return ["call", "stdio", *server]
        url, certificate = demo_for(client)
        if client.script == "jayson.js":
            return ["call", url, *certificate]
        place = urlsplit(url)
        where = [place.path] if place.path else [str(place.hostname), str(place.port)]
        return ["call", place.scheme, *where]

    with ExitStack() as stack:

        @cache
        def started(client: Client) -> Run:
            node = client.script.endswith(".js")
            packages = request.getfixturevalue("packages") if node else None
            command = [*peer(client.script), *arguments(client)]
            return stack.enter_context(driving(command, packages=packages)).run

        yield started


@pytest.fixture
def run(client: Client, start: Start) -> Run:
    """Has the client go through some steps, and returns what it says came of them."""
    return start(client)


def call(method: str, params: Any = None) -> dict[str, Any]:
    return {"call": method} if params is None else {"call": method, "params": params}


@pytest.mark.req("F-12", "F-16", "F-17", "F-19")
@clients()
def test_calls_by_position_and_by_name_are_answered(run: Run) -> None:
    assert run([
        call("add", [1, 2]),
        call("add", {"a": 20, "b": 22}),
        call("subtract", {"subtrahend": 23, "minuend": 42}),
        call("sum"),
    ]) == [{"result": 3}, {"result": 42}, {"result": 19}, {"result": 0}]  # fmt: skip


@pytest.mark.req("F-17", "F-19", "F-30")
@clients()
def test_any_value_comes_back_unchanged(run: Run) -> None:
    assert run([call("echo", [value]) for value in VALUES]) == [
        {"result": value} for value in VALUES
    ]


@pytest.mark.req("F-17")
@clients()
def test_a_megabyte_comes_back(run: Run) -> None:
    text = "é" * 500_000
    assert run([call("echo", [text]), call("add", [1, 2])]) == [{"result": text}, {"result": 3}]


@pytest.mark.req("F-06", "F-07", "F-09", "F-26")
@clients()
def test_errors_arrive_with_code_message_and_data(run: Run) -> None:
    *known, crash = run([
        call("fail", [4001, "no money", {"balance": [1]}]),
        call("fail", [4002, "nothing to add"]),
        call("nope"),
        call("add", [1, "two"]),
        call("crash"),
    ])  # fmt: skip
    assert known == [
        {"error": {"code": 4001, "message": "no money", "data": {"balance": [1]}}},
        {"error": {"code": 4002, "message": "nothing to add"}},
        {
            "error": {
                "code": -32601,
                "message": "Method not found: nope",
                "data": {"reason": "method_not_found", "method": "nope"},
            }
        },
        {
            "error": {
                "code": -32602,
                "message": "parameter 'b': expected int | float, got str",
                "data": {
                    "reason": "invalid_params",
                    "parameter": "b",
                    "path": "b",
                    "expected": "int | float",
                    "got": "str",
                },
            }
        },
    ]
    correlation_id = crash["error"]["data"].pop("correlationId")
    assert re.fullmatch("[0-9a-f]{16}", correlation_id)
    assert crash == {
        "error": {"code": -32603, "message": "Internal error", "data": {"reason": "internal_error"}}
    }


@pytest.mark.req("F-03")
@clients()
def test_notifications_are_not_answered_whatever_goes_wrong_in_them(run: Run) -> None:
    assert run([
        {"notify": "add", "params": [1, 2]},
        {"notify": "nope", "params": [1]},
        {"notify": "crash", "params": []},
        call("add", [3, 4]),
    ]) == [None, None, None, {"result": 7}]  # fmt: skip


@pytest.mark.req("F-10", "F-11")
@clients()
def test_calls_run_at_once_and_answers_find_them(run: Run) -> None:
    together = [call("sleep", [0.3]), *(call("add", [number, 1]) for number in range(50))]
    assert run([{"together": together}]) == [
        [{"result": None}, *({"result": number + 1} for number in range(50))]
    ]


@pytest.mark.req("F-12")
@clients(lambda client: client.duplex)
def test_they_are_called_back_while_they_wait(run: Run) -> None:
    doubled, unknown = run([call("call_back", ["double", [21]]), call("call_back", ["nope", [1]])])
    assert doubled == {"result": 42}
    assert unknown["error"]["code"] == -32601


@pytest.mark.req("F-12")
@clients(lambda client: not client.duplex and client.url.startswith("http"))
def test_over_http_a_call_back_is_refused(run: Run, client: Client) -> None:
    assert run([call("call_back", ["double", [21]])]) == [
        {
            "error": {
                "code": -32004,
                "message": f"the caller cannot be called back over {urlsplit(client.url).scheme}",
                "data": {"reason": "capability_not_supported"},
            }
        }
    ]


@pytest.mark.req("F-08")
@clients(lambda client: client.batches)
def test_batches_are_answered_in_order(run: Run) -> None:
    assert run([
        {
            "batch": [
                call("sleep", [0.05]),
                call("add", [1, 2]),
                {"notify": "add", "params": [3, 4]},
                call("fail", [4001, "no"]),
            ]
        },
        call("add", [5, 6]),
    ]) == [
        [{"result": None}, {"result": 3}, {"error": {"code": 4001, "message": "no"}}],
        {"result": 11},
    ]  # fmt: skip


@pytest.mark.req("F-08")
@clients(lambda client: client.batches and client.url.startswith("http"))
def test_over_http_a_batch_of_notifications_has_an_empty_answer(run: Run) -> None:
    notes = [{"notify": "add", "params": [1, 2]}, {"notify": "nope", "params": []}]
    assert run([{"batch": notes}, call("add", [5, 6])]) == [None, {"result": 11}]
