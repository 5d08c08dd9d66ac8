"""The programs in examples/, run as a newcomer runs them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.patience import PATIENCE as PATIENCE

EXAMPLES = Path(__file__).parent.parent / "examples"


def start(name: str, *arguments: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    program = [sys.executable, str(EXAMPLES / name), *arguments]
    return subprocess.Popen(program, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """The exit code, and what was printed since it was last looked at."""
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def type_in(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdin is not None
    process.stdin.write(text + "\n")
    process.stdin.flush()


@contextmanager
def served(name: str, url: str) -> Iterator[str]:
    """Starts a server; gives the URL that it prints."""
    server = start(name, url)
    try:
        yield line(server).split()[-1]
    finally:
        server.terminate()
        assert ended(server) == (0, "", "")


@pytest.mark.req("F-12", "F-16")
def test_a_parent_and_its_child_call_each_other() -> None:
    assert ended(start("stdio_parent.py")) == (
        0,
        "1 of 2 counted\n"
        "2 of 2 counted\n"
        "{'haiku': 13, 'motto': 8}\n"
        "there is no document 'manifesto'\n",
        "",
    )


@pytest.mark.req("F-12", "RPC-3b")
def test_a_server_calls_its_clients() -> None:
    with served("chat_server.py", "ws://127.0.0.1:0/chat") as url:
        ada = start("chat_client.py", "Ada", url)
        assert line(ada) == "here: Ada\n"
        charles = start("chat_client.py", "Charles", url)
        assert line(charles) == "here: Ada, Charles\n"
        type_in(ada, "The engine runs")
        for member in (ada, charles):
            assert line(member) == "Ada: The engine runs\n"
        type_in(charles, "? Shall we print tables?")
        for member in (ada, charles):
            assert line(member) == "asked: Shall we print tables? - said no\n"
        assert line(charles) == "votes: Ada no, Charles no\n"
        for member in (ada, charles):
            assert ended(member) == (0, "", "")


def test_a_client_without_its_server_says_what_to_do() -> None:
    code, out, err = ended(start("chat_client.py", "Ada", "ws://127.0.0.1:1/chat"))
    assert (code, out) == (1, "")
    assert err.endswith(
        "Check that the server runs and that the address is right, then try again.\n"
    )


def test_a_service_over_http() -> None:
    with served("http_service.py", "http://127.0.0.1:0/rpc") as url:
        assert ended(start("http_client.py", url)) == (
            0,
            "added Write the examples\n"
            "to do: Read them\n"
            "404 there is no task 99 {'id': 99}\n"
            "parameter 'title': expected str, got int\n",
            "",
        )
