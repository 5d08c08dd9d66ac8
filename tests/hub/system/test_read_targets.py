"""Audit records of reads name what was read, on every adapter and both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from accord.operations.auth.credentials import make_token
from tests.hub.system.installation import Answer, Installation, running
from tests.hub.system.things import things_of
from tests.store.cluster import Cluster

UNKNOWN = make_token("pat")


@pytest.fixture(params=["sqlite", "postgresql"])
def here(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    database = ""
    if request.param == "postgresql":
        cluster: Cluster = request.getfixturevalue("cluster")
        database = cluster.database()
    with running(tmp_path_factory.mktemp("reads") / "data", database) as here:
        here.add("ada", "Administrator")
        yield here


def events(here: Installation) -> list[Any]:
    here.settle()
    return here.rows("SELECT * FROM audit_records ORDER BY time, id")


@pytest.mark.req("H-46")
def test_reads_name_what_was_read(here: Installation) -> None:
    wire_of_otto = here.wire(here.add("otto", "User"))
    things = things_of(wire_of_otto, "otto")
    wire = here.wire(here.token("ada", "reader", "read", "admin"))

    def read(answer: Answer) -> str:
        assert answer.status == 200, answer
        [event] = events(here)[before:]
        target: str = event["target"]
        return target

    epic = things["epic"]
    asks: list[Callable[[], Answer]] = [
        lambda: wire.rest("GET", "/epics/{id}", id=epic),
        lambda: wire.rpc("get_epic", id=epic),
        lambda: wire.tool("get_epic", id=epic),
        lambda: wire.mcp("resources/read", uri=f"epic://{epic}"),
    ]
    for ask in asks:
        before = len(events(here))
        assert read(ask()) == epic
    before = len(events(here))
    assert read(wire.rest("GET", "/requirements", user_story_id=things["story"])).split(", ") == [
        *(things["story"], things["requirement"], things["second"]),
    ]
    before = len(events(here))
    assert read(wire.rest("GET", "/users/{id}", id="ada")) == "ada"
    before = len(events(here))
    assert epic in read(wire.rpc("search_global", query="till")).split(", ")
    before = len(events(here))
    assert read(wire.rest("GET", "/dead-letters")) == "dead letters"
    for method in ("tools/list", "resources/list", "prompts/list"):
        before = len(events(here))
        assert read(wire.mcp(method)) == method.partition("/")[0]
    made = wire_of_otto.rest("POST", "/baselines", name="Agreed").json
    before = len(events(here))
    entry = wire.rest("GET", f"/baselines/{made['id']}/entries/{epic}")
    assert read(entry) == f"{made['id']}, {epic}"
    before = len(events(here))
    assert wire.rest("GET", "/epics/{id}", id="EP-999").status == 404
    [event] = events(here)[before:]
    assert (event["outcome"], event["target"]) == ("refused", "EP-999")
    before = len(events(here))
    assert wire.rest("GET", "/epics/{id}", id=UNKNOWN).status in (404, 422)
    assert events(here)[-1]["target"] == "epics", "and nothing that may be a secret"
    found = wire.rest("GET", "/audit-events", target=epic, operation="get_epic").json
    assert found["total"] == 4
