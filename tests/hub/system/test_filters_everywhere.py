"""Several values of one field, and the unassigned, on every adapter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accord.cli import main
from tests.hub.system.installation import Answer, Installation, Wire, running

pytestmark = pytest.mark.req("H-57")

TITLES = {"Backlog": "One", "Draft": "Two", "In Progress": "Three", "Done": "Four"}
SEVERAL = {"status": ["Draft", "in_progress"], "assignee": ["unassigned", "ada"]}
FOUND = {"Two", "Three"}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with running(tmp_path_factory.mktemp("filters") / "data", "") as found:
        yield found


@pytest.fixture(scope="module")
def ada(here: Installation) -> Wire:
    """An administrator; the epic in draft is hers, the others are nobody's."""
    wire = here.wire(here.add("ada", "Administrator"))
    for status, title in TITLES.items():
        assignee = "ada" if title == "Two" else None
        ok(wire.rest("POST", "/epics", title=title, status=status, assignee=assignee))
    return wire


def ok(answer: Answer) -> Any:
    assert answer.status in (200, 201), answer.body
    return answer.json


def titles(page: Any) -> set[str]:
    return {each["title"] for each in page["items"]}


@pytest.mark.parametrize("path", ["/epics", "/children", "/outline", "/search"])
def test_rest_takes_a_repeated_parameter(ada: Wire, path: str) -> None:
    query = {"q": "*"} if path == "/search" else {}
    assert titles(ok(ada.rest("GET", path, **query, **SEVERAL))) == FOUND
    assert titles(ok(ada.rest("GET", path, **query, status="Done"))) == {"Four"}
    assert titles(ok(ada.rest("GET", path, **query, status=["Done", "Done"]))) == {"Four"}
    nobody = ok(ada.rest("GET", path, **query, assignee="unassigned"))
    assert titles(nobody) == {"One", "Three", "Four"}


def test_rest_explains_a_wrong_value_among_several(ada: Wire) -> None:
    answer = ada.rest("GET", "/epics", status=["Done", "Don"])
    assert answer.status == 422
    assert answer.json["detail"].endswith("got 'Don', did you mean Done?")
    assert answer.json["errors"][0]["pointer"] == "/status/1"
    assert ada.rest("GET", "/epics", priority=["1", "x"]).status == 422
    assert ada.rest("GET", "/epics", sort=["title", "title"]).status == 422


@pytest.mark.parametrize("priority", ["2", ["1", "2"]])
def test_numbers_of_a_query_are_numbers(ada: Wire, priority: Any) -> None:
    assert titles(ok(ada.rest("GET", "/epics", priority=priority))) == set()
    assert len(titles(ok(ada.rest("GET", "/epics", priority=["3", "2"])))) == len(TITLES)


@pytest.mark.parametrize(
    "operation", ["list_epics", "list_children", "get_outline", "search_global"]
)
def test_rpc_takes_an_array_or_a_value(ada: Wire, operation: str) -> None:
    given = {"query": "*"} if operation == "search_global" else {}
    assert titles(ok(ada.rpc(operation, **given, **SEVERAL))["result"]) == FOUND
    assert titles(ok(ada.rpc(operation, **given, status="Done"))["result"]) == {"Four"}


def test_tools_take_an_array_or_a_value_as_they_say(ada: Wire) -> None:
    for status, expected in ((["Draft", "Done"], {"Two", "Four"}), ("Done", {"Four"})):
        for name, given in (("list_epics", {}), ("search_global", {"query": "*"})):
            result = ok(ada.tool(name, status=status, **given))["result"]
            assert titles(result["structuredContent"]) == expected
    result = ok(ada.tool("list_epics", assignee="unassigned"))["result"]
    assert titles(result["structuredContent"]) == {"One", "Three", "Four"}
    tools = {each["name"]: each for each in ok(ada.mcp("tools/list"))["result"]["tools"]}
    assignee = tools["list_epics"]["inputSchema"]["properties"]["assignee"]
    assert assignee["type"] == ["string", "array"]
    assert "unassigned" in assignee["description"]
    assert {"coverage_gaps", "get_hierarchy"} <= {
        name for name, tool in tools.items() if "outputSchema" in tool
    }


def test_resources_take_a_repeated_parameter(ada: Wire) -> None:
    for query, expected in (
        ("status=Draft&status=In%20Progress&assignee=unassigned&assignee=ada", FOUND),
        ("status=Done&limit=5", {"Four"}),
        ("assignee=unassigned", {"One", "Three", "Four"}),
        ("assignee=unassigned&assignee=ada&limit=9", set(TITLES.values())),
    ):
        read = ok(ada.mcp("resources/read", uri=f"requirements://epics?{query}"))
        [content] = read["result"]["contents"]
        assert titles(json.loads(content["text"])) == expected
    asked = {"ref": {"type": "ref/resource", "uri": _template(ada)}}
    argument = {"name": "assignee", "value": "un"}
    done = ok(ada.mcp("completion/complete", **asked, argument=argument))["result"]["completion"]
    assert done["values"] == ["unassigned"]


def _template(ada: Wire) -> str:
    templates = ok(ada.mcp("resources/templates/list"))["result"]["resourceTemplates"]
    [found] = [each["uriTemplate"] for each in templates if each["name"] == "epics-by-several"]
    return str(found)


def test_views_keep_several_values(ada: Wire) -> None:
    filter = {"kind": ["epic", "user_story"], "creator": ["ada", "admin"], **SEVERAL}
    view = ok(ada.rest("POST", "/views", name="Open", filter=filter))
    assert view["filter"]["assignee"] == ["unassigned", "ada"]
    single = ok(ada.rpc("create_view", name="Mine", filter={"assignee": "ada", "priority": 1}))
    assert single["result"]["filter"] == {"assignee": "ada", "priority": 1}
    shown = ok(ada.rest("GET", "/views/{id}", id=view["id"]))
    assert shown["filter"]["kind"] == ["epic", "user_story"]


def test_nobody_can_be_called_unassigned(ada: Wire) -> None:
    answer = ada.rest("POST", "/users", username="Unassigned")
    assert (answer.status, answer.json["errors"][0]["pointer"]) == (422, "/username")
    assert "reserved" in answer.json["detail"]


def test_commands_take_an_array(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ["--data", str(tmp_path / "data")]
    assert main(["user", "create", "ada", "--role", "Administrator", *data]) == 0
    for title, status in (("One", "Draft"), ("Two", "Done"), ("Three", "Backlog")):
        given = [f"title={title}", f"status={status}", "assignee=null"]
        assert main(["hub", "do", "create_epic", *given, *data]) == 0
    capsys.readouterr()
    filters = ['status=["Draft", "Done"]', "assignee=unassigned"]
    assert main(["hub", "do", "list_epics", *filters, "--json", *data]) == 0
    assert titles(json.loads(capsys.readouterr().out)) == {"One", "Two"}
