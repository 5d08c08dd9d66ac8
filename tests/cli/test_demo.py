"""`accord demo` over every transport, its signals, its limits and its workers."""

from __future__ import annotations

import os
import random
import shlex
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import msgspec
import pytest

from tests.cli.command import COMMAND, PATIENCE, Completed, accord, demo

Certificate = tuple[Path, Path]
Call = Callable[..., Completed]


@contextmanager
def served(scheme: str, framing: str, certificate: Certificate) -> Iterator[Call]:
    """Serves the demo and gives how to call it."""
    flags = ["--framing", framing] if framing else []
    secure = ["--ca", str(certificate[0])] if scheme in ("tls", "wss", "https") else []
    tls = ["--tls-cert", str(certificate[0]), "--tls-key", str(certificate[1])] if secure else []
    with ExitStack() as stack:
        if scheme == "stdio":
            url = f"stdio:{shlex.join([*COMMAND, 'demo', 'stdio:', *flags])}"
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            url = {
                "unix": f"unix://{folder}/accord.sock",
                "tcp": "tcp://127.0.0.1:0",
                "tls": "tls://127.0.0.1:0",
            }.get(scheme, f"{scheme}://127.0.0.1:0/rpc")
            url = stack.enter_context(demo(url, *flags, *tls)).url
        yield lambda *arguments, stdin="": accord(
            "call", url, *flags, *secure, *arguments, stdin=stdin
        )


EVERY_METHOD = """\
add 1 2
add a=1 b=2.5
subtract 42 23
subtract subtrahend=23 minuend=42
echo {"value": {"any": ["JSON", 1.10, null]}}
sum 1 2 4
sleep 0.01
fail 7 "on purpose" '{"x": 1}'
crash
call_back confirm '["Delete it?"]'
stats
"""


@pytest.mark.req("F-19", "F-16", "F-17", "F-12", "RPC-3b")
@pytest.mark.parametrize(
    ("scheme", "framing"),
    [
        ("tcp", ""),
        ("tcp", "content-length"),
        ("tls", ""),
        ("unix", ""),
        ("stdio", ""),
        ("stdio", "content-length"),
        ("ws", ""),
        ("wss", ""),
        ("http", ""),
        ("https", ""),
    ],
)
def test_every_method_answers_over_every_transport(
    scheme: str, framing: str, certificate: Certificate
) -> None:
    with served(scheme, framing, certificate) as call:
        one = call("add", "1", "2")
        assert (one.code, one.out) == (0, "3\n")
        done = call("--batch", "-", "--json", "--answer", "confirm=true", stdin=EVERY_METHOD)
    answers = msgspec.json.decode(done.out)
    assert [answer["id"] for answer in answers] == list(range(1, 12))
    assert [answer["result"] for answer in answers[:7]] == [
        3,
        3.5,
        19,
        19,
        {"any": ["JSON", 1.10, None]},
        7,
        None,
    ]
    failed, crashed, called_back, stats = answers[7:]
    assert failed["error"] == {"code": 7, "message": "on purpose", "data": {"x": 1}}
    assert crashed["error"]["code"] == -32603
    if scheme in ("http", "https"):
        assert called_back["error"]["code"] == -32004
        assert called_back["error"]["message"] == f"the caller cannot be called back over {scheme}"
    else:
        assert called_back["result"] is True
    assert stats["result"]["connections"] in (1, 2)  # the one before may be ending still
    assert stats["result"]["counts"]["requests_received"] == (11 if scheme == "stdio" else 12)
    assert stats["result"]["counts"]["handlers_failed"] >= 2


def test_a_server_that_is_not_trusted_is_refused_unless_told_otherwise(
    certificate: Certificate,
) -> None:
    flags = ("--tls-cert", str(certificate[0]), "--tls-key", str(certificate[1]))
    with demo("tls://127.0.0.1:0", *flags) as running:
        refused = running.call("add", "1", "2")
        assert (refused.code, refused.out) == (3, "")
        assert "certificate" in refused.err
        assert running.call("add", "1", "2", "--insecure") == Completed(0, "3\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "url", ["tcp://127.0.0.1:0", "ws://127.0.0.1:0/rpc", "http://127.0.0.1:0/rpc"]
)
def test_a_signal_ends_it_cleanly(url: str, number: signal.Signals) -> None:
    with demo(url) as running:
        assert running.stop(number) == Completed(0, "")


def test_a_unix_socket_is_gone_when_it_ends() -> None:
    with tempfile.TemporaryDirectory() as folder:
        with demo(f"unix://{folder}/accord.sock") as running:
            assert running.stop() == Completed(0, "")
        assert os.listdir(folder) == []


@pytest.mark.parametrize("scheme", ["tcp", "ws", "http"])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_address_in_use_is_one_line_and_exit_code_3(scheme: str, workers: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        shown = accord("demo", f"{scheme}://{address}", "--workers", workers)
    assert (shown.code, shown.out) == (3, "")
    assert shown.err.startswith(f"error: cannot listen on {scheme}://{address}")
    assert "ddress already in use" in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize("url", ["tcp://127.0.0.1", "http://127.0.0.1:99999/", "ws://127.0.0.1:x/"])
def test_an_address_that_is_none_is_one_line_and_exit_code_3(url: str) -> None:
    shown = accord("demo", url)
    assert (shown.code, shown.out) == (3, "")
    assert shown.err.count("\n") == 1


@pytest.mark.req("F-29")
def test_limits_are_flags() -> None:
    with demo("tcp://127.0.0.1:0", "--max-message-bytes", "100") as running:
        shown = running.call("echo", "x" * 100)
        assert (shown.code, shown.out) == (1, "")
        assert shown.err.startswith("error -32012: ")
        assert running.call("add", "1", "2") == Completed(0, "3\n")


def test_debug_tells_the_caller_what_crashed() -> None:
    with demo("tcp://127.0.0.1:0", "--debug") as running:
        error = msgspec.json.decode(running.call("crash", "--json").out)["error"]
    assert error["data"]["exception"] == "RuntimeError('crash() was called')"


# stdio


def over_stdio(data: bytes, *flags: str) -> tuple[int, list[bytes], str]:
    """What `accord demo stdio:` makes of these bytes: exit code, stdout's lines, stderr."""
    done = subprocess.run(
        [*COMMAND, "demo", "stdio:", *flags],
        input=data,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, done.stdout.splitlines(), done.stderr.decode()


@pytest.mark.req("F-16")
def test_over_stdio_stdout_belongs_to_messages_and_the_end_of_stdin_ends_it() -> None:
    request = b'{"jsonrpc": "2.0", "id": 1, "method": "sleep", "params": [0.1]}\n'
    assert over_stdio(request) == (
        0,
        [b'{"jsonrpc":"2.0","id":1,"result":null}'],
        "Accord demo listening on stdio: (press Ctrl-C to stop)\n",
    )


@pytest.mark.req("F-30", "F-04", "F-16")
def test_garbage_over_stdio_is_answered_by_nothing_but_parse_errors() -> None:
    garbage = random.Random(7).randbytes(20_000) + b"\n"
    sane = b'{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}\n'
    code, lines, _ = over_stdio(garbage + sane)
    *errors, answer = [msgspec.json.decode(line) for line in lines]
    assert code == 0
    assert answer == {"jsonrpc": "2.0", "id": 1, "result": 3}
    assert errors
    assert {error["error"]["code"] for error in errors} <= {-32700, -32600}


@pytest.mark.req("F-30")
def test_garbage_where_headers_should_be_ends_the_connection_with_an_error() -> None:
    code, _, err = over_stdio(b"\x00garbage\r\n\r\n", "--framing", "content-length")
    assert code == 0
    assert "Traceback" not in err


# Workers


def test_workers_share_a_port_and_end_with_their_parent() -> None:
    with demo("tcp://127.0.0.1:0", "--workers", "2") as running:
        pids = {_pid_of_worker(running.url) for _ in range(40)}
        assert len(pids) == 2
        assert running.process.pid not in pids
        assert running.stop() == Completed(0, "")
    assert not any(_is_alive(pid) for pid in pids)


def test_workers_end_when_their_parent_is_killed() -> None:
    with demo("tcp://127.0.0.1:0", "--workers", "2") as running:
        parts = urlsplit(running.url)
        with socket.create_connection((parts.hostname, parts.port), PATIENCE) as connection:
            _ask_for_stats(connection)
            running.process.kill()
            assert connection.recv(1) == b""


@pytest.mark.parametrize(("by", "code"), [(signal.SIGKILL, 137), (signal.SIGTERM, 0)])
def test_a_worker_that_ends_is_replaced_and_the_others_go_on(by: signal.Signals, code: int) -> None:
    with demo("tcp://127.0.0.1:0", "--workers", "2") as running:
        before = {_pid_of_worker(running.url) for _ in range(40)}
        pid = min(before)
        os.kill(pid, by)
        assert running.process.stderr is not None
        said = running.process.stderr.readline()
        assert said in {
            f"error: worker {number} (process {pid}) ended with exit code {code}; another takes "
            "its place now, the others go on\n"
            for number in (1, 2)
        }
        now: set[int] = set()
        while len(now) < 2:
            now.add(_pid_of_worker(running.url))
        assert now & before == before - {pid}
        assert running.stop() == Completed(0, "")
    assert not any(_is_alive(pid) for pid in now)


def test_a_worker_that_ends_again_and_again_is_replaced_ever_later() -> None:
    with demo("tcp://127.0.0.1:0", "--workers", "2") as running:
        assert running.process.stderr is not None
        delays = []
        for _ in range(3):
            os.kill(_youngest_of_two(running.process.pid), signal.SIGKILL)
            while "its place" not in (said := running.process.stderr.readline()):
                assert "ended before it could listen" in said
            delays.append(said.partition("its place ")[2].partition(",")[0])
        assert delays == ["now", "in 0.5 s", "in 1 s"]
        assert running.stop().code == 0, "what waits to be started is not waited for"


def _youngest_of_two(parent: int) -> int:
    """The child that was started last, once there are two."""
    children = Path(f"/proc/{parent}/task/{parent}/children")
    while len(pids := children.read_text().split()) < 2:
        time.sleep(0.01)
    return int(pids[-1])


def _pid_of_worker(url: str) -> int:
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), PATIENCE) as connection:
        return _ask_for_stats(connection)


def _ask_for_stats(connection: socket.socket) -> int:
    connection.sendall(b'{"jsonrpc": "2.0", "id": 1, "method": "stats"}\n')
    with connection.makefile("rb") as answers:
        pid = msgspec.json.decode(answers.readline())["result"]["pid"]
    assert isinstance(pid, int)
    return pid


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.req("O-09")
def test_over_http_it_describes_itself_and_can_be_explored() -> None:
    with demo("http://127.0.0.1:0/rpc") as running:
        lint = accord("openrpc", "lint", f"{running.url}/openrpc.json")
        assert lint == Completed(0, "no errors, no warnings\n")
        with urlopen(f"{running.url}/openrpc.json", timeout=PATIENCE) as page:
            document = msgspec.json.decode(page.read())
        assert document["servers"] == [{"url": running.url}]
        assert running.call("rpc.discover", "--json").out.encode() == (
            msgspec.json.encode(document) + b"\n"
        )
        for place in ("explore", "metrics"):
            with urlopen(f"{running.url}/{place}", timeout=PATIENCE) as page:
                assert page.status == 200


def test_discovery_works_over_every_other_transport_too() -> None:
    with demo("tcp://127.0.0.1:0") as running:
        assert accord("openrpc", "lint", running.url) == Completed(0, "no errors, no warnings\n")
