"""Every kind of failed authentication is on record and in the log, over every adapter."""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest

from accord.operations.auth.credentials import make_token
from tests.hub.system.installation import Installation, Wire, password_of, running
from tests.store.cluster import Cluster

UNKNOWN = make_token("pat")
SESSION = make_token("ses")
PLACES: dict[str, tuple[str, str, Any]] = {
    "rest": ("GET", "/api/v1/epics", None),
    "rpc": ("POST", "/rpc", {"jsonrpc": "2.0", "id": 1, "method": "list_epics"}),
    "mcp": ("POST", "/api/v1/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}),
    "a2a": (
        *("POST", "/a2a"),
        {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "x"}},
    ),
    "events": ("GET", "/api/v1/runs/x/events", None),
}
FACES = {"events": "rest"}


class Gate:
    """An installation, and credentials of each kind that lets nobody in."""

    def __init__(self, here: Installation) -> None:
        self.here = here
        here.add("ada", "Administrator")
        here.add("uma", "User")
        good = here.token("ada", "good", "read")
        tokens = {name: here.token("ada", name, "read") for name in ("revoked", "expired")}
        tokens["inactive"] = here.token("uma", "inactive", "read")
        ended = here.sign_in("ada")
        here.local("revoke_token", id="revoked", user="ada")
        here.local("update_user", id="uma", active=False)
        store = here.system.runtime.store
        past = "UPDATE tokens SET expires_at = '2020-01-01T00:00:00.000000Z' WHERE name = 'expired'"
        here.do(store.execute(past))
        assert here.wire(ended).ask("DELETE", "/api/v1/sessions/current").status == 204
        basic = b64encode(b"ada:password").decode()
        wrong = UNKNOWN[:-1] + ("0" if UNKNOWN[-1] != "0" else "1")
        self.kinds: dict[str, tuple[str | None, str]] = {
            "nothing": (None, "missing"),
            "an empty token": ("Bearer ", "malformed"),
            "another scheme": (f"Basic {basic}", "malformed"),
            "no token of ours": ("Bearer nonsense", "malformed"),
            "a good token of another scheme": (f"DPoP {good}", "malformed"),
            "a wrong checksum": (f"Bearer {wrong}", "malformed"),
            "an unknown token": (f"Bearer {UNKNOWN}", "unknown"),
            "a revoked token": (f"Bearer {tokens['revoked']}", "revoked"),
            "an expired token": (f"Bearer {tokens['expired']}", "expired"),
            "a token of somebody inactive": (f"Bearer {tokens['inactive']}", "inactive"),
            "a forged session": (f"Bearer {SESSION}", "unknown"),
            "a session that ended": (f"Bearer {ended}", "unknown"),
        }
        self.secrets = [UNKNOWN, wrong, SESSION, good, ended, *tokens.values(), basic]

    def events(self) -> list[Any]:
        self.here.settle()
        return self.here.rows("SELECT * FROM audit_records ORDER BY time, id")

    def forget(self) -> None:
        """Have the next ones kept one by one again."""
        attempts = self.here.system.runtime.accounts.failed_attempts
        assert attempts is not None

        async def flush() -> None:
            attempts.flush()

        self.here.do(flush())


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def gate(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gate]:
    database = ""
    if request.param == "postgresql":
        cluster: Cluster = request.getfixturevalue("cluster")
        database = cluster.database()
    with running(tmp_path_factory.mktemp("gate") / "data", database) as here:
        yield Gate(here)


@pytest.mark.req("H-45")
@pytest.mark.parametrize("place", PLACES)
def test_each_kind_is_on_record_and_in_the_log(
    gate: Gate, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    method, path, body = PLACES[place]
    face = FACES.get(place, place)
    for what, (header, reason) in gate.kinds.items():
        gate.forget()
        before = len(gate.events())
        caplog.clear()
        wire = Wire(gate.here.url)
        with caplog.at_level(logging.WARNING, "accord.accounts"):
            given = {} if header is None else {"Authorization": header}
            answer = wire.ask(method, path, body, headers=given)
        wire.close()
        assert answer.status == 401, (what, answer)
        [event] = gate.events()[before:]
        told = (event["operation"], event["outcome"], event["error"], event["face"])
        assert told == ("authenticate", "unauthenticated", reason, face), what
        assert event["address"] == "127.0.0.1", what
        assert bool(event["token_id"]) == (reason in ("revoked", "expired", "inactive")), what
        lines = [each.getMessage() for each in caplog.records]
        assert lines == [f"authenticate failed: {reason}"], what
        for secret in gate.secrets:
            assert secret not in str(tuple(event)) + caplog.text, what


@pytest.mark.req("H-45")
@pytest.mark.parametrize(
    ("name", "password", "reason", "target"),
    [
        ("ada", "not the password", "wrong_password", "ada"),
        ("nobody", "not the password", "unknown_user", ""),
        ("uma", password_of("uma"), "inactive", "uma"),
    ],
)
def test_each_sign_in_that_fails_is_on_record(
    gate: Gate, name: str, password: str, reason: str, target: str
) -> None:
    gate.forget()
    before = len(gate.events())
    wire = Wire(gate.here.url)
    assert wire.rest("POST", "/sessions", username=name, password=password).status == 401
    form = f"username={name}&password=another+wrong+one"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    wire.ask("POST", "/sign-in", raw=form.encode(), headers=headers)
    wire.close()
    found = [each for each in gate.events()[before:] if each["outcome"] == "unauthenticated"]
    assert [(each["operation"], each["face"], each["target"]) for each in found] == [
        ("sign_in", "rest", target),
        ("sign_in", "web", target),
    ]
    assert found[0]["error"] == reason


@pytest.mark.req("H-45")
def test_an_mcp_token_in_the_url_is_on_record(gate: Gate) -> None:
    gate.forget()
    before = len(gate.events())
    wire = Wire(gate.here.url)
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert wire.ask("POST", f"/api/v1/mcp?access_token={UNKNOWN}", ping).status == 400
    wire.close()
    [event] = gate.events()[before:]
    assert (event["outcome"], event["error"]) == ("unauthenticated", "malformed")
    assert UNKNOWN not in str(tuple(event))


@pytest.mark.req("H-45")
def test_cookies_that_let_nobody_in_are_on_record(
    gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    session = gate.here.sign_in("ada")
    wire = Wire(gate.here.url)
    form = {"Content-Type": "application/x-www-form-urlencoded"}

    def ask(method: str, path: str, token: str, status: int, **more: Any) -> tuple[str, ...]:
        gate.forget()
        before = len(gate.events())
        caplog.clear()
        headers = {"Cookie": f"accord_session={token}", **more.pop("headers", {})}
        with caplog.at_level(logging.WARNING, "accord.accounts"):
            answer = wire.ask(method, path, headers=headers, **more)
        assert answer.status == status, answer
        [event] = gate.events()[before:]
        assert [each.getMessage() for each in caplog.records] == [
            f"authenticate failed: {event['error']}"
        ]
        assert token not in str(tuple(event)) + caplog.text
        return event["outcome"], event["error"], event["face"], event["actor"]

    refused = "unauthenticated"
    assert ask("GET", "/epics", SESSION, 303) == (refused, "unknown", "web", "")
    assert ask("GET", "/epics", "nonsense", 303) == (refused, "malformed", "web", "")
    assert ask("GET", "/sign-in", SESSION, 200) == (refused, "unknown", "web", "")
    assert ask("POST", "/sign-out", SESSION, 303, raw=b"", headers=form) == (
        *(refused, "unknown", "web", ""),
    )
    assert ask("POST", "/sign-out", session, 403, raw=b"csrf=no", headers=form) == (
        *(refused, "csrf", "web", "ada"),
    )
    assert ask("GET", "/api/v1/epics", SESSION, 401) == (refused, "unknown", "rest", "")
    assert ask("DELETE", "/api/v1/sessions/current", session, 403) == (
        *(refused, "csrf", "rest", "ada"),
    )
    wire.close()


@pytest.mark.req("H-45")
def test_a_wrong_current_password_is_on_record(
    gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    gate.forget()
    wire = gate.here.wire(gate.here.sign_in("ada"))
    before = len(gate.events())
    given = {"current_password": "not the password", "new_password": "another good phrase"}
    with caplog.at_level(logging.WARNING, "accord.accounts"):
        assert wire.rest("POST", "/users/me/password", **given).status == 422
    tried, called = gate.events()[before:]
    assert (tried["outcome"], tried["error"], tried["target"], tried["actor"]) == (
        *("unauthenticated", "wrong_password", "ada", "ada"),
    )
    assert (called["operation"], called["outcome"]) == ("change_own_password", "refused")
    assert "change_own_password failed: wrong_password (ada)" in caplog.text
    assert "not the password" not in caplog.text


@pytest.mark.req("H-45")
def test_a_delivery_to_no_webhook_is_on_record(gate: Gate) -> None:
    gate.forget()
    before = len(gate.events())
    wire = Wire(gate.here.url)
    for header in ({}, {"Accord-Signature": "t=1,v1=00"}):
        answer = wire.ask("POST", "/api/v1/webhooks/orders", {"n": 1}, headers=header)
        assert answer.status == 403, answer
    wire.close()
    found = gate.events()[before:]
    assert [(each["operation"], each["error"], each["target"]) for each in found] == [
        ("webhook", "unknown_webhook", "")
    ] * 2


@pytest.mark.req("H-45")
def test_a_flood_leaves_a_few_records_and_their_number(gate: Gate) -> None:
    gate.forget()
    before = len(gate.events())
    wire = Wire(gate.here.url, UNKNOWN)
    for _ in range(200):
        assert wire.ask("GET", "/api/v1/epics").status == 401
    wire.close()
    gate.forget()
    found = gate.events()[before:]
    assert (len(found), found[-1]["target"]) == (11, "190 more")
