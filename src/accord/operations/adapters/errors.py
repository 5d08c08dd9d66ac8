"""Errors of operations on each interface, decided here only.

    REST       a problem (RFC 9457) with the status of its kind
    JSON-RPC   an error with the code of its kind; for a single call also an HTTP status
    MCP        an error with the code of MCP's version and profile (`accord.mcp.protocol.messages`);
               an error that a model can correct is a result with `isError`, not converted here

Each contains the name of its kind (`code`, `data.reason`) and the correlation id. An internal error
contains nothing else. Pure.
"""

from __future__ import annotations

from typing import Any, Final

from accord.jsonrpc.protocol.errors import RpcError, from_wire
from accord.mcp.protocol.messages import Profile, failure
from accord.mcp.protocol.versions import Era
from accord.operations.errors import KINDS, Kind, ServiceError
from accord.operations.logs import masked

TYPE: Final = "urn:accord:problem:"
"""The prefix of a problem's `type`, which ends with the name of its kind."""

_INTERNAL: Final = KINDS["internal_error"]
_RPC_STATUSES: Final = frozenset((401, 403, 429))
"""HTTP statuses of errors of single JSON-RPC calls; other errors have status 200."""
_FOR_MODELS: Final = frozenset(
    ("malformed_request", "validation_failed", "not_found", "conflict", "version_mismatch")
)
"""Kinds of errors that a model can correct, such as invalid arguments."""
_MCP_CASES: Final = {
    "malformed_request": "invalid_params",
    "validation_failed": "invalid_params",
    "unauthenticated": "authentication_failed",
    "insufficient_permissions": "insufficient_permissions",
    "not_found": "resource_not_found",
    "conflict": "invalid_params",
    "version_mismatch": "invalid_params",
    "rate_limited": "rate_limited",
}
"""Names of MCP errors by kind of `ServiceError`; other kinds are internal errors."""


def kind_of(error: Exception) -> Kind:
    """Return the kind of an error: `internal_error` for all but a `ServiceError`."""
    return error.kind if isinstance(error, ServiceError) else _INTERNAL


def problem(error: Exception, *, instance: str, correlation_id: str) -> dict[str, Any]:
    """Return the members of a problem (RFC 9457, section 3)."""
    kind = kind_of(error)
    if not isinstance(error, ServiceError):
        detail = f"The log has more under the correlation id {correlation_id}"
        return members(kind, detail, instance=instance, correlation_id=correlation_id)
    found = members(kind, error.message, instance=instance, correlation_id=correlation_id)
    if error.errors:
        found["errors"] = fields_of(error)
    return {**found, **{name: it for name, it in error.data.items() if name not in found}}


def members(kind: Kind, detail: str, *, instance: str, correlation_id: str) -> dict[str, Any]:
    """Return the members that every problem (RFC 9457) has, whatever its kind.

    `problem` adds the members of a particular error, such as `errors`.
    """
    return {
        "type": TYPE + kind.code,
        "title": kind.title,
        "status": kind.status,
        "detail": masked(detail),
        "instance": instance,
        "code": kind.code,
        "correlation_id": correlation_id,
    }


def rpc_error(error: Exception, correlation_id: str) -> RpcError:
    """Return the error of a JSON-RPC call."""
    kind = kind_of(error)
    return from_wire(kind.rpc, message_of(error), _data(error, kind, correlation_id))


def rpc_status(error: Exception) -> int:
    """Return the HTTP status of the response to a single JSON-RPC call."""
    status = kind_of(error).status
    return status if status in _RPC_STATUSES else 200


def is_for_models(error: Exception) -> bool:
    """Return True for an error that a tool returns as a result, for a model to correct."""
    return kind_of(error).code in _FOR_MODELS


def mcp_error(
    error: Exception,
    correlation_id: str,
    *,
    era: Era,
    profile: Profile = "standard",
    forbidden: int | None = None,
    **data: Any,
) -> RpcError:
    """Return the error of an MCP request, in the form of its protocol version.

    `era` tells versions that begin with a handshake (`initialize`) from the stateless ones. In
    versions with a handshake, `forbidden` is the code for missing permission of a server that has
    its own code for it. `data` adds members to the data of the error, such as `uri`.
    """
    kind = kind_of(error)
    all_data = {**_data(error, kind, correlation_id), **data}
    case = _MCP_CASES.get(kind.code)
    if case is None:
        return from_wire(_INTERNAL.rpc, message_of(error), all_data)
    plain = era is Era.HANDSHAKE and profile == "standard"
    if case == "insufficient_permissions" and forbidden is not None and plain:
        return from_wire(forbidden, message_of(error), all_data)
    found = failure(case, message_of(error), era=era, profile=profile)
    found.data = {**all_data, "reason": case}
    return found


def message_of(error: Exception) -> str:
    """Return the message for the caller, as one sentence."""
    return masked(error.message) if isinstance(error, ServiceError) else _INTERNAL.title


def fields_of(error: ServiceError) -> list[dict[str, str]]:
    """Return the errors of single fields as JSON objects."""
    return [
        {"pointer": masked(each.pointer), "detail": masked(each.detail)} for each in error.errors
    ]


def _data(error: Exception, kind: Kind, correlation_id: str) -> dict[str, Any]:
    if not isinstance(error, ServiceError):
        return {"reason": kind.code, "correlation_id": correlation_id}
    all_data = {**error.data, "reason": kind.code, "correlation_id": correlation_id}
    if error.errors:
        all_data["errors"] = fields_of(error)
    return all_data
