"""What people paste into their programs, and what programs are called."""

from __future__ import annotations

import json
import tomllib

import pytest

from accord.web.formatting import program_name
from accord.web.pages.tokens import connection_recipes

pytestmark = pytest.mark.req("H-21")

URL = "https://hub.example"
TOKEN = "accord_pat_abc"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
LINUX = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
APPLE = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) "


def test_each_program_gets_what_it_reads() -> None:
    texts = {way.key: way.text for way in connection_recipes(URL, TOKEN)}
    mcp = f"{URL}/api/v1/mcp"
    assert texts.pop("claude-code") == (
        f"claude mcp add --transport http accord {mcp} \\\n"
        f'  --header "Authorization: Bearer {TOKEN}"'
    )
    assert texts.pop("curl") == f"curl {URL}/api/v1/epics \\\n  -H 'Authorization: Bearer {TOKEN}'"
    assert tomllib.loads(texts.pop("codex")) == {
        "mcp_servers": {"accord": {"url": mcp, "http_headers": HEADERS}}
    }
    assert {key: json.loads(text) for key, text in texts.items()} == {
        "claude-desktop": {
            "mcpServers": {
                "accord": {
                    "command": "npx",
                    "args": ["-y", "mcp-remote", mcp, "--header", "Authorization:${HEADER_1}"],
                    "env": {"HEADER_1": f"Bearer {TOKEN}"},
                }
            }
        },
        "cursor": {"mcpServers": {"accord": {"url": mcp, "headers": HEADERS}}},
        "vscode": {"servers": {"accord": {"type": "http", "url": mcp, "headers": HEADERS}}},
        "gemini": {"mcpServers": {"accord": {"httpUrl": mcp, "headers": HEADERS}}},
        "windsurf": {"mcpServers": {"accord": {"serverUrl": mcp, "headers": HEADERS}}},
    }


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"{LINUX}Chrome/156.0.0.0 Safari/537.36", "Chrome 156 on Linux"),
        (f"{LINUX}Chrome/156.0.0.0 Safari/537.36 Edg/156.0.1.2", "Edge 156 on Linux"),
        (f"{APPLE}Version/20.1 Safari/605.1.15", "Safari 20 on macOS"),
        ("Mozilla/5.0 (Windows NT 10.0; rv:150.0) Gecko/20100101 Firefox/150.0", None),
        ("Mozilla/5.0 (<script>)", "Mozilla/5.0 (<script>)"),
        ("claude-code/2.1 (cli)", "claude-code/2.1 (cli)"),
        ("", ""),
    ],
)
def test_browsers_are_called_by_their_names_and_programs_as_they_say(
    text: str, name: str | None
) -> None:
    assert program_name(text) == (name if name is not None else "Firefox 150 on Windows")
