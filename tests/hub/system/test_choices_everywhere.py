"""One rule for values such as a status on every adapter: letter case does not matter, and a wrong
one is answered with the valid ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accord.cli import main
from tests.hub.system.installation import Answer, Installation, Wire, running

pytestmark = pytest.mark.req("H-56")

EXPLAINED = (
    "status: must be one of Backlog, Draft, In Progress, Done, Cancelled; got 'Don', "
    "did you mean Done?"
)
STATUSES = ["Backlog", "Draft", "In Progress", "Done", "Cancelled"]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with running(tmp_path_factory.mktemp("choices") / "data", "") as found:
        yield found


@pytest.fixture(scope="module")
def ada(here: Installation) -> Wire:
    return here.wire(here.add("ada", "Administrator"))


def ok(answer: Answer) -> Any:
    assert answer.status in (200, 201), answer.body
    return answer.json


def test_rest_takes_any_spelling_in_body_and_query(ada: Wire) -> None:
    epic = ok(ada.rest("POST", "/epics", title="Rest", status="in_progress"))
    assert epic["status"] == "In Progress"
    for said in ("in progress", "IN-PROGRESS", "In Progress"):
        found = ok(ada.rest("GET", "/epics", status=said, sort="-Created-At"))
        assert epic["id"] in [each["id"] for each in found["items"]]
    found = ok(ada.rest("GET", "/search", q="rest", kinds=["Epic", "user story"]))
    assert [each["kind"] for each in found["items"]] == ["epic"]


def test_rest_explains_a_wrong_value(ada: Wire) -> None:
    for answer in (
        ada.rest("POST", "/epics", title="Rest", status="Don"),
        ada.rest("GET", "/epics", status="Don"),
    ):
        assert answer.status == 422
        assert answer.json["detail"] == EXPLAINED
        assert answer.json["valid"] == STATUSES
        assert answer.json["errors"][0]["pointer"] == "/status"


def test_rpc_takes_and_explains_the_same(ada: Wire) -> None:
    assert ok(ada.rpc("create_epic", title="Rpc", status="DONE"))["result"]["status"] == "Done"
    error = ada.rpc("create_epic", title="Rpc", status="Don").json["error"]
    assert (error["code"], error["message"]) == (-32602, EXPLAINED)
    assert error["data"]["valid"] == STATUSES


def test_tools_take_and_explain_the_same(ada: Wire) -> None:
    result = ok(ada.tool("create_epic", title="Mcp", status="backlog"))["result"]
    assert result["structuredContent"]["status"] == "Backlog"
    result = ok(ada.tool("create_epic", title="Mcp", status="Don"))["result"]
    assert result["isError"]
    assert EXPLAINED in result["content"][0]["text"]
    tools = ok(ada.mcp("tools/list"))["result"]["tools"]
    [schema] = [each["inputSchema"] for each in tools if each["name"] == "create_epic"]
    assert "In Progress" in json.dumps(schema)
    assert "in_progress" not in json.dumps(schema)


@pytest.mark.parametrize("operation", ["apply_changes", "propose_changes"])
def test_steps_take_and_explain_the_same(ada: Wire, operation: str) -> None:
    arguments = {"title": "Step", "status": "draft"}
    step = {"operation": "create_epic", "arguments": arguments}
    given: dict[str, Any] = {"steps": [step], "dry_run": True}
    if operation == "propose_changes":
        given["reason"] = "to try it"
    assert "error" not in ok(ada.rpc(operation, **given))
    arguments["status"] = "Don"
    error = ada.rpc(operation, **given).json["error"]
    assert error["message"] == f"step 1, create_epic: {EXPLAINED}"
    assert error["data"]["errors"][0]["pointer"] == "/steps/0/arguments/status"


def test_roles_scopes_and_states_are_choices_too(here: Installation, ada: Wire) -> None:
    assert here.local("create_user", username="rolf", role="USER").role == "User"
    made = here.local("create_token", user="ada", name="case", scopes=["Read", "PROPOSE"])
    assert sorted(made.scopes) == ["propose", "read"]
    assert ok(ada.rest("GET", "/runs", state="Waiting"))["items"] == []
    answer = ada.rest("GET", "/runs", state="waitin")
    assert answer.json["detail"].endswith("got 'waitin', did you mean waiting?")


@pytest.mark.parametrize(
    ("format", "content"),
    [
        ("CSV", "kind,title,status\nepic,Csv,in progress\n"),
        (
            "Json",
            '{"format": "accord-hub", "version": 1, '
            '"items": [{"kind": "Epic", "title": "Json", "status": "in_progress"}]}',
        ),
        ("markdown", "## EP: Markdown\n- Status: IN PROGRESS\n"),
    ],
)
def test_imports_take_the_same(ada: Wire, format: str, content: str) -> None:
    report = ok(ada.rpc("import_items", format=format, content=content))["result"]
    [row] = report["rows"]
    assert row["action"] == "created"
    epic = ok(ada.rest("GET", "/epics/{id}", id=row["reference_id"]))
    assert epic["status"] == "In Progress"


def test_a_repeated_import_in_another_spelling_changes_nothing(ada: Wire) -> None:
    epic = ok(ada.rest("POST", "/epics", title="Again", status="Draft"))
    content = f"reference_id,status\n{epic['reference_id']},DRAFT\n"
    report = ok(ada.rpc("import_items", format="csv", content=content))["result"]
    assert [row["action"] for row in report["rows"]] == ["unchanged"]


def test_commands_take_and_explain_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ["--data", str(tmp_path / "data")]
    assert main(["user", "create", "ada", "--role", "Administrator", *data]) == 0
    assert main(["user", "create", "uma", "--role", "USER", "--json", *data]) == 0
    assert '"role":"User"' in capsys.readouterr().out
    assert main(["token", "create", "--user", "uma", "--name", "a", "--scope", "READ", *data]) == 0
    assert main(["hub", "do", "create_epic", "title=One", "status=in-progress", *data]) == 0
    assert '"status": "In Progress"' in capsys.readouterr().out
    assert main(["hub", "do", "create_epic", "title=One", "status=Don", *data]) != 0
    assert EXPLAINED in capsys.readouterr().err
    assert main(["user", "create", "otto", "--role", "usr", *data]) == 2
    assert "choose from" in capsys.readouterr().err
