"""What was promised, as whoever uses the system over HTTP sees it; some of it by `curl`."""

from __future__ import annotations

import io
import json
import logging
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accord.app import runtime
from accord.operations.logs import JsonFormat
from tests.hub.system.installation import Answer, Installation, Wire, password_of, running
from tests.hub.system.test_canary import with_failing
from tests.hub.system.things import made, things_of


@pytest.fixture(params=["sqlite", "postgresql"], scope="module")
def here(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    database = ""
    if request.param == "postgresql":
        database = request.getfixturevalue("cluster").database()
    with running(tmp_path_factory.mktemp("acceptance") / "data", database) as found:
        yield found


@pytest.fixture(scope="module")
def ada(here: Installation) -> Wire:
    return here.wire(here.add("ada", "Administrator"))


@pytest.fixture(scope="module")
def uma(here: Installation) -> Wire:
    return here.wire(here.add("uma", "User"))


def curl(here: Installation, path: str, *options: str, token: str = "") -> tuple[int, Any, str]:
    """Status, JSON and header lines of an answer to `curl`."""
    shown = ("--header", f"Authorization: Bearer {token}") if token else ()
    done = subprocess.run(
        ["curl", "--silent", "--show-error", "--include", *shown, *options, f"{here.url}{path}"],
        capture_output=True,
        check=True,
        timeout=30,
    )
    head, _, body = done.stdout.decode().partition("\r\n\r\n")
    status = int(head.split()[1])
    return status, json.loads(body) if body else None, head.lower()


def sent(body: Any) -> tuple[str, ...]:
    text = body if isinstance(body, str) else json.dumps(body)
    return ("--header", "Content-Type: application/json", "--data-binary", text)


@pytest.mark.req("H-12")
def test_prompts_over_rest_by_curl(here: Installation, ada: Wire, uma: Wire) -> None:
    token, user = here.token("ada", "curl"), here.token("uma", "curl")
    body = {"name": "writer", "title": "Writer", "content": "Write requirements.\n\tPlainly."}
    status, prompt, head = curl(here, "/api/v1/prompts", *sent(body), token=token)
    assert (status, prompt["reference_id"]) == (201, "PROMPT-001")
    assert f"location: /api/v1/prompts/{prompt['id']}" in head
    path = "/api/v1/prompts/prompt-001"
    for place in (path, f"/api/v1/prompts/{prompt['id']}"):
        assert curl(here, place, token=user)[1]["content"] == body["content"]
    listed = curl(here, "/api/v1/prompts?limit=1", token=user)[1]
    assert (listed["total"], listed["has_more"], len(listed["items"])) == (1, False, 1)
    assert curl(here, "/api/v1/prompts/active", token=user)[0] == 404
    activate = ("--request", "PATCH", *sent({}))
    assert curl(here, f"{path}/activate", *activate, token=user)[0] == 403
    assert curl(here, f"{path}/activate", *activate, token=token)[1]["active"] is True
    assert curl(here, "/api/v1/prompts/active", token=user)[1]["id"] == prompt["id"]
    change = ("--request", "PUT", *sent({"title": "Author"}))
    status, problem, head = curl(here, path, *change, token=user)
    assert (status, problem["code"]) == (403, "insufficient_permissions")
    assert "content-type: application/problem+json" in head
    assert curl(here, path, *change, token=token)[1]["title"] == "Author"
    assert curl(here, "/api/v1/prompts/PROMPT-999", token=token)[0] == 404
    wrong = ("--request", "PUT", *sent(r'{"content": "a\u0001b"}'))
    status, problem, _ = curl(here, path, *wrong, token=token)
    assert (status, problem["errors"][0]["pointer"]) == (422, "/content")
    assert curl(here, path, "--request", "DELETE", token=user)[0] == 403
    assert curl(here, path, "--request", "DELETE", token=token)[0] == 204
    assert curl(here, path, token=token)[0] == 404


@pytest.mark.req("H-03", "H-04")
def test_the_mcp_endpoint_by_curl(here: Installation, uma: Wire) -> None:
    token = here.token("uma", "mcp by curl")
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    status, answer, head = curl(here, "/api/v1/mcp", *sent(listing))
    assert (status, answer["error"]["data"]["reason"]) == (401, "authentication_failed")
    assert "www-authenticate: bearer" in head
    status, answer, _ = curl(here, "/api/v1/mcp", *sent(listing), token=token)
    assert status == 200
    assert {tool["name"] for tool in answer["result"]["tools"]} >= {"create_epic", "undo"}
    status, answer, _ = curl(here, "/api/v1/mcp", *sent("{"), token=token)
    assert (status, answer["error"]["code"]) == (400, -32700)
    status, answer, _ = curl(here, "/api/v1/mcp", *sent({"method": "x"}), token=token)
    assert (status, answer["error"]["code"]) == (400, -32600)


NOUNS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("/epics", {"title": "Till"}, {"title": "Tills"}),
    ("/user-stories", {"epic_id": "$epic", "title": "Pay"}, {"title": "Pay at once"}),
    ("/acceptance-criteria", {"user_story_id": "$story", "description": "A"}, {"description": "B"}),
    ("/requirements", {"user_story_id": "$story", "title": "Charge"}, {"title": "Charge once"}),
    ("/steering-documents", {"title": "Security"}, {"title": "Safety"}),
    ("/comments", {"target_id": "$epic", "text": "Why?"}, {"text": "Why so?"}),
    ("/labels", {"name": "urgent"}, {"colour": "#ff0000"}),
    ("/views", {"name": "Urgent", "filter": {}}, {"shared": True}),
]


@pytest.fixture(scope="module")
def things(uma: Wire) -> dict[str, Any]:
    return things_of(uma, "uma")


@pytest.mark.req("H-01", "H-13")
@pytest.mark.parametrize(("path", "given", "changed"), NOUNS, ids=[each[0] for each in NOUNS])
def test_every_kind_of_thing_over_rest(
    uma: Wire,
    things: dict[str, Any],
    path: str,
    given: dict[str, Any],
    changed: dict[str, Any],
) -> None:
    body = {
        name: things[value[1:]] if str(value).startswith("$") else value
        for name, value in given.items()
    }
    created = uma.rest("POST", path, **body)
    assert created.status == 201, created
    place = created.headers["location"].removeprefix("/api/v1")
    thing = uma.rest("GET", place).json
    assert {name: thing[name] for name in given if name in thing and "_id" not in name} == {
        name: value for name, value in given.items() if name in thing and "_id" not in name
    }
    if "reference_id" in thing:
        assert uma.rest("GET", f"{path}/{thing['reference_id'].lower()}").json == thing
    for verb in ("PATCH", "PUT"):
        answer = uma.rest(verb, place, **changed)
        assert answer.status == 200, answer
        assert {name: answer.json[name] for name in changed} == changed
    listed = uma.rest("GET", path, limit=1).json
    assert set(listed) >= {"items", "has_more", "total"}
    assert (len(listed["items"]), listed["has_more"]) == (1, listed["total"] > 1)
    if listed["has_more"]:
        more = uma.rest("GET", path, limit=1, cursor=listed["next_cursor"]).json
        assert more["items"][0]["id"] != listed["items"][0]["id"]
    assert uma.rest("DELETE", place).status == 204
    gone = uma.rest("GET", place)
    assert (gone.status, gone.json["code"]) == (404, "not_found")
    assert gone.json["correlation_id"] == gone.headers["x-correlation-id"]


@pytest.mark.req("H-20")
def test_a_refusal_is_called_the_same_on_every_face(uma: Wire, things: dict[str, Any]) -> None:
    requirement, epic = things["requirement"], things["epic"]
    assert uma.rest("PATCH", "/requirements/{id}", id=requirement, title="Charge it").status == 200
    cases: list[tuple[str, str, str, dict[str, Any], int, int, str]] = [
        ("GET", "/epics/{id}", "get_epic", {"id": "EP-999"}, 404, -32001, "not_found"),
        ("POST", "/epics", "create_epic", {}, 422, -32602, "validation_failed"),
        ("DELETE", "/epics/{id}", "delete_epic", {"id": epic}, 409, -32000, "conflict"),
        (
            *("PATCH", "/requirements/{id}", "update_requirement"),
            {"id": requirement, "title": "x", "expected_version": 1},
            *(412, -32028, "version_mismatch"),
        ),
        (
            *("POST", "/prompts", "create_prompt", {"name": "x", "content": "y"}),
            *(403, -32055, "insufficient_permissions"),
        ),
    ]
    for verb, path, name, arguments, status, code, reason in cases:
        by_rest = uma.rest(verb, path, **arguments)
        assert (by_rest.status, by_rest.json["code"]) == (status, reason)
        by_rpc = uma.rpc(name, **arguments)
        assert by_rpc.status == (403 if status == 403 else 200)
        assert by_rpc.json["error"]["code"] == code
        assert by_rpc.json["error"]["data"]["reason"] == reason
        by_mcp = uma.tool(name, **arguments).json
        told = by_mcp["error"]["data"] if "error" in by_mcp else by_mcp["result"]
        if "structuredContent" in told:
            assert told["isError"] is True
            told = told["structuredContent"]["error"]
        assert reason in (told.get("reason"), told.get("code"))


@pytest.mark.req("H-17")
def test_everything_is_on_record(here: Installation, ada: Wire, uma: Wire) -> None:
    headers = {"X-Correlation-Id": "the-call", "User-Agent": "laptop/1.0"}
    uma.ask("POST", "/api/v1/epics", {"title": "Till"}, headers=headers)
    uma.ask("GET", "/api/v1/epics", headers=headers)
    uma.ask("POST", "/api/v1/prompts", {"name": "x", "content": "y"}, headers=headers)
    uma.ask("POST", "/api/v1/epics", {"titel": "y"}, headers=headers)
    once = {**headers, "Idempotency-Key": "once"}
    for _ in range(2):  # the second time nothing is done, and the call is on record all the same
        uma.ask("POST", "/api/v1/labels", {"name": "urgent"}, headers=once)
    call = {"jsonrpc": "2.0", "id": 1, "method": "get_own_user"}
    uma.ask("POST", "/rpc", call, headers=headers)
    here.settle()
    events = [
        each
        for each in made(ada.rest("GET", "/audit-events", actor="uma", limit=50))["items"]
        if each["correlation_id"] == "the-call"
    ]
    told = ("operation", "outcome", "face")
    assert sorted(tuple(each[name] for name in told) for each in events) == [
        ("create_epic", "done", "rest"),
        ("create_epic", "refused", "rest"),
        ("create_label", "done", "rest"),
        ("create_label", "done", "rest"),
        ("create_prompt", "denied", "rest"),
        ("get_own_user", "done", "rpc"),
        ("list_epics", "done", "rest"),
    ]
    for each in events:
        assert (each["actor"], each["client"], each["address"]) == (
            *("uma", "laptop/1.0", "127.0.0.1"),
        )
        assert each["time"].endswith("Z")
    report = made(ada.rest("GET", "/audit-events/verification"))
    assert report["findings"] == []


@pytest.mark.req("H-14")
def test_passwords_are_kept_as_argon2_hashes(here: Installation, uma: Wire) -> None:
    for row in here.rows("SELECT password_hash FROM users"):
        assert row["password_hash"].startswith("$argon2id$")


def test_what_is_done_to_accounts_is_no_history_of_the_hub(here: Installation, ada: Wire) -> None:
    before = made(ada.rest("GET", "/changes"))["total"]
    user = ada.rest("POST", "/users", username="nina")
    assert user.status == 201
    assert ada.rest("PATCH", "/users/{id}", id="nina", email="nina@example.org").status == 200
    token = ada.rest("POST", "/tokens", name="phone")
    assert token.status == 201
    assert ada.rest("DELETE", "/tokens/{id}", id="phone").status == 204
    assert made(ada.rest("GET", "/changes"))["total"] == before
    for answer in (user, token):
        change = answer.headers.get("accord-change-id", "none")
        assert ada.rest("POST", "/changes/{change_id}/undo", change_id=change).status == 404
    assert ada.rest("GET", "/search", q="nina").json["total"] == 0


def test_a_write_says_what_the_linter_says(uma: Wire, things: dict[str, Any]) -> None:
    given = {"user_story_id": things["story"], "title": "Charge", "description": "As appropriate."}
    preview = made(uma.rest("POST", "/requirements", **given, dry_run=True))
    assert preview["hints"]
    assert made(uma.rest("POST", "/requirements", **given))["hints"] == preview["hints"]


@pytest.mark.req("H-19")
def test_failures_are_told_by_their_correlation_id_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "all_operations", with_failing)
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    handler.setFormatter(JsonFormat())
    log = logging.getLogger("accord")
    log.addHandler(handler)
    try:
        with running(tmp_path / "data") as here:
            ada = here.wire(here.add("ada", "Administrator"))
            answers: list[tuple[Answer, str]] = []
            by_rest = ada.rest("GET", "/explosions", text="dynamite")
            assert (by_rest.status, by_rest.json["code"]) == (500, "internal_error")
            answers.append((by_rest, by_rest.json["correlation_id"]))
            by_rpc = ada.rpc("explode", text="dynamite")
            assert by_rpc.json["error"]["code"] == -32603
            answers.append((by_rpc, by_rpc.json["error"]["data"]["correlation_id"]))
            by_mcp = ada.tool("explode", text="dynamite")
            told = by_mcp.json["result"]["structuredContent"]["error"]
            answers.append((by_mcp, told["correlation_id"]))
    finally:
        log.removeHandler(handler)
    lines = [json.loads(line) for line in said.getvalue().splitlines()]
    for answer, correlation_id in answers:
        assert b"dynamite" not in answer.body
        assert b"Traceback" not in answer.body
        [line] = [
            each
            for each in lines
            if each.get("correlation_id") == correlation_id and "exception" in each
        ]
        assert (line["level"], line["operation"], line["actor"]) == ("error", "explode", "ada")
        assert line["time"].endswith("Z")
        assert "nothing can be done with dynamite" in line["exception"]
        assert "in explode" in line["exception"]


@pytest.mark.req("H-14")
def test_a_cookie_alone_changes_nothing(here: Installation, uma: Wire) -> None:
    nobody = here.wire()
    begun = nobody.rest("POST", "/sessions", username="uma", password=password_of("uma"))
    cookie = {"Cookie": begun.headers["set-cookie"].partition(";")[0]}
    with_token = {**cookie, "X-Csrf-Token": begun.json["csrf_token"]}
    call = {"jsonrpc": "2.0", "id": 1, "method": "create_epic", "params": {"title": "Till"}}
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert nobody.ask("GET", "/api/v1/epics", headers=cookie).status == 200
    for path, body in (("/api/v1/epics", {"title": "Till"}), ("/rpc", call)):
        assert nobody.ask("POST", path, body, headers=cookie).status == 403
        forged = {**cookie, "X-Csrf-Token": "x" * 43}
        assert nobody.ask("POST", path, body, headers=forged).status == 403
        assert nobody.ask("POST", path, body, headers=with_token).status in (200, 201)
        elsewhere = {**with_token, "Origin": "https://evil.example"}
        assert nobody.ask("POST", path, body, headers=elsewhere).status == 403
    assert nobody.ask("POST", "/api/v1/mcp", listing, headers=with_token).status == 401
    wrong = {**with_token, "Authorization": "Bearer nonsense"}
    assert nobody.ask("GET", "/api/v1/epics", headers=wrong).status == 401
