"""Every operation is for those for whom it is meant to be, on every face and by every credential:
the table in `matrix.py` beside what the system does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accord.app.composition import all_operations
from accord.operations.context import ROLES, SCOPES, Role
from accord.operations.operation import Operation
from tests.hub.system.installation import (
    MCP,
    NAMES,
    PLAIN,
    REST,
    RPC,
    SESSION,
    Answer,
    Installation,
    Staff,
    Wire,
    password_of,
    running,
)
from tests.hub.system.matrix import MATRIX, OF_PROMPTS, may
from tests.hub.system.things import (
    comment_of,
    filled,
    made,
    run_of,
    things_of,
    things_of_another,
    workflow_things,
)
from tests.store.cluster import Cluster

CREDENTIALS = (SESSION, PLAIN, *SCOPES)
REGISTRY = all_operations()
SAMPLE = (
    *("get_epic", "create_epic", "delete_epic", "add_comment", "propose_changes", "create_prompt"),
    *("list_audit_events", "create_token", "undo", "search_global"),
    *("run_workflow", "get_run", "cancel_run", "approve_run", "create_workflow", "list_agents"),
)


class Company:
    """An installation with somebody of each role, and things that are theirs."""

    def __init__(self, here: Installation) -> None:
        self.here = here
        self.staff = Staff(here)
        boss = self.wire("Administrator", SESSION)
        prompt = made(boss.rest("POST", "/prompts", name="kind", content="Be kind."))
        made(boss.rest("POST", "/prompts/{id}/activate", id=prompt["id"]))
        shared = {
            **workflow_things(boss),
            **things_of_another(self.here.wire(self.here.add("otto", "User"))),
        }
        self.things: dict[Role, dict[str, Any]] = {
            role: {
                **things_of(self.wire(role, SESSION), NAMES[role], prompt["reference_id"]),
                **shared,
                "run": run_of(self.wire(role, SESSION)),
            }
            for role in ROLES
            if role != "Commenter"
        }
        # Who only comments has comments alone; what they are refused may be anybody's.
        theirs = self.things["Administrator"]
        mine = comment_of(self.wire("Commenter", SESSION), theirs["requirement"])
        self.things["Commenter"] = {**theirs, "comment": mine}

    def wire(self, role: Role, credential: str) -> Wire:
        return self.here.wire(self.staff.tokens[role, credential])

    def arguments(self, operation: Operation, role: Role) -> dict[str, Any]:
        """Those of the table; nothing is changed by them."""
        things = {**self.things[role], "password": password_of(NAMES[role])}
        found = filled(MATRIX[operation.name].arguments, things)
        return {**found, "dry_run": True} if operation.writes else found


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Company]:
    with running(tmp_path_factory.mktemp("matrix") / "data") as here:
        yield Company(here)


def test_every_operation_has_its_row_and_every_row_its_operation() -> None:
    assert sorted(MATRIX) == sorted(each.name for each in REGISTRY)


@pytest.mark.req("H-05", "H-14", "H-15")
@pytest.mark.parametrize("credential", CREDENTIALS)
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("face", [REST, RPC, MCP])
def test_who_may_do_what_is_what_the_table_says(
    company: Company, face: str, role: Role, credential: str
) -> None:
    assert differences(company, list(REGISTRY), face, role, credential) == []


@pytest.mark.req("H-02", "H-05")
def test_a_sample_of_it_is_the_same_on_postgresql(tmp_path: Path, cluster: Cluster) -> None:
    with running(tmp_path / "data", cluster.database()) as here:
        company = Company(here)
        sample = [REGISTRY[name] for name in SAMPLE]
        for face in (REST, RPC, MCP):
            for role in ROLES:
                for credential in CREDENTIALS:
                    assert differences(company, sample, face, role, credential) == []


@pytest.mark.parametrize("face", [REST, RPC, MCP])
def test_nobody_in_particular_may_do_nothing(company: Company, face: str) -> None:
    nobody = company.here.wire()
    for operation in REGISTRY:
        arguments = company.arguments(operation, "Administrator")
        for what, answer in answers(nobody, operation, arguments, face):
            assert answer.status == 401, (what, answer)
            assert answer.headers["www-authenticate"].startswith("Bearer")


def differences(
    company: Company, operations: list[Operation], face: str, role: Role, credential: str
) -> list[Any]:
    """Where somebody is let through who may not, or kept out who may, or something breaks."""
    found = []
    wire = company.wire(role, credential)
    for operation in operations:
        allowed = may(role, credential, MATRIX[operation.name].group)
        judge = is_let_through if allowed else REFUSED[face]
        arguments = company.arguments(operation, role)
        for what, answer in answers(wire, operation, arguments, face):
            if not judge(answer, operation.name):
                found.append((what, "allowed" if allowed else "denied", answer))
    return found


def answers(
    wire: Wire, operation: Operation, arguments: dict[str, Any], face: str
) -> Iterator[tuple[str, Answer]]:
    """What is answered to a call, at each place of a face at which the operation is found."""
    if face == RPC:
        yield operation.name, wire.rpc(operation.name, **arguments)
    elif face == MCP:
        if operation.tool:
            yield operation.name, wire.tool(operation.name, **arguments)
    else:
        for rest in operation.rest:
            yield f"{rest.verb} {rest.path}", wire.rest(rest.verb, rest.path, **arguments)


def is_let_through(answer: Answer, operation: str) -> bool:
    failed = answer.status in (401, 403) or answer.status >= 500
    return not failed and b"-32603" not in answer.body


def is_refused_by_rest(answer: Answer, operation: str) -> bool:
    return (
        answer.status == 403
        and answer.headers["content-type"] == "application/problem+json"
        and answer.json["code"] == "insufficient_permissions"
        and answer.json["status"] == 403
    )


def is_refused_by_rpc(answer: Answer, operation: str) -> bool:
    return answer.status == 403 and answer.json["error"]["code"] == -32055


def is_refused_by_mcp(answer: Answer, operation: str) -> bool:
    error = answer.json["error"] if answer.status == 403 else {}
    code = -32002 if operation in OF_PROMPTS else -32055
    return (
        bool(error)
        and error["code"] == code
        and (error["data"]["reason"] == "insufficient_permissions")
    )


REFUSED = {REST: is_refused_by_rest, RPC: is_refused_by_rpc, MCP: is_refused_by_mcp}
