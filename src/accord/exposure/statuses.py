"""Which error stands for which HTTP status: one table.

The names are those of the error catalogue, `accord.jsonrpc.catalogue`.
"""

from __future__ import annotations

from typing import Final

REDIRECT: Final = "server_error"
CLIENT_ERROR: Final = "validation_failed"
"""For a status of 400 to 499 that is not in the table."""
SERVER_ERROR: Final = "server_error"
"""For a status of 500 to 599 that is not in the table."""

ERRORS: Final[dict[int, str]] = {
    400: "invalid_params",
    401: "authentication_failed",
    403: "authorization_failed",
    404: "resource_not_found",
    405: "method_not_supported",
    406: "media_type_not_acceptable",
    408: "timeout",
    409: "resource_already_exists",
    410: "resource_not_found",
    412: "resource_version_mismatch",
    413: "content_too_large",
    414: "uri_too_long",
    415: "unsupported_media_type",
    422: "invalid_params",
    423: "resource_locked",
    429: "rate_limited",
    501: "method_not_supported",
    504: "timeout",
}


def error_name(status: int) -> str:
    """The catalogue's name of the error that a status stands for, from 300 on."""
    if status < 400:
        return REDIRECT
    return ERRORS.get(status) or (CLIENT_ERROR if status < 500 else SERVER_ERROR)
