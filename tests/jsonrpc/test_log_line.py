"""What a log is told of what came from outside."""

from __future__ import annotations

import logging

import pytest

from accord import Router, serve
from accord.jsonrpc.log_line import LONGEST, log_line
from tests.hostile.attacker import attacking


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("größe 😀", "größe 😀"),
        ("one\nERROR two", "one\\nERROR two"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\u2028b\x85c", "a\\u2028b\\x85c"),
        ("x" * LONGEST, "x" * LONGEST),
        ("x" * (LONGEST + 1), "x" * LONGEST + "…"),
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
