"""The four examples, installed beside a server and used from outside, as a stranger would."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from accord.mcp import Client
from tests.cli.command import PATIENCE, accord
from tests.plugins.post_office import PostOffice, post_office
from tests.working_token import working_token

SDOC = """\
[DOCUMENT]
TITLE: Ferry

[REQUIREMENT]
UID: F-1
STATEMENT: The ferry shall float.

[[SECTION]]
TITLE: Tickets

[REQUIREMENT]
UID: T-1
TITLE: Refunds
STATEMENT: >>>
When a crossing is cancelled,
the system shall refund the ticket.
<<<

[[/SECTION]]
"""
FLOW = """
name: notify
steps:
  - name: tell
    type: mail
    input: {to: "${input.to}", subject: Hello, text: "${input.text}"}
output: "${steps.tell.output.message_id}"
"""


class Server:
    """`accord serve`, which can be killed and started again."""

    def __init__(self, data: Path, env: dict[str, str]) -> None:
        self.data = data
        self.env = env
        self._process: subprocess.Popen[str] | None = None
        self.start()
        self.token = working_token(self.url, data / "first-run.txt")

    def start(self) -> None:
        with self.data.with_suffix(".log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "accord", "serve", "--data", str(self.data), "--port", "0"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=self.env,
            )
        assert self._process.stdout is not None
        ready = re.search(r"ready at (\S+) ", self._process.stdout.readline())
        assert ready is not None, self.data.with_suffix(".log").read_text()
        self.url = ready[1]

    def end(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        self._process.communicate(timeout=PATIENCE)

    def ask(self, verb: str, path: str, token: str | None = None, **more: Any) -> Any:
        headers = more.pop("headers", {})
        if token != "":
            headers = {"authorization": f"Bearer {token or self.token}", **headers}
        return httpx.request(
            verb, f"{self.url}/api/v1{path}", headers=headers, timeout=PATIENCE, **more
        )

    def command(self, *arguments: str) -> str:
        done = accord(*arguments, "--data", str(self.data), env=self.env)
        assert done.code == 0, done
        return done.out


@pytest.fixture(scope="module")
def office() -> Iterator[PostOffice]:
    with post_office() as found:
        yield found


@pytest.fixture(scope="module")
def server(
    packages: dict[str, str], office: PostOffice, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    mail = {"ACCORD_MAIL_HOST": "127.0.0.1", "ACCORD_MAIL_PORT": str(office.port)}
    made = Server(tmp_path_factory.mktemp("hub") / "data", {**packages, **mail})
    yield made
    made.end(signal.SIGTERM)


@pytest.fixture(scope="module")
def imported(server: Server) -> Any:
    """What came of a document of StrictDoc that was imported over REST."""
    return server.ask("POST", "/import", json={"format": "strictdoc", "content": SDOC}).json()


def test_a_format_of_a_plugin_is_imported_exported_and_known_by_its_suffix(
    server: Server, imported: Any, tmp_path: Path
) -> None:
    counts = {name: imported[name] for name in ("created", "updated", "failed")}
    assert counts == {"created": 5, "updated": 0, "failed": 0}
    again = server.ask("POST", "/import", json={"format": "strictdoc", "content": SDOC}).json()
    assert (again["created"], again["unchanged"]) == (0, 5)
    file = tmp_path / "ferry.sdoc"
    server.command("hub", "export", "-o", str(file), "--epic", "EP-001")
    text = file.read_text()
    assert "STATEMENT: >>>\nWhen a crossing is cancelled,\nthe system shall refund" in text
    assert server.command("hub", "import", str(file)) == "0 created, 0 updated, 5 unchanged\n"
    document = server.ask("GET", "/openapi.json").json()
    formats = document["paths"]["/export"]["get"]["parameters"][0]["schema"]["enum"]
    assert formats == ["csv", "json", "markdown", "reqif", "strictdoc"]


def test_what_is_wrong_with_a_text_is_said_by_the_plugin(server: Server) -> None:
    refused = server.ask("POST", "/import", json={"format": "strictdoc", "content": "hello"})
    assert refused.status_code == 422
    assert "it begins with [DOCUMENT]" in refused.json()["detail"]


def test_an_operation_of_a_plugin_is_on_every_face(server: Server, imported: Any) -> None:
    expected = [("REQ-001", "The ferry shall float."), ("REQ-002", "Refunds")]
    answer = server.ask("GET", "/stale-requirements", params={"days": 0}).json()
    assert [(each["reference_id"], each["title"]) for each in answer] == expected
    assert server.ask("GET", "/stale-requirements").json() == []
    rpc = {"jsonrpc": "2.0", "id": 1, "method": "find_stale_requirements", "params": {"days": 0}}
    called = httpx.post(
        f"{server.url}/rpc", json=rpc, headers={"authorization": f"Bearer {server.token}"}
    )
    assert called.json()["result"] == answer
    said = server.command("hub", "do", "find_stale_requirements", "days=0", "limit=1")
    assert '"reference_id": "REQ-001"' in said
    document = server.ask("GET", "/openapi.json").json()
    assert document["paths"]["/stale-requirements"]["get"]["operationId"] == (
        "find_stale_requirements"
    )


async def test_an_operation_of_a_plugin_is_a_tool(server: Server, imported: Any) -> None:
    headers = {"authorization": f"Bearer {server.token}"}
    async with Client(f"{server.url}/api/v1/mcp", headers=headers) as client:
        names = [each.name for each in await client.list_tools()]
        assert {"find_stale_requirements", "nudge_stale_requirements"} <= set(names)
        result = await client.call_tool("find_stale_requirements", {"days": 0})
        assert "REQ-001" in result.text


def test_rights_dry_runs_and_the_audit_trail_hold_for_operations_of_plugins(
    server: Server, imported: Any
) -> None:
    reader = server.command(
        "token", "create", "--user", "admin", "--name", "reader", "--scope", "read"
    )
    token = re.search(r"accord_pat_\w+", reader)
    assert token is not None
    nudge = {"text": "Is this still wanted?", "days": 0}
    path = "/stale-requirements/nudges"
    assert server.ask("POST", path, token="", json=nudge).status_code == 401
    refused = server.ask("POST", path, token=token[0], json=nudge)
    assert (refused.status_code, refused.json()["required_scope"]) == (403, "comment")
    preview = server.ask("POST", path, json={**nudge, "dry_run": True}).json()
    assert [each["kind"] for each in preview["changes"]] == ["comment", "comment"]
    done = server.ask("POST", path, json=nudge).json()
    assert done["requirements"] == ["REQ-001", "REQ-002"]
    comments = server.ask("GET", "/comments", params={"target_id": "REQ-002"}).json()
    assert [each["text"] for each in comments["items"]] == ["Is this still wanted?"]
    undone = server.ask("POST", f"/changes/{done['change_id']}/undo", json={})
    assert undone.status_code == 200, undone.text

    def recorded() -> list[tuple[str, str]]:
        found = server.ask(
            "GET", "/audit-events", params={"operation": "nudge_stale_requirements"}
        ).json()
        return sorted((each["actor"], each["outcome"]) for each in found["items"])

    until(lambda: len(recorded()) >= 3)
    assert recorded() == [("admin", "denied"), ("admin", "done"), ("admin", "dry_run")]


def test_a_step_of_a_plugin_survives_a_server_that_is_killed(
    server: Server, office: PostOffice
) -> None:
    yaml = {"content-type": "application/yaml"}
    wrong = FLOW.replace("subject: Hello", "subjct: Hello")
    refused = server.ask("POST", "/workflows/validate", content=wrong, headers=yaml).json()
    assert [each["detail"] for each in refused["errors"]] == [
        "there is no argument 'subjct' (did you mean 'subject'?)",
        "mail needs 'subject'",
    ]
    saved = server.ask("POST", "/workflows", content=FLOW, headers=yaml).json()
    assert saved["definition"]["steps"][0]["type"] == "mail"
    given = {"input": {"to": "ada@example.com", "text": "The ferry floats."}}
    run = server.ask("POST", "/workflows/notify/runs", json=given).json()["id"]
    first = office.arrived.get(timeout=PATIENCE)
    server.end(signal.SIGKILL)
    office.answers.set()
    server.start()
    second = office.arrived.get(timeout=PATIENCE)

    def ended() -> bool:
        return bool(server.ask("GET", f"/runs/{run}").json()["finished_at"])

    until(ended)
    found = server.ask("GET", f"/runs/{run}").json()
    assert (found["state"], found["output"]) == ("completed", first["Message-ID"]), found["error"]
    assert [(each["type"], each["state"]) for each in found["steps"]] == [("mail", "completed")]
    assert second["Message-ID"] == first["Message-ID"]
    assert (second["To"], second.get_payload()) == ("ada@example.com", "The ferry floats.\r\n")
    assert office.arrived.empty()


def test_a_step_that_says_it_failed_is_not_tried_again(server: Server) -> None:
    given = {"input": {"to": "nobody", "text": ""}}
    run = server.ask("POST", "/workflows/notify/runs", json=given).json()["id"]
    until(lambda: bool(server.ask("GET", f"/runs/{run}").json()["finished_at"]))
    found = server.ask("GET", f"/runs/{run}").json()
    assert found["state"] == "failed"
    assert found["error"]["code"] == "validation_failed"
    assert found["error"]["message"].startswith("input: to: ")


def test_a_url_of_a_plugin_is_served_and_called(packages: dict[str, str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "accord", "demo", "deflate+tcp://127.0.0.1:0"],
        stdout=subprocess.PIPE,
        text=True,
        env=packages,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().split()[4]
        assert url.startswith("deflate+tcp://127.0.0.1:")
        done = accord("call", url, "add", "1", "2", env=packages)
        assert (done.code, done.out) == (0, "3\n")
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_pip_installs_what_nobody_else_asks_for(packages: dict[str, str]) -> None:
    names = sorted(each.name for each in os.scandir(packages["PYTHONPATH"]) if each.is_file())
    assert names == [
        "accord_deflate.py",
        "accord_mail.py",
        "accord_stale.py",
        "accord_strictdoc.py",
    ]


def test_a_document_with_the_same_names_changes_nothing_of_another_one(
    server: Server, imported: Any
) -> None:
    other = SDOC.replace("float", "brew")
    refused = server.ask("POST", "/import", json={"format": "strictdoc", "content": other})
    assert refused.status_code == 422
    assert "name the source" in refused.json()["detail"]
    more = {"format": "strictdoc", "content": other, "source": "coffee", "dry_run": True}
    tried = server.ask("POST", "/import", json=more).json()["result"]
    assert (tried["created"], tried["updated"]) == (5, 0)
