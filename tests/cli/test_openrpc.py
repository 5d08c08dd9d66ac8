"""`accord openrpc lint` and `accord openrpc document`, as users have them."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import COMMAND, PATIENCE, Completed, accord, environment

GOOD = {
    "openrpc": "1.3.2",
    "info": {"title": "Good", "version": "1"},
    "methods": [{"name": "a", "params": [], "result": {"name": "r", "schema": {}}}],
}
ODD = {**GOOD, "components": {"schemas": {"Unused": {}}}}
BAD = {**GOOD, "methods": [*GOOD["methods"], *GOOD["methods"]]}

SERVICE = '''
from fastapi import FastAPI
from accord import Router
from accord.openrpc import Api, expose

router = Router()

@router.method
def add(a: int, b: int) -> int:
    """The sum."""
    return a + b

api = Api(Router(), title="Sums", version="2.0")
app = FastAPI(title="Web", version="3.0")

@app.get("/hello")
def hello() -> str:
    return "hello"

other = FastAPI(title="Other")
other.mount("/rpc", expose(app, title="Mounted"))

def make() -> FastAPI:
    return app

number = 5
'''


def write(folder: Path, document: Any) -> str:
    path = folder / "openrpc.json"
    path.write_text(json.dumps(document))
    return str(path)


# lint


def test_a_good_document_has_nothing_wrong(tmp_path: Path) -> None:
    shown = accord("openrpc", "lint", write(tmp_path, GOOD))
    assert shown == Completed(0, "no errors, no warnings\n")


def test_an_error_is_a_line_and_fails(tmp_path: Path) -> None:
    shown = accord("openrpc", "lint", write(tmp_path, BAD))
    assert shown == Completed(
        1,
        "error $.methods[1].name: another method is called 'a' already; give one of them another "
        "name [method-duplicate]\n1 error, no warnings\n",
    )


def test_a_warning_fails_only_if_told_so(tmp_path: Path) -> None:
    path = write(tmp_path, ODD)
    warning = (
        "warning $.components.schemas.Unused: nothing refers to it; take it away "
        "[component-unused]\nno errors, 1 warning\n"
    )
    assert accord("openrpc", "lint", path) == Completed(0, warning)
    assert accord("openrpc", "lint", path, "--strict") == Completed(1, warning)


def test_findings_are_json_for_programs() -> None:
    shown = accord("openrpc", "lint", "-", "--json", stdin=json.dumps(BAD))
    assert (shown.code, shown.err) == (1, "")
    assert json.loads(shown.out) == [
        {
            "rule": "method-duplicate",
            "severity": "error",
            "path": "$.methods[1].name",
            "message": "another method is called 'a' already; give one of them another name",
        }
    ]


def test_control_characters_of_a_document_do_not_reach_the_terminal() -> None:
    shown = accord("openrpc", "lint", "-", stdin=json.dumps({**GOOD, "\x1b[2J": 1}))
    assert "\x1b" not in shown.out
    assert "\\x1b" in shown.out


@contextmanager
def answering(status: int, body: bytes, **headers: str) -> Iterator[tuple[str, list[Any]]]:
    """Where every GET is answered so, and the headers that were sent."""
    sent: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent.append(dict(self.headers))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/openrpc.json", sent
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_document_is_read_from_the_web_with_the_headers_that_are_given() -> None:
    with answering(200, json.dumps(GOOD).encode()) as (url, sent):
        shown = accord("openrpc", "lint", url, "--header", "Authorization: Bearer t")
    assert shown == Completed(0, "no errors, no warnings\n")
    assert sent[0]["Authorization"] == "Bearer t"


def test_a_redirect_is_not_followed() -> None:
    with answering(302, b"", Location="http://elsewhere.example/") as (url, _):
        shown = accord("openrpc", "lint", url)
    assert shown.code == 2
    assert shown.err == (
        f"error: {url} answers 302 Found and leads to http://elsewhere.example/; "
        "see accord openrpc lint --help\n"
    )


def test_a_server_is_asked_by_discovery(tmp_path: Path) -> None:
    program = tmp_path / "served.py"
    program.write_text(
        SERVICE + "import accord\naccord.run(api.router, 'stdio:')\n"  # api has no method but one
    )
    python = COMMAND[0]
    shown = accord("openrpc", "lint", f"stdio:{python} {program}")
    assert shown == Completed(0, "no errors, no warnings\n")


@pytest.mark.parametrize(
    ("arguments", "stdin", "complaint"),
    [
        ([], "", "a DOC is missing: a file, - for stdin, or a URL"),
        (["missing.json"], "", "missing.json: No such file or directory"),
        (["-"], "{", "- is not JSON: Input data was truncated"),
        (["ftp://x"], "", "'ftp://x' does not begin with a scheme that accord knows (http, https, stdio, tcp, tls, unix, ws, wss)"),
        (["stdio:"], "", "stdio: needs a command to start, such as 'stdio:python server.py'"),
        (["tcp://x:1", "--header", "A: b"], "", "--header has no meaning for tcp (it is for http, https, ws, wss)"),
    ],
)  # fmt: skip
def test_wrong_usage_of_lint(arguments: list[str], stdin: str, complaint: str) -> None:
    shown = accord("openrpc", "lint", *arguments, stdin=stdin)
    assert shown == Completed(2, "", f"error: {complaint}; see accord openrpc lint --help\n")


def test_a_server_that_is_not_there_is_no_connection() -> None:
    for url in ("http://127.0.0.1:1/openrpc.json", "http://127.0.0.1:1/rpc"):
        assert accord("openrpc", "lint", url).code == 3


# document


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "service.py").write_text(SERVICE)
    (tmp_path / "broken.py").write_text("1 / 0")
    return tmp_path


def document(folder: Path, *arguments: str) -> Completed:
    done = subprocess.run(
        [*COMMAND, "openrpc", "document", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        env=environment(PYTHONPATH=os.pathsep.join(["src", os.getcwd()])),
    )
    return Completed(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_the_document_of_a_router(folder: Path) -> None:
    shown = document(
        folder,
        *("service:router", "--title", "Sums", "--api-version", "1.5", "--openrpc", "1.4.0"),
        *("--server", "https://example.com/rpc", "--json"),
    )
    assert (shown.code, shown.err) == (0, "")
    assert json.loads(shown.out) == {
        "openrpc": "1.4.0",
        "info": {"title": "Sums", "version": "1.5"},
        "servers": [{"url": "https://example.com/rpc"}],
        "methods": [
            {
                "name": "add",
                "summary": "The sum.",
                "paramStructure": "either",
                "params": [
                    {"name": "a", "required": True, "schema": {"type": "integer"}},
                    {"name": "b", "required": True, "schema": {"type": "integer"}},
                ],
                "result": {"name": "result", "schema": {"type": "integer"}},
            }
        ],
    }
    assert shown.out.count("\n") == 1


@pytest.mark.parametrize(
    ("target", "title", "methods"),
    [
        ("service:api", "Sums", ["rpc.discover"]),
        ("service:app", "Web", ["hello.get", "rpc.discover"]),
        ("service:make", "Web", ["hello.get", "rpc.discover"]),
        ("service:other", "Mounted", ["hello.get", "rpc.discover"]),
    ],
)
def test_the_document_of_what_holds_methods(
    folder: Path, target: str, title: str, methods: list[str]
) -> None:
    shown = document(folder, target)
    assert (shown.code, shown.err) == (0, "")
    found = json.loads(shown.out)
    assert found["info"]["title"] == title
    assert [each["name"] for each in found["methods"]] == methods


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["service"], "say what to describe as MODULE:ATTRIBUTE, such as service:app"),
        (["service:nothing"], "service has no nothing"),
        (["nowhere:app"], "nowhere cannot be imported: ModuleNotFoundError: No module named 'nowhere'"),
        (["broken:app"], "broken cannot be imported: ZeroDivisionError: division by zero"),
        (["service:api", "--title", "X"], "--title has no meaning for an Api, which says so itself"),
        (["service:router", "--server", "/rpc"], "the server's URL '/rpc' is not absolute, as https://example.com/rpc is"),
        (["service:router", "--openrpc", "3.1"], "OpenRPC '3.1' is not known here, only 1.3 and 1.4"),
        (["service:number"], "the routes of builtins.int cannot be known: it is no application of Starlette or FastAPI; give its OpenAPI document as openapi=…"),
    ],
)  # fmt: skip
def test_wrong_usage_of_document(folder: Path, arguments: list[str], complaint: str) -> None:
    shown = document(folder, *arguments)
    assert shown == Completed(2, "", f"error: {complaint}; see accord openrpc document --help\n")
