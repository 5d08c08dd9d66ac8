"""Bare sockets and pipes at our demo: what nc, socat or a dozen lines in any language do."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.interop.conftest import Demo
from tests.interop.programs import ACCORD, PATIENCE

UNICODE = "Straße, 日本語, 😀"

pytestmark = pytest.mark.req("F-17", "F-19")


@pytest.fixture(params=["tcp", "unix"])
def url(
    request: pytest.FixtureRequest, demo: Demo, tmp_path_factory: pytest.TempPathFactory
) -> str:
    if request.param == "tcp":
        return demo("tcp://127.0.0.1:0")
    return demo(f"unix://{tmp_path_factory.getbasetemp()}/lines.sock")


@contextmanager
def connection(url: str) -> Iterator[socket.socket]:
    where = urlsplit(url)
    if where.scheme == "unix":
        end = socket.socket(socket.AF_UNIX)
        end.connect(where.path)
    else:
        end = socket.create_connection((where.hostname, where.port))
    with end:
        end.settimeout(PATIENCE)
        yield end


def request(id: Any, method: str, params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    return json.dumps(message, ensure_ascii=False).encode() + b"\n"


def result(id: Any, value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": value}


def test_lines_are_answered_by_lines(url: str) -> None:
    with connection(url) as end:
        end.sendall(request(1, "add", [1, 2]) + request(2, "echo", [UNICODE]) + b"\r\n\n")
        answers = end.makefile("rb")
        assert json.loads(answers.readline()) == result(1, 3)
        assert json.loads(answers.readline()) == result(2, UNICODE)


def test_a_line_may_come_in_any_pieces(url: str) -> None:
    with connection(url) as end:
        for byte in request(1, "echo", [UNICODE]):
            end.sendall(bytes([byte]))
        assert json.loads(end.makefile("rb").readline()) == result(1, UNICODE)


@pytest.mark.req("F-04")
def test_a_line_that_is_not_json_is_answered_and_the_next_one_is_read(url: str) -> None:
    with connection(url) as end:
        end.sendall(b"GET / HTTP/1.1\r\n" + request(1, "add", [1, 2]))
        answers = end.makefile("rb")
        wrong = json.loads(answers.readline())
        assert (wrong["id"], wrong["error"]["code"]) == (None, -32700)
        assert json.loads(answers.readline()) == result(1, 3)


@pytest.mark.req("F-29")
def test_a_line_that_is_too_long_is_skipped_and_the_next_one_is_read(url: str) -> None:
    with connection(url) as end:
        end.sendall(request(1, "echo", ["x" * 3_000_000]) + request(2, "add", [1, 2]))
        answers = end.makefile("rb")
        refused = json.loads(answers.readline())
        assert (refused["id"], refused["error"]["code"]) == (None, -32012)
        assert refused["error"]["data"]["maxSize"] == 1_048_576
        assert json.loads(answers.readline()) == result(2, 3)


def test_who_says_all_and_listens_gets_all_answers(url: str) -> None:
    with connection(url) as end:
        end.sendall(request("slow", "sleep", [0.1]) + request(1, "add", [1, 2]))
        end.shutdown(socket.SHUT_WR)
        answers = [json.loads(line) for line in end.makefile("rb")]
    assert answers == [result(1, 3), result("slow", None)]


@pytest.mark.req("F-08")
def test_a_batch_is_one_line(url: str) -> None:
    with connection(url) as end:
        batch = b",".join(request(number, "add", [number, 1]).strip() for number in range(100))
        end.sendall(b"[" + batch + b"]\n")
        answer = json.loads(end.makefile("rb").readline())
    assert answer == [result(number, number + 1) for number in range(100)]


@pytest.mark.req("F-12")
def test_we_call_a_bare_socket_back(url: str) -> None:
    with connection(url) as end:
        answers = end.makefile("rb")
        end.sendall(request("mine", "call_back", ["double", {"number": 21}]))
        ours = json.loads(answers.readline())
        assert ours == {"jsonrpc": "2.0", "id": 1, "method": "double", "params": {"number": 21}}
        end.sendall(json.dumps(result(ours["id"], 42)).encode() + b"\n")
        assert json.loads(answers.readline()) == result("mine", 42)


@pytest.mark.req("F-16")
def test_a_pipe_into_our_demo_is_answered_and_ends_in_good_order() -> None:
    done = subprocess.run(
        [*ACCORD, "demo", "stdio:"],
        input=request(1, "add", [1, 2])
        + request("slow", "sleep", [0.1])
        + request(2, "sum", [3, 4]),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert answers == [result(1, 3), result(2, 7), result("slow", None)]
    assert done.returncode == 0


@pytest.mark.req("F-16")
def test_cat_is_a_peer_that_says_what_it_hears() -> None:
    """Our own request comes back, we serve nothing, and our own answer settles the call."""
    done = subprocess.run(
        [*ACCORD, "call", "--json", "stdio:cat", "echo", "hi"],
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert json.loads(done.stdout)["error"]["code"] == -32601
    assert done.returncode != 0
