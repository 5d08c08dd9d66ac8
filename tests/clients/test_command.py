"""`accord openrpc client`, as users have it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from accord.openrpc.clients import read_api, write_python, write_typescript
from tests.cli.command import Completed, accord
from tests.clients.documents import Json, document, method, param

SUMS: Json = document(
    method("sums.add", param("a", {"type": "integer"}), result={"type": "integer"})
)
NAME = "the sums.json"

SERVER = """
from accord import Router, run
from accord.openrpc import Api

router = Router()

@router.method
def add(a: int, b: int) -> int:
    return a + b

run(Api(router, title="Live", version="3.0").router, "stdio:")
"""


def client(*arguments: str, stdin: str = "") -> Completed:
    return accord("openrpc", "client", *arguments, stdin=stdin)


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / NAME
    file.write_text(json.dumps(SUMS))
    return str(file)


@pytest.mark.req("O-14")
def test_a_client_is_printed(path: str) -> None:
    api = read_api(SUMS)
    command = f"accord openrpc client --lang python '{path}'"
    assert client("--lang", "python", path) == Completed(0, write_python(api, command=command))
    command = f"accord openrpc client --lang typescript '{path}'"
    assert client("--lang", "typescript", path) == Completed(
        0, write_typescript(api, command=command)
    )


def test_a_client_begins_with_where_it_came_from(path: str) -> None:
    shown = client("--lang", "python", "-", "--sync", "--flat", stdin=json.dumps(SUMS)).out
    assert shown.splitlines()[:3] == [
        "# Generated from Things 1.0; changes made here get lost. By:",
        "#   accord openrpc client --lang python --sync --flat -",
        '"""Client of Things 1.0."""',
    ]
    assert "def sums_add(self, a: int) -> int:" in shown


def test_a_client_is_written_to_a_file_or_into_a_folder(path: str, tmp_path: Path) -> None:
    assert client("--lang", "python", path, "-o", str(tmp_path / "sums.py")) == Completed(0, "")
    assert client("--lang", "python", path, "-o", str(tmp_path)) == Completed(0, "")
    assert client("--lang", "typescript", path, "-o", str(tmp_path)) == Completed(0, "")
    assert (tmp_path / "sums.py").read_text() == (tmp_path / "client.py").read_text()
    assert (tmp_path / "client.ts").read_text().startswith("// Generated from Things 1.0;")


def test_a_server_is_asked_for_its_document(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(SERVER)
    shown = client("--lang", "python", f"stdio:{sys.executable} {server}")
    assert (shown.code, shown.err) == (0, "")
    assert "def add(self, a: int, b: int) -> Call[int]:" in shown.out


def test_secrets_in_a_url_are_not_written_down(path: str) -> None:
    shown = client("--lang", "python", "http://ann:secret@127.0.0.1:1/openrpc.json")
    assert shown.code == 3
    assert "secret" not in shown.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--lang", "python"], "a DOC is missing: a file, - for stdin, or a URL"),
        (["-"], "--lang is missing: python or typescript"),
        (["--lang", "typescript", "--sync", "-"], "--sync has no meaning for typescript (it is for python)"),
        (["--lang", "python", "-", "-o", "/nowhere/client.py"], "/nowhere/client.py: No such file or directory"),
    ],
)  # fmt: skip
def test_wrong_usage_is_one_line(arguments: list[str], complaint: str) -> None:
    shown = client(*arguments, stdin=json.dumps(SUMS))
    assert shown == Completed(2, "", f"error: {complaint}; see accord openrpc client --help\n")


def test_a_document_that_makes_no_sense_is_one_line() -> None:
    shown = client("--lang", "python", "-", stdin='{"methods": [{"name": "a"}, {"name": 5}]}')
    assert shown == Completed(
        2,
        "",
        "error: -: #/methods/1: a method has a name, a string, and not a number; "
        "see accord openrpc client --help\n",
    )
