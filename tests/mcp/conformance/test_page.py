"""The page about conformance says what is run."""

from __future__ import annotations

import re
from pathlib import Path

from tests.mcp.conformance import test_client, test_server

PAGE = Path(__file__).parents[3] / "docs" / "mcp" / "conformance.md"


def test_the_page_has_the_number_of_checks_of_each_leg() -> None:
    told = re.findall(
        r"^\| (server|client), .* \| (\d+) \| 0 \| 0 \|$", PAGE.read_text(), re.MULTILINE
    )
    servers = [("server", str(leg[-1])) for leg in test_server.LEGS if leg[0] == "own"]
    assert told == servers + [("client", str(leg[-1])) for leg in test_client.LEGS]
