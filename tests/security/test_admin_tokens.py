"""A token, even with every scope, gets nobody more rights: neither its owner, nor itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accord.operations.context import SCOPES
from tests.hub.system.installation import Answer, Installation, Wire, password_of, running
from tests.store.cluster import Cluster

pytestmark = pytest.mark.req("H-32")

PASSWORD = "correct horse battery"
STATE = """
SELECT id, username, email, role, active, password_hash, version,
    (SELECT COUNT(*) FROM tokens) AS tokens, (SELECT COUNT(*) FROM tokens WHERE revoked_at IS NULL)
FROM users ORDER BY id
"""
WRITES: dict[str, dict[str, Any]] = {
    "create_user": {"username": "mallory", "role": "Administrator", "password": PASSWORD},
    "update_user": {"id": "uma", "role": "Administrator"},
    "set_password": {"id": "ada", "password": PASSWORD},
    "change_own_password": {"current_password": password_of("ada"), "new_password": PASSWORD},
    "update_own_user": {"email": "mallory@example.org"},
    "create_token": {"name": "more", "scopes": list(SCOPES)},
    "revoke_token": {"id": "robot"},
    "sign_out_everywhere": {},
    "end_session": {"id": "0123456789abcdef"},
}
REST = {
    "create_user": ("POST", "/users"),
    "update_user": ("PATCH", "/users/{id}"),
    "set_password": ("PUT", "/users/{id}/password"),
    "change_own_password": ("POST", "/users/me/password"),
    "update_own_user": ("PATCH", "/users/me"),
    "create_token": ("POST", "/tokens"),
    "revoke_token": ("DELETE", "/tokens/{id}"),
    "sign_out_everywhere": ("DELETE", "/sessions"),
    "end_session": ("DELETE", "/sessions/{id}"),
}


class Attack:
    """An installation, and a program with a token of its administrator that has every scope."""

    def __init__(self, here: Installation) -> None:
        self.here = here
        self.session = here.wire(here.add("ada", "Administrator"))
        here.add("uma", "User")
        self.robot: Wire = here.wire(here.token("ada", "robot", *SCOPES))

    def state(self) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.here.rows(STATE)]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def attack(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Attack]:
    database = ""
    if request.param == "postgresql":
        cluster: Cluster = request.getfixturevalue("cluster")
        database = cluster.database()
    folder: Path = tmp_path_factory.mktemp("attack")
    with running(folder / "data", database) as here:
        yield Attack(here)


def refused(answer: Answer) -> bool:
    return answer.status == 403 and b"needs you to sign in" in answer.body


@pytest.mark.parametrize("operation", WRITES)
@pytest.mark.parametrize("way", ["rest", "rpc", "batch", "dry run"])
def test_no_token_writes_accounts(attack: Attack, operation: str, way: str) -> None:
    before, arguments = attack.state(), WRITES[operation]
    match way:
        case "rest":
            verb, path = REST[operation]
            answer = attack.robot.rest(verb, path, **arguments)
        case "batch":
            call = {"jsonrpc": "2.0", "id": 1, "method": operation, "params": arguments}
            answer = attack.robot.ask("POST", "/rpc", [call, call])
            assert answer.body.count(b"needs you to sign in") == 2
        case "dry run":
            answer = attack.robot.rpc(operation, **arguments, dry_run=True)
        case _:
            answer = attack.robot.rpc(operation, **arguments)
    assert b"needs you to sign in" in answer.body, answer
    assert attack.state() == before


@pytest.mark.parametrize("operation", WRITES)
@pytest.mark.parametrize("carrier", ["apply_changes", "propose_changes", "workflow"])
def test_nothing_else_carries_it(attack: Attack, operation: str, carrier: str) -> None:
    before, arguments = attack.state(), WRITES[operation]
    steps = [{"operation": operation, "arguments": arguments}]
    if carrier == "workflow":
        step = {"name": "do", "type": "call", "operation": operation, "input": arguments}
        definition = {"name": "sneaky", "steps": [step]}
        answer = attack.robot.ask("POST", "/api/v1/workflows", definition)
    else:
        reason = {"reason": "x"} if carrier == "propose_changes" else {}
        answer = attack.robot.tool(carrier, steps=steps, **reason)
    assert answer.status >= 400 or answer.json["result"]["isError"], answer
    assert operation.encode() in answer.body
    assert attack.state() == before


def test_who_signed_in_does_all_of_it(attack: Attack) -> None:
    made = attack.session.rest("POST", "/users", username="nina", password=PASSWORD)
    assert made.status == 201, made
    changed = attack.session.rest("PATCH", "/users/{id}", id="nina", role="Commenter")
    assert (changed.status, changed.json["role"]) == (200, "Commenter")
    token = attack.session.rest("POST", "/tokens", name="phone", scopes=["read"])
    assert token.status == 201, token


def test_a_token_reads_who_there_is(attack: Attack) -> None:
    assert attack.robot.rest("GET", "/users").status == 200
    assert attack.robot.rest("GET", "/users/{id}", id="uma").status == 200


def test_no_token_has_an_agent_shown_a_secret(attack: Attack) -> None:
    auth = {"type": "bearer", "secret": "env:ACCORD_SECRET_CRM"}
    url = "https://agents.invalid/"
    agent = {"name": "crm", "url": url, "auth": auth}
    assert refused(attack.robot.ask("POST", "/api/v1/agents", agent))
    made = attack.session.ask("POST", "/api/v1/agents", agent)
    assert made.status == 201, made
    elsewhere = {"url": "https://mallory.invalid/"}
    assert refused(attack.robot.ask("PATCH", "/api/v1/agents/crm", elsewhere))
    other = {"auth": {"type": "bearer", "secret": "env:ACCORD_SECRET_BANK"}}
    assert refused(attack.robot.ask("PATCH", "/api/v1/agents/crm", other))
    found = attack.session.ask("GET", "/api/v1/agents/crm").json
    assert (found["url"], found["auth"]) == (url, auth)
    slower = attack.robot.ask("PATCH", "/api/v1/agents/crm", {"timeout": 10})
    assert (slower.status, slower.json["timeout"]) == (200, 10)
    plain = {"name": "plain", "url": url}
    assert attack.robot.ask("POST", "/api/v1/agents", plain).status == 201
    attack.session.ask("DELETE", "/api/v1/agents/crm")
    attack.session.ask("DELETE", "/api/v1/agents/plain")
