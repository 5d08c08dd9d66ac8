"""The library says nothing on stderr unless a program wants to know."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, logging
import {module}

logging.getLogger("{module}").warning("seen by nobody")
logging.getLogger("accord.jsonrpc").error("seen by nobody either")
"""


@pytest.mark.req("F-26")
@pytest.mark.parametrize("module", ["accord.jsonrpc", "accord.mcp", "accord.transports.http"])
def test_without_a_handler_nothing_is_printed(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(module=module)],
        capture_output=True,
        check=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_a_program_that_configures_logging_sees_everything() -> None:
    program = "import logging; logging.basicConfig()" + PROGRAM.format(module="accord")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert done.stderr == (
        "WARNING:accord:seen by nobody\nERROR:accord.jsonrpc:seen by nobody either\n"
    )
