"""What somebody pastes into a program to connect it to the hub. Pure."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from accord.mcp.host_entries import json_entry, toml_entry
from accord.mcp.hosts import HOSTS, Remote

NAME: Final = "accord"
"""What programs call the hub."""
MCP_PATH: Final = "/api/v1/mcp"
REST_PATH: Final = "/api/v1"
FILES: Final = {
    "claude-desktop": "Put this into claude_desktop_config.json: Settings, Developer, Edit Config. "
    "It needs Node.js.",
    "cursor": "Put this into ~/.cursor/mcp.json, or into .cursor/mcp.json of a project.",
    "vscode": "Put this into .vscode/mcp.json of a project, or open your own by MCP: Open User "
    "Configuration.",
    "codex": "Put this into ~/.codex/config.toml.",
    "gemini": "Put this into ~/.gemini/settings.json, or into .gemini/settings.json of a project.",
    "windsurf": "Put this into ~/.codeium/windsurf/mcp_config.json.",
}
"""Where each program has its servers from, for those that are told by a file."""


class Way(Struct, frozen=True):
    """One program, and what to paste where."""

    key: str
    title: str
    where: str
    text: str


def ways(url: str, token: str) -> tuple[Way, ...]:
    """For each program that is known; `url` is where people reach the system."""
    return (
        _claude_code(url, token),
        *(_file(key, url, token) for key in FILES),
        Way(
            "curl",
            "curl and other programs",
            "Run this in a terminal: it lists epics over REST.",
            f"curl {url}{REST_PATH}/epics \\\n  -H 'Authorization: Bearer {token}'",
        ),
    )


def _claude_code(url: str, token: str) -> Way:
    return Way(
        "claude-code",
        HOSTS["claude-code"].title,
        "Run this in a terminal, in the folder of your project.",
        f"claude mcp add --transport http {NAME} {url}{MCP_PATH} \\\n"
        f'  --header "Authorization: Bearer {token}"',
    )


def _file(key: str, url: str, token: str) -> Way:
    host = HOSTS[key]
    entry = host.entry(Remote(f"{url}{MCP_PATH}", {"Authorization": f"Bearer {token}"}))
    write = toml_entry if host.table == "mcp_servers" else json_entry
    return Way(key, host.title, FILES[key], write(host.table, NAME, entry).strip())
