"""Which code says what, by era and profile."""

from __future__ import annotations

from typing import Any

import pytest

from accord.jsonrpc.methods.router import RequestFault
from accord.jsonrpc.protocol.catalogue import CATALOGUE
from accord.jsonrpc.protocol.errors import from_wire, own_error
from accord.mcp.protocol.messages import (
    CASES,
    Profile,
    case_of,
    failure,
    request_error,
    standard_reason,
)
from accord.mcp.protocol.versions import Era


@pytest.mark.req("M-11")
@pytest.mark.parametrize(
    ("case", "handshake", "stateless", "extended"),
    [
        ("resource_not_found", -32002, -32602, -32001),
        ("tool_not_found", -32602, -32602, -32002),
        ("prompt_not_found", -32602, -32602, -32003),
        ("invalid_cursor", -32602, -32602, -32071),
        ("prompt_argument_missing", -32602, -32602, -32043),
        ("header_mismatch", -32020, -32020, -32020),
        ("capability_not_supported", -32004, -32021, -32004),
        ("not_initialized", -32005, -32600, -32005),
        ("message_too_large", -32012, -32600, -32012),
        ("rate_limited", -32010, -32603, -32010),
        ("insufficient_permissions", -32055, -32600, -32055),
    ],
)
def test_a_failure_has_the_code_of_its_era_and_profile(
    case: str, handshake: int, stateless: int, extended: int
) -> None:
    def code(era: Era, profile: Profile) -> int:
        error = failure(case, "m", era=era, profile=profile, more=1)
        assert (error.message, error.data) == ("m", {"reason": case, "more": 1})
        return error.code

    assert code(Era.HANDSHAKE, "standard") == handshake
    assert code(Era.HANDSHAKE, "extended") == extended
    assert code(Era.STATELESS, "standard") == code(Era.STATELESS, "extended") == stateless


@pytest.mark.req("M-21")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("profile", ["standard", "extended"])
@pytest.mark.parametrize("era", Era)
def test_the_entry_of_an_error_is_that_of_its_case(era: Era, profile: Profile, case: str) -> None:
    error = failure(case, "m", era=era, profile=profile)
    assert error.entry is CATALOGUE.named(case)
    assert from_wire(error.code, "m", {"reason": case}).entry is error.entry


@pytest.mark.req("M-21")
@pytest.mark.parametrize(
    ("code", "handshake", "stateless"),
    [
        (-32002, "resource_not_found", None),
        (-32020, None, "header_mismatch"),
        (-32021, None, "capability_not_supported"),
        (-32022, None, "unsupported_protocol_version"),
        (-32602, None, None),
    ],
)
def test_what_a_code_of_the_standard_stands_for_where_nobody_says(
    code: int, handshake: str | None, stateless: str | None
) -> None:
    assert standard_reason(code, Era.HANDSHAKE) == handshake
    assert standard_reason(code, Era.STATELESS) == stateless


@pytest.mark.req("M-11", "M-12")
@pytest.mark.parametrize(("fault", "extended"), [("invalid_id", -32067), ("id_conflict", -32068)])
def test_a_refused_id_has_the_code_of_its_era_and_profile(
    fault: RequestFault, extended: int
) -> None:
    assert request_error(fault, era=Era.HANDSHAKE, profile="standard").code == -32600
    assert request_error(fault, era=Era.HANDSHAKE, profile="extended").code == extended
    error = request_error(fault, era=Era.STATELESS, profile="extended")
    assert error.code == -32600
    reason = {"invalid_id": "request_id_invalid", "id_conflict": "request_id_conflict"}[fault]
    assert error.data == {"reason": reason, "field": "id"}


@pytest.mark.req("M-11", "M-27")
def test_a_batch_that_is_too_large_has_its_code_and_limit() -> None:
    said = own_error("invalid_request", "Invalid Request: too large", limit=2)
    error = request_error("batch_too_large", era=Era.HANDSHAKE, profile="extended", of=said)
    assert (error.code, error.message) == (-32069, said.message)
    assert error.data == {"reason": "batch_request_too_large", "limit": 2}


ALLOWED = {-32020, -32021, -32022}
"""2026-07-28, error codes: all that the protocol defines in the range that it reserves."""


@pytest.mark.req("M-11")
@pytest.mark.parametrize("case", CASES)
def test_the_stateless_era_has_no_codes_that_it_does_not_define(case: str) -> None:
    code = CASES[case].stateless
    assert code in ALLOWED or not -32099 <= code <= -32020
    assert code not in (-32002, -32042)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ({"reason": "header_mismatch"}, 400),
        ({"reason": "method_not_found"}, 404),
        ({"reason": "tool_not_found"}, 200),
        ({"reason": "of the application"}, 200),
        ({"reason": 7}, 200),
        ({}, 200),
        ("text", 200),
        (None, 200),
    ],
)
def test_an_error_has_its_status(data: Any, status: int) -> None:
    case = case_of(data)
    assert (200 if case is None else case.status) == status
