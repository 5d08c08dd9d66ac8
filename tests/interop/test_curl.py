"""curl at our HTTP server."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from tests.interop.conftest import Demo
from tests.interop.programs import PATIENCE

pytestmark = pytest.mark.req("F-19")
UNICODE = "Straße, 日本語, 😀"


class Answer(Struct, frozen=True):
    """What curl printed about one transfer."""

    status: int
    headers: dict[str, str]
    body: bytes
    connections: int
    """How many new ones the transfer needed."""
    continued: bool
    """Whether the server asked for the body with 100 Continue."""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Curl = Callable[..., Answer]


@pytest.fixture(scope="module")
def url(demo: Demo) -> str:
    return demo("http://127.0.0.1:0/rpc")


@pytest.fixture
def curl(tmp_path: Path) -> Curl:
    """Runs curl with some arguments, and reads what it printed."""
    if shutil.which("curl") is None:
        pytest.skip("needs curl")

    def run(*arguments: str, data: str | bytes | None = None, json: bool = True) -> Answer:
        heads, body = tmp_path / "heads", tmp_path / "body"
        command = [
            "curl",
            "--silent",
            "--show-error",
            "--noproxy",
            "*",
            "--dump-header",
            str(heads),
        ]
        command += ["--output", str(body), "--write-out", "%{num_connects}", *arguments]
        if json:
            command += ["--header", "content-type: application/json"]
        if data is not None:
            command += ["--data-binary", "@-"]
        text = data.encode() if isinstance(data, str) else data
        done = subprocess.run(
            command, input=text, capture_output=True, timeout=PATIENCE, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        *before, head = heads.read_text().strip().split("\n\n")
        status, *lines = head.splitlines()
        return Answer(
            int(status.split()[1]),
            {
                name.lower(): value.strip()
                for name, _, value in (line.partition(":") for line in lines)
            },
            body.read_bytes() if body.exists() else b"",
            int(done.stdout),
            any(" 100 " in each for each in before),
        )

    return run


def request(method: str, params: Any = (), id: Any = 1) -> str:
    return json.dumps(
        {"jsonrpc": "2.0", "id": id, "method": method, "params": params}, ensure_ascii=False
    )


def test_a_call(curl: Curl, url: str) -> None:
    answer = curl(url, data=request("add", [1, 2]))
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json == {"jsonrpc": "2.0", "id": 1, "result": 3}
    assert int(answer.headers["content-length"]) == len(answer.body)


def test_unicode_comes_back_byte_by_byte(curl: Curl, url: str) -> None:
    answer = curl(url, data=request("echo", [UNICODE]))
    assert answer.body == f'{{"jsonrpc":"2.0","id":1,"result":"{UNICODE}"}}'.encode()


@pytest.mark.req("F-09")
def test_an_error_of_a_method_is_a_fine_answer(curl: Curl, url: str) -> None:
    answer = curl(url, data=request("fail", [7, "no", [1]]))
    assert answer.status == 200
    assert answer.json == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": 7, "message": "no", "data": [1]},
    }


@pytest.mark.req("F-08")
def test_a_batch(curl: Curl, url: str) -> None:
    note = '{"jsonrpc": "2.0", "method": "add", "params": [1, 2]}'
    answer = curl(url, data=f"[{request('add', [1, 2])}, {note}, {request('sum', [3, 4], 'b')}]")
    assert answer.status == 200
    assert answer.json == [
        {"jsonrpc": "2.0", "id": 1, "result": 3},
        {"jsonrpc": "2.0", "id": "b", "result": 7},
    ]


@pytest.mark.req("F-03")
@pytest.mark.parametrize("form", ["%s", "[%s, %s]"])
def test_a_notification_and_a_batch_of_them_have_no_content(
    curl: Curl, url: str, form: str
) -> None:
    note = '{"jsonrpc": "2.0", "method": "add", "params": [1, 2]}'
    answer = curl(url, data=form.replace("%s", note))
    assert (answer.status, answer.body) == (204, b"")
    assert "content-type" not in answer.headers


@pytest.mark.req("F-04", "F-05")
@pytest.mark.parametrize(
    ("data", "code"),
    [("{nonsense", -32700), (b'"\xff"', -32700), ("[]", -32600), ('{"id": 1}', -32600)],
)
def test_what_is_no_message_is_a_bad_request(
    curl: Curl, url: str, data: str | bytes, code: int
) -> None:
    answer = curl(url, data=data)
    assert (answer.status, answer.json["error"]["code"]) == (400, code)


def test_other_methods_than_post_are_not_allowed(curl: Curl, url: str) -> None:
    for method in ("GET", "PUT", "DELETE"):
        answer = curl("--request", method, url, json=False)
        assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert curl("--head", url, json=False).status == 405


def test_a_form_is_an_unsupported_media_type(curl: Curl, url: str) -> None:
    assert curl(url, data=request("add", [1, 2]), json=False).status == 415
    text = curl(
        "--header", "content-type: text/plain", url, data=request("add", [1, 2]), json=False
    )
    assert text.status == 415


@pytest.mark.req("F-29")
def test_too_large_a_body_is_refused_with_the_limit(curl: Curl, url: str) -> None:
    answer = curl(url, data=request("echo", ["x" * 1_100_000]))
    assert answer.status == 413
    assert answer.json["error"]["code"] == -32012
    assert answer.json["error"]["data"]["maxSize"] == 1_048_576


def test_another_path_is_not_found(curl: Curl, url: str) -> None:
    assert curl(url + "/other", data=request("add", [1, 2])).status == 404


def test_a_connection_is_used_again(curl: Curl, url: str, tmp_path: Path) -> None:
    data = tmp_path / "request.json"
    data.write_text(request("add", [1, 2]))
    transfer = [
        "--silent",
        "--data-binary",
        f"@{data}",
        "--header",
        "content-type: application/json",
    ]
    transfer += ["--output", "-", "--write-out", " %{http_code} %{num_connects}\n", url]
    command = ["curl", *transfer, "--next", *transfer, "--next", *transfer]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    answer = '{"jsonrpc":"2.0","id":1,"result":3} 200'
    assert done.stdout.splitlines() == [f"{answer} 1", f"{answer} 0", f"{answer} 0"]


def test_http_1_0_is_answered_and_closed(curl: Curl, url: str) -> None:
    answer = curl("--http1.0", url, data=request("add", [1, 2]))
    assert (answer.status, answer.json["result"]) == (200, 3)
    assert answer.headers["connection"] == "close"


def test_a_large_body_is_sent_when_we_say_continue(curl: Curl, url: str) -> None:
    text = "é" * 500_000
    answer = curl("--header", "expect: 100-continue", url, data=request("echo", [text]))
    assert (answer.status, answer.continued) == (200, True)
    assert answer.json["result"] == text


@pytest.mark.req("F-29")
def test_a_body_that_would_be_too_large_is_not_asked_for(curl: Curl, url: str) -> None:
    answer = curl("--header", "expect: 100-continue", url, data=request("echo", ["x" * 5_000_000]))
    assert (answer.status, answer.continued) == (413, False)


def test_a_chunked_body(curl: Curl, url: str) -> None:
    answer = curl(
        "--header", "transfer-encoding: chunked", url, data=request("echo", ["x" * 300_000])
    )
    assert (answer.status, len(answer.json["result"])) == (200, 300_000)


def test_a_page_of_another_site_is_not_let_in(curl: Curl, url: str) -> None:
    refused = curl(
        "--header", "origin: https://elsewhere.example", url, data=request("add", [1, 2])
    )
    assert refused.status == 403


def test_https_with_a_certificate_that_curl_is_told_to_trust(
    curl: Curl, demo: Demo, certificate: tuple[Path, Path]
) -> None:
    chain, key = map(str, certificate)
    url = demo("https://127.0.0.1:0/rpc", "--tls-cert", chain, "--tls-key", key)
    answer = curl("--cacert", chain, url, data=request("echo", [UNICODE]))
    assert (answer.status, answer.json["result"]) == (200, UNICODE)
    refused = subprocess.run(["curl", "--silent", url], capture_output=True, check=False)
    assert refused.returncode == 60  # the certificate cannot be verified
