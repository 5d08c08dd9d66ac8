"""Which error code says what, by version and profile.

The standard's codes depend on the version; the extended profile has one code per failure and
is for the handshake era only, as the stateless one forbids codes that it does not define.
Programs need not care: `data.reason` names the case in both.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from accord.jsonrpc.errors import RpcError, from_wire
from accord.jsonrpc.ids import RequestFault
from accord.mcp.protocol.versions import Era

Profile: TypeAlias = Literal["standard", "extended"]


class Case(Struct, frozen=True):
    """The codes of one failure, and its HTTP status in the stateless era."""

    handshake: int
    stateless: int
    extended: int
    status: int = 200


CASES: Final = {
    "resource_not_found": Case(-32002, -32602, -32001),
    "tool_not_found": Case(-32602, -32602, -32002),
    "prompt_not_found": Case(-32602, -32602, -32003),
    "invalid_tool_arguments": Case(-32602, -32602, -32034),
    "prompt_argument_missing": Case(-32602, -32602, -32043),
    "invalid_cursor": Case(-32602, -32602, -32071),
    "invalid_params": Case(-32602, -32602, -32602),
    "request_id_invalid": Case(-32600, -32600, -32067, status=400),
    "request_id_conflict": Case(-32600, -32600, -32068, status=400),
    "batch_request_too_large": Case(-32600, -32600, -32069, status=400),
    "session_not_found": Case(-32600, -32600, -32058, status=404),
    "unsupported_media_type": Case(-32600, -32600, -32019, status=415),
    "media_type_not_acceptable": Case(-32600, -32600, -32020, status=406),
    "invalid_prompt_arguments": Case(-32602, -32602, -32045),
    "prompt_render_failed": Case(-32603, -32603, -32044),
    "template_render_failed": Case(-32603, -32603, -32029),
    "completion_failed": Case(-32603, -32603, -32113),
    "invalid_meta": Case(-32602, -32602, -32602, status=400),
    "method_not_found": Case(-32601, -32601, -32601, status=404),
    "method_not_supported": Case(-32601, -32601, -32065, status=404),
    "unsupported_protocol_version": Case(-32022, -32022, -32062, status=400),
    "header_mismatch": Case(-32020, -32020, -32020, status=400),
    "capability_not_supported": Case(-32004, -32021, -32004, status=400),
    "not_initialized": Case(-32005, -32600, -32005),
    "url_elicitation_required": Case(-32042, -32603, -32042),
    "message_too_large": Case(-32012, -32600, -32012, status=413),
    "rate_limited": Case(-32010, -32603, -32010, status=429),
    "busy": Case(-32010, -32603, -32010, status=429),
    # 2026-07-28 has no code for these, and the server is not to blame, as -32603 would say.
    "authentication_failed": Case(-32051, -32600, -32051),
    "insufficient_permissions": Case(-32055, -32600, -32055, status=403),
    "invalid_request_state": Case(-32602, -32602, -32602),
    "content_too_large": Case(-32014, -32603, -32014),
    "max_concurrent_tools": Case(-32010, -32603, -32038, status=429),
    "tool_timeout": Case(-32009, -32603, -32032),
    "timeout": Case(-32009, -32603, -32009),
    "completion_invalid_reference": Case(-32602, -32602, -32111),
    "subscription_failed": Case(-32006, -32603, -32006),
    "task_not_found": Case(-32602, -32602, -32081),
    "task_cancelled": Case(-32603, -32603, -32084),
    "max_concurrent_tasks": Case(-32603, -32603, -32087, status=429),
    "task_already_completed": Case(-32602, -32602, -32090),
}


def failure(
    case: str, message: str, *, era: Era, profile: Profile = "standard", **data: Any
) -> RpcError:
    """Return the error for `case` in the codes of the client's era."""
    codes = CASES[case]
    if era is Era.STATELESS:
        code = codes.stateless
    else:
        code = codes.extended if profile == "extended" else codes.handshake
    return from_wire(code, message, {"reason": case, **data})


def request_error(
    fault: RequestFault, *, era: Era, profile: Profile, of: RpcError | None = None
) -> RpcError:
    """Return the error for a batch, or for a request with a refused id.

    `of` is the error that JSON-RPC has for a batch.
    """
    if fault == "batch_too_large":
        assert of is not None
        case = "batch_request_too_large"
        about = {name: each for name, each in of.data.items() if name != "reason"}
        return failure(case, of.message, era=era, profile=profile, **about)
    case, why = _FAULTS[fault]
    return failure(case, f"Invalid Request: {why}", era=era, profile=profile, field="id")


_FAULTS: Final[dict[RequestFault, tuple[str, str]]] = {
    # 2025-11-25 and 2026-07-28, requests: a string or an integer, never null, …
    "invalid_id": ("request_id_invalid", "'id' must be a string or an integer"),
    # … and not that of another request in flight.
    "id_conflict": ("request_id_conflict", "a request with this 'id' is being served"),
}


def standard_reason(code: int, era: Era) -> str | None:
    """Return the standard's name for a code.

    None where it is the same as in the catalogue.
    """
    return _STANDARD[era].get(code)


_STANDARD: Final[dict[Era, dict[int, str]]] = {
    Era.HANDSHAKE: {-32002: "resource_not_found"},
    Era.STATELESS: {
        -32020: "header_mismatch",
        -32021: "capability_not_supported",
        -32022: "unsupported_protocol_version",
    },
}


def http_status(error: RpcError) -> int:
    """Return the HTTP status of a stateless answer with this error."""
    reason = error.data.get("reason") if isinstance(error.data, dict) else None
    case = CASES.get(reason) if isinstance(reason, str) else None
    return 200 if case is None else case.status
