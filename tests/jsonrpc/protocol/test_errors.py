"""Exceptions, their mapping to the wire, and log lines."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from msgspec import UNSET

from accord import Router, serve
from accord.jsonrpc.protocol.catalogue import CATALOGUE
from accord.jsonrpc.protocol.errors import (
    MAX_LOGGED_CHARACTERS,
    AccordError,
    BusyError,
    CallTimeoutError,
    ConnectError,
    ConnectionClosedError,
    ConnectionLostError,
    FramingError,
    IdsExhaustedError,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    MessageTooLargeError,
    MethodNotFoundError,
    ParseError,
    RegistrationError,
    RpcError,
    ServerError,
    TransportError,
    from_wire,
    is_expected,
    log_line,
    own_error,
    to_wire,
)
from accord.jsonrpc.runtime.calls import decode_data
from tests.hostile.attacker import attacking

BY_CODE: list[tuple[int, type[RpcError]]] = [
    (-32700, ParseError),
    (-32600, InvalidRequestError),
    (-32601, MethodNotFoundError),
    (-32602, InvalidParamsError),
    (-32603, InternalError),
    (-32010, BusyError),
    (-32012, MessageTooLargeError),
    (-32009, CallTimeoutError),
]


def says(error: RpcError) -> tuple[type[RpcError], int, str, Any]:
    return type(error), error.code, error.message, error.data


@pytest.mark.req("F-09", "RPC-5.1d")
@pytest.mark.parametrize(("code", "cls"), BY_CODE)
def test_an_error_object_becomes_the_exception_for_its_code(code: int, cls: type[RpcError]) -> None:
    assert says(from_wire(code, "no", {"a": 1})) == (cls, code, "no", {"a": 1})


@pytest.mark.req("F-09")
@pytest.mark.parametrize("code", [-32000, -32001, -32008, 1090, 0, 7, -(2**63)])
def test_an_error_object_with_another_code_keeps_it(code: int) -> None:
    assert says(from_wire(code, "no")) == (RpcError, code, "no", None)


@pytest.mark.req("F-09")
@pytest.mark.parametrize(
    "cls", [*(cls for _, cls in BY_CODE), RpcError, ServerError, TransportError]
)
def test_the_defaults_of_an_exception_are_those_of_the_catalogue(cls: type[RpcError]) -> None:
    error = cls()
    assert error.entry is not None
    assert (error.code, error.message) == (error.entry.code, error.entry.message)


@pytest.mark.req("F-09")
def test_our_own_error_carries_its_name_as_reason_beside_its_members() -> None:
    error = own_error("message_too_large", "too much", maxSize=10, unit="bytes")
    assert says(error) == (
        MessageTooLargeError,
        -32012,
        "too much",
        {"reason": "message_too_large", "maxSize": 10, "unit": "bytes"},
    )


@pytest.mark.req("F-09")
def test_our_own_error_has_the_catalogues_message_unless_given_one() -> None:
    assert says(own_error("tool_not_found")) == (
        RpcError,
        -32002,
        "Tool not found",
        {"reason": "tool_not_found"},
    )


@pytest.mark.req("F-28")
def test_our_own_busy_error_is_called_what_it_was_raised_as() -> None:
    assert says(own_error("busy", retryAfter=2)) == (
        BusyError,
        -32010,
        "Busy",
        {"reason": "busy", "retryAfter": 2},
    )


def test_our_own_error_must_be_in_the_catalogue() -> None:
    with pytest.raises(KeyError, match="no error is called 'parse_eror'"):
        own_error("parse_eror")


@pytest.mark.req("F-09")
def test_an_error_says_its_message_and_its_code() -> None:
    assert str(MethodNotFoundError("no method 'adn'")) == "no method 'adn' (-32601)"
    assert MethodNotFoundError("no method 'adn'").args == ("no method 'adn'",)


@pytest.mark.req("F-09")
def test_an_empty_message_is_kept() -> None:
    assert RpcError("").message == ""


@pytest.mark.req("F-09", "RPC-5.1a", "RPC-5.1b", "RPC-5.1c")
def test_an_application_error_has_any_code_message_and_data() -> None:
    error = RpcError("out of stock", code=17, data=["apples"])
    assert says(error) == (RpcError, 17, "out of stock", ["apples"])
    assert error.entry is None


@pytest.mark.req("F-09")
def test_a_code_of_its_own_changes_one_exception_and_not_its_type() -> None:
    assert ServerError(code=17).code == 17
    assert ServerError().code == -32000


def test_an_error_is_local_until_the_other_end_says_it() -> None:
    assert RpcError().remote is False


@pytest.mark.req("F-09")
def test_the_entry_gives_category_and_severity() -> None:
    entry = ParseError().entry
    assert entry is CATALOGUE.named("parse_error")
    assert (entry.category, entry.severity) == ("jsonrpc", "warning")


@pytest.mark.req("M-21")
@pytest.mark.parametrize(
    ("code", "data", "name"),
    [
        (-32002, {"reason": "resource_not_found"}, "resource_not_found"),
        (-32002, {"reason": "tool_not_found"}, "tool_not_found"),
        (-32002, {"uri": "a:b"}, "tool_not_found"),
        (-32602, {"reason": "tool_not_found"}, "tool_not_found"),
        (-32020, {"reason": "header_mismatch"}, "header_mismatch"),
        (-32010, {"reason": "busy"}, "rate_limited"),
        (-32602, {"reason": "of the application"}, "invalid_params"),
        (-32602, {"reason": ["invalid_cursor"]}, "invalid_params"),
        (-32602, ["invalid_cursor"], "invalid_params"),
        (1095, {"reason": "experimental_task_not_found"}, "experimental_task_not_found"),
        (1095, {"reason": "timeout"}, "experimental_task_not_found"),
        (17, {"reason": "timeout"}, None),
    ],
)
def test_the_reason_decides_which_entry_a_shared_code_has(
    code: int, data: Any, name: str | None
) -> None:
    entry = from_wire(code, "m", data).entry
    assert entry is (None if name is None else CATALOGUE.named(name))


@pytest.mark.req("M-21")
def test_a_reason_may_be_known_from_elsewhere() -> None:
    error = from_wire(-32002, "m", {"uri": "a:b"})
    error.reason = "resource_not_found"
    assert error.entry is CATALOGUE.named("resource_not_found")
    error.data = {"reason": "prompt_not_found"}
    assert error.entry is CATALOGUE.named("prompt_not_found")


def test_the_words_of_a_web_socket_that_was_closed_are_no_reason() -> None:
    error = ConnectionLostError("closed", data={"code": 1000, "reason": "timeout"})
    assert error.entry is CATALOGUE.named("transport_error")


@pytest.mark.req("F-27")
@pytest.mark.parametrize(
    ("cls", "message", "recoverable"),
    [
        (TransportError, "Transport error", True),
        (ConnectError, "Could not connect", True),
        (ConnectionLostError, "Connection lost", True),
        (ConnectionClosedError, "Connection closed", False),
        (FramingError, "Broken framing", False),
    ],
)
def test_a_transport_error_knows_whether_trying_again_can_help(
    cls: type[TransportError], message: str, recoverable: bool
) -> None:
    error = cls()
    assert (error.code, error.message, error.recoverable) == (-32008, message, recoverable)
    assert error.advice.endswith(".")


@pytest.mark.req("F-27")
def test_a_transport_error_takes_a_judgement_of_its_own() -> None:
    error = ConnectError(
        "the certificate has expired", recoverable=False, advice="Renew it.", data={"host": "a"}
    )
    assert says(error) == (ConnectError, -32008, "the certificate has expired", {"host": "a"})
    assert (error.recoverable, error.advice) == (False, "Renew it.")
    assert ConnectError.recoverable is True


@pytest.mark.req("F-09", "F-27")
@pytest.mark.parametrize(
    ("error", "kinds"),
    [
        (CallTimeoutError(), (RpcError, TimeoutError)),
        (ConnectionLostError(), (TransportError, ConnectionError)),
        (ConnectionClosedError(), (TransportError,)),
        (ServerError(), (RpcError,)),
        (IdsExhaustedError("reconnect"), (AccordError,)),
        (RegistrationError("no"), (AccordError,)),
    ],
)
def test_an_exception_can_be_caught_as_what_it_also_is(
    error: AccordError, kinds: tuple[type[Exception], ...]
) -> None:
    for kind in (*kinds, AccordError):
        with pytest.raises(kind) as caught:
            raise error
        assert caught.value is error


@pytest.mark.req("F-26")
def test_the_cause_of_an_error_is_kept() -> None:
    cause = OSError("refused")
    with pytest.raises(ConnectError) as caught:
        raise ConnectError("no route") from cause
    assert caught.value.__cause__ is cause


@pytest.mark.req("F-09", "F-26")
def test_an_rpc_error_is_told_as_it_was_raised() -> None:
    for error in (RpcError("no", code=4711, data={"a": 1}), InvalidParamsError("bad")):
        assert is_expected(error)
        assert to_wire(error, correlation_id="c") is error


@pytest.mark.req("F-26", "F-30")
@pytest.mark.parametrize("error", [ValueError("secret"), ConnectionLostError("db.internal:5432")])
def test_anything_else_is_told_as_an_internal_error_with_a_correlation_id_only(
    error: Exception,
) -> None:
    assert not is_expected(error)
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


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("größe 😀", "größe 😀"),
        ("one\nERROR two", "one\\nERROR two"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\u2028b\x85c", "a\\u2028b\\x85c"),
        ("x" * MAX_LOGGED_CHARACTERS, "x" * MAX_LOGGED_CHARACTERS),
        ("x" * (MAX_LOGGED_CHARACTERS + 1), "x" * MAX_LOGGED_CHARACTERS + "…"),
        (ValueError("what\n"), "what\\n"),
    ],
)
def test_text_from_outside_is_one_line_of_bounded_length(text: object, line: str) -> None:
    assert log_line(text) == line


@pytest.mark.req("F-30")
@pytest.mark.parametrize(
    "message",
    [
        b'{"jsonrpc":"2.0","method":"a\\nforged","id":null}',
        b'{"jsonrpc":"2.0","method":"a\\nforged"}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"a\\nforged"}}',
        b'{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"a\\nforged"}}',
    ],
)
async def test_nobody_forges_lines_of_the_log(
    message: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with (
        serve(Router(), "tcp://127.0.0.1:0") as server,
        attacking(server.url) as client,
    ):
        await client.send(message + b'\n{"jsonrpc":"2.0","method":"m","id":1}\n')
        await client.answers(1)
    assert caplog.records
    assert not any("\n" in record.getMessage() for record in caplog.records)
