"""Every kind of error on every face, as one table."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from accord.mcp.protocol.messages import Profile
from accord.mcp.protocol.versions import Era
from accord.operations.adapters.errors import is_for_models, kind_of, mcp_error
from accord.operations.errors import KINDS, ServiceUnavailableError
from accord.operations.runner import InternalOperationError
from tests.operations.adapters.shop import FAILURES, Shop

TABLE = [
    # the kind, the HTTP status, the JSON-RPC code, the HTTP status of a single JSON-RPC call
    ("malformed_request", 400, -32600, 200),
    ("validation_failed", 422, -32602, 200),
    ("unauthenticated", 401, -32051, 401),
    ("insufficient_permissions", 403, -32055, 403),
    ("not_found", 404, -32001, 200),
    ("conflict", 409, -32000, 200),
    ("version_mismatch", 412, -32028, 200),
    ("rate_limited", 429, -32010, 429),
    ("unavailable", 503, -32000, 200),
]

MORE: dict[str, dict[str, Any]] = {
    "validation_failed": {
        "longest": 5,
        "errors": [{"pointer": "/title", "detail": "is too long"}],
    },
    "insufficient_permissions": {"required_scope": "write"},
    "conflict": {"children": ["a", "b"]},
    "version_mismatch": {"difference": [{"field": "title"}]},
    "rate_limited": {"retry_after": 2},
}
"""What an answer has beside what every one has."""

HEADERS = {
    "unauthenticated": {"www-authenticate": 'Bearer realm="accord"'},
    "insufficient_permissions": {
        "www-authenticate": 'Bearer error="insufficient_scope", scope="write"'
    },
    "rate_limited": {"retry-after": "2"},
    "unavailable": {"retry-after": "1"},
}


def test_the_table_has_every_kind() -> None:
    assert {row[0] for row in TABLE} | {"internal_error"} == set(KINDS)
    assert set(FAILURES) == {row[0] for row in TABLE}


@pytest.mark.req("H-13", "H-20")
@pytest.mark.parametrize(("kind", "status", "code", "rpc_status"), TABLE)
async def test_a_refusal_is_a_problem_and_a_json_rpc_error(
    local: Shop, kind: str, status: int, code: int, rpc_status: int
) -> None:
    error = FAILURES[kind]
    named = {"x-correlation-id": f"test-{kind}"}
    rest = await local.get(f"/failures/{kind}", headers=named)
    assert rest.status_code == status
    assert rest.headers["content-type"] == "application/problem+json"
    assert rest.headers["x-correlation-id"] == f"test-{kind}"
    assert rest.json() == {
        "type": f"urn:accord:problem:{kind}",
        "title": KINDS[kind].title,
        "status": status,
        "detail": error.message,
        "instance": f"/api/v1/failures/{kind}",
        "code": kind,
        "correlation_id": f"test-{kind}",
        **MORE.get(kind, {}),
    }
    for name, value in HEADERS.get(kind, {}).items():
        assert rest.headers[name] == value
    body = {"jsonrpc": "2.0", "id": 7, "method": "fail", "params": {"name": kind}}
    rpc = await local.rpc(body, headers=named)
    assert rpc.status_code == rpc_status
    assert rpc.json() == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {
            "code": code,
            "message": error.message,
            "data": {"reason": kind, "correlation_id": f"test-{kind}", **MORE.get(kind, {})},
        },
    }
    batch = await local.rpc([body], headers=named)
    assert (batch.status_code, batch.json()) == (200, [rpc.json()])


@pytest.mark.req("H-19", "H-20")
async def test_a_failure_tells_its_caller_the_correlation_id_alone(
    local: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    named = {"x-correlation-id": "cafe-1"}
    with caplog.at_level(logging.ERROR):
        rest = await local.get("/failures/division-by-zero", headers=named)
        body = {"jsonrpc": "2.0", "id": 1, "method": "fail", "params": {"name": "division-by-zero"}}
        rpc = await local.rpc(body, headers=named)
    assert rest.status_code == 500
    assert rest.json() == {
        "type": "urn:accord:problem:internal_error",
        "title": "Something went wrong on our side",
        "status": 500,
        "detail": "The log has more under the correlation id cafe-1",
        "instance": "/api/v1/failures/division-by-zero",
        "code": "internal_error",
        "correlation_id": "cafe-1",
    }
    assert (rpc.status_code, rpc.json()["error"]) == (
        200,
        {
            "code": -32603,
            "message": "Something went wrong on our side",
            "data": {"reason": "internal_error", "correlation_id": "cafe-1"},
        },
    )
    assert len(caplog.records) == 2
    assert all("machine room" in str(record.exc_info) for record in caplog.records)


MCP = [
    # the kind, codes of the standard in both eras, of the extended profile, whether a model is told
    ("malformed_request", -32602, -32602, -32602, True),
    ("validation_failed", -32602, -32602, -32602, True),
    ("unauthenticated", -32051, -32600, -32051, False),
    ("insufficient_permissions", -32055, -32600, -32055, False),
    ("not_found", -32002, -32602, -32001, True),
    ("conflict", -32602, -32602, -32602, True),
    ("version_mismatch", -32602, -32602, -32602, True),
    ("rate_limited", -32010, -32603, -32010, False),
    ("unavailable", -32603, -32603, -32603, False),
]


@pytest.mark.req("H-20")
@pytest.mark.parametrize(("kind", "handshake", "stateless", "extended", "for_models"), MCP)
def test_an_error_over_mcp_follows_version_and_profile(
    kind: str, handshake: int, stateless: int, extended: int, for_models: bool
) -> None:
    error = FAILURES[kind]

    def code(era: Era, profile: Profile) -> int:
        return mcp_error(error, "c-1", era=era, profile=profile).code

    assert code(Era.HANDSHAKE, "standard") == handshake
    assert code(Era.STATELESS, "standard") == code(Era.STATELESS, "extended") == stateless
    assert code(Era.HANDSHAKE, "extended") == extended
    assert is_for_models(error) is for_models
    told = mcp_error(error, "c-1", era=Era.HANDSHAKE, uri="epic://EP-9")
    assert told.message == error.message
    assert (told.data["correlation_id"], told.data["uri"]) == ("c-1", "epic://EP-9")


def test_a_server_may_have_a_code_of_its_own_for_want_of_permission() -> None:
    error = FAILURES["insufficient_permissions"]
    own = mcp_error(error, "c-1", era=Era.HANDSHAKE, forbidden=-32002)
    assert (own.code, own.data["reason"]) == (-32002, "insufficient_permissions")
    stateless = mcp_error(error, "c-1", era=Era.STATELESS, forbidden=-32002)
    assert stateless.code == -32600


def test_what_failed_for_no_fault_of_the_caller_is_internal_everywhere() -> None:
    failed = InternalOperationError("c-9")
    told = mcp_error(failed, "c-9", era=Era.STATELESS)
    assert (told.code, told.data) == (
        -32603,
        {"reason": "internal_error", "correlation_id": "c-9"},
    )
    assert kind_of(ValueError("x")) is KINDS["internal_error"]
    assert kind_of(ServiceUnavailableError("x")).status == 503
