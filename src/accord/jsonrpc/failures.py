"""The one mapping from an exception to what the caller is told. Pure.

An `RpcError` is sent as it was raised. Anything else is unforeseen: the caller gets a
correlation id, the log gets the rest.
"""

from __future__ import annotations

import traceback
from typing import Any

from accord.jsonrpc.catalogue import CATALOGUE
from accord.jsonrpc.errors import RpcError, TransportError, own_error


def is_foreseen(error: BaseException, *, strict: bool = False) -> bool:
    """Whether the caller may see this error as it is.

    A transport error met by a handler concerns a third party: it is not the caller's to
    see. Strict mode lets only codes of the catalogue through (F-09).
    """
    if not isinstance(error, RpcError) or isinstance(error, TransportError):
        return False
    return not strict or CATALOGUE.get(error.code) is not None


def told_code(error: BaseException, *, strict: bool = False) -> int:
    """The code that the caller is told about `error`."""
    if isinstance(error, RpcError) and is_foreseen(error, strict=strict):
        return error.code
    return CATALOGUE.named("internal_error").code


def to_wire(
    error: BaseException, *, correlation_id: str, strict: bool = False, debug: bool = False
) -> RpcError:
    """What the caller is told about `error`."""
    if is_foreseen(error, strict=strict):
        assert isinstance(error, RpcError)
        return error
    members: dict[str, Any] = {"correlationId": correlation_id}
    if debug:
        members["exception"] = repr(error)
        members["traceback"] = traceback.format_exception(error)
    return own_error("internal_error", None, **members)
