"""Whoever calls too often waits, also who never shows a token that is any good: on every face."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord.operations.auth.accounts import FAILED_COST
from tests.hub.system.installation import Answer, running
from tests.hub.system.things import made

BURST = 20


def is_limited(answer: Answer) -> bool:
    return answer.status == 429 and int(answer.headers["retry-after"]) >= 1


@pytest.mark.req("H-16", "H-45")
@pytest.mark.parametrize("store", ["memory", "database"])
def test_wrong_tokens_take_from_the_bucket_of_their_address(tmp_path: Path, store: str) -> None:
    with running(tmp_path / "data", rate_limit=1, rate_burst=BURST, rate_store=store) as here:
        here.local("create_user", username="uma")
        good = here.wire(here.token("uma", "laptop"))
        wrong, nobody = here.wire("accord_pat_wrong"), here.wire()
        assert nobody.rest("GET", "/epics").status == 401
        for _ in range(BURST // FAILED_COST):
            assert wrong.rest("GET", "/epics").status == 401
        refused = wrong.rest("GET", "/epics")
        assert is_limited(refused)
        assert refused.json["code"] == "rate_limited"
        by_rpc = wrong.rpc("list_epics")
        assert is_limited(by_rpc)
        assert by_rpc.json["error"]["code"] == -32010
        by_mcp = wrong.mcp("tools/list")
        assert is_limited(by_mcp)
        assert by_mcp.json["error"]["code"] == -32010
        assert nobody.rest("GET", "/epics").status == 401, "who shows nothing costs nothing"
        assert is_limited(good.rest("GET", "/epics")), "the address is the same"
        here.settle()
        tries = here.rows(
            "SELECT error, face FROM audit_records WHERE outcome = 'unauthenticated' "
            "ORDER BY time, id"
        )
        assert [(each["error"], each["face"]) for each in tries] == [
            ("missing", "rest"),
            *[("malformed", "rest")] * (BURST // FAILED_COST),
            *[("rate_limited", face) for face in ("rest", "rpc", "mcp")],
            ("missing", "rest"),
        ]


@pytest.mark.req("H-16")
def test_calls_say_what_is_left_and_when_to_come_back(tmp_path: Path) -> None:
    with running(tmp_path / "data", rate_limit=60, rate_burst=BURST) as here:
        here.local("create_user", username="uma")
        uma = here.wire(here.token("uma", "laptop"))
        first = uma.rest("GET", "/epics")
        assert first.headers["ratelimit-policy"] == f'"calls";q={BURST};w=20'
        assert first.headers["ratelimit"].startswith(f'"calls";r={BURST - 1};t=')
        made(uma.rest("POST", "/epics", title="Till"))
        while not is_limited(last := uma.rest("GET", "/epics")):
            assert last.status == 200
        assert last.json["retry_after"] == int(last.headers["retry-after"])
        assert is_limited(uma.rpc("list_epics"))
        assert is_limited(uma.tool("list_epics"))
        for method in ("tools/list", "resources/list", "prompts/list"):
            assert is_limited(uma.mcp(method)), method
        assert is_limited(uma.mcp("resources/read", uri="epic://EP-001"))


@pytest.mark.req("H-16")
def test_nobody_comes_from_elsewhere_by_saying_so(tmp_path: Path) -> None:
    with running(tmp_path / "data", rate_limit=1, rate_burst=BURST) as here:
        wrong = here.wire("accord_pat_wrong")
        seen = [
            wrong.ask("GET", "/api/v1/epics", headers={"X-Forwarded-For": f"192.0.2.{number}"})
            for number in range(BURST // FAILED_COST + 1)
        ]
        assert [each.status for each in seen[:-1]] == [401] * (len(seen) - 1)
        assert is_limited(seen[-1])
