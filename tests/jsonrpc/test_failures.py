"""What a caller is told about an exception."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from accord.jsonrpc.call import decode_data
from accord.jsonrpc.errors import ConnectionLostError, InvalidParamsError, RpcError
from accord.jsonrpc.failures import is_foreseen, to_wire


@pytest.mark.req("F-09", "F-26")
def test_an_rpc_error_is_told_as_it_was_raised() -> None:
    for error in (RpcError("no", code=4711, data={"a": 1}), InvalidParamsError("bad")):
        assert is_foreseen(error)
        assert to_wire(error, correlation_id="c") is error


@pytest.mark.req("F-26", "F-30")
@pytest.mark.parametrize("error", [ValueError("secret"), ConnectionLostError("db.internal:5432")])
def test_anything_else_is_told_as_an_internal_error_with_a_correlation_id_only(
    error: Exception,
) -> None:
    assert not is_foreseen(error)
    told = to_wire(error, correlation_id="c0ffee")
    assert (told.code, told.message) == (-32603, "Internal error")
    assert told.data == {"reason": "internal_error", "correlationId": "c0ffee"}


@pytest.mark.req("F-26")
def test_debug_mode_adds_the_exception_and_its_traceback() -> None:
    try:
        raise ValueError("secret")
    except ValueError as error:
        told = to_wire(error, correlation_id="c", debug=True)
    assert told.data["exception"] == "ValueError('secret')"
    assert told.data["traceback"][0] == "Traceback (most recent call last):\n"


@pytest.mark.req("F-09")
def test_strict_mode_lets_only_codes_of_the_catalogue_through() -> None:
    unknown, known = RpcError("no", code=4711), RpcError("no", code=-32602)
    assert to_wire(unknown, correlation_id="c", strict=True).code == -32603
    assert to_wire(known, correlation_id="c", strict=True) is known


@pytest.mark.parametrize(
    ("raw", "data"),
    [(UNSET, None), (b'{"a": 1}', {"a": 1}), (b'"\xff"', '"\ufffd"'), (b"[1", "[1")],
)
def test_error_data_that_cannot_be_decoded_is_kept_as_text(raw: Any, data: Any) -> None:
    assert decode_data(raw) == data
