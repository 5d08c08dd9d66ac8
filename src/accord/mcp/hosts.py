"""MCP host programs: their configuration files, and the server entries in them as JSON or TOML."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


def json_entry(table: str, name: str, entry: dict[str, Any]) -> str:
    """Return a JSON file that contains only this entry."""
    return pretty({table: {name: entry}}).decode()


def toml_entry(table: str, name: str, entry: dict[str, Any]) -> str:
    """Return the TOML table of the entry."""
    lines = [f"[{table}.{_toml_key(name)}]"]
    lines += [f"{_toml_key(key)} = {_toml_value(value)}" for key, value in entry.items()]
    return "\n".join(lines) + "\n"


def pretty(value: Any) -> bytes:
    """Return indented JSON."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _toml_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _toml_value(key)


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        members = (f"{_toml_key(key)} = {_toml_value(each)}" for key, each in value.items())
        return f"{{ {', '.join(members)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    # TOML 1.0: basic strings have the escapes of JSON, and DEL must be escaped too
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007F")


Scope: TypeAlias = Literal["user", "project"]
Entry: TypeAlias = dict[str, Any]


class Local(Struct, frozen=True):
    """A server that is started as a child process."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = {}


class Remote(Struct, frozen=True):
    """A server at a URL."""

    url: str
    headers: Mapping[str, str] = {}


Installed: TypeAlias = Local | Remote


class Host(Struct, frozen=True):
    """One MCP host program and its configuration file."""

    title: str
    user: Callable[[], Path]
    """Return the user's configuration file."""
    project: Path | None
    """Path of the configuration file inside a project folder, if the host has one."""
    table: str
    """Key of the file under which servers are listed by name."""
    entry: Callable[[Installed], Entry]
    afterwards: str
    """Instruction for the user, to make the host read the change."""

    def file(self, scope: Scope) -> Path | None:
        return self.user() if scope == "user" else self.project


def _settings(*parts: str) -> Path:
    """Return a path in the user's configuration folder on this system."""
    if sys.platform == "darwin":
        return Path.home().joinpath("Library", "Application Support", *parts)
    if sys.platform == "win32":
        return Path(os.environ["APPDATA"], *parts)
    root = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(root, *parts)


def _home(*parts: str) -> Callable[[], Path]:
    return lambda: Path.home().joinpath(*parts)


def _local(server: Local, **further: Any) -> Entry:
    entry: Entry = {**further, "command": server.command, "args": list(server.args)}
    return {**entry, "env": dict(server.env)} if server.env else entry


def _remote(server: Remote, member: str, *, headers: str = "headers", **further: Any) -> Entry:
    entry: Entry = {**further, member: server.url}
    return {**entry, headers: dict(server.headers)} if server.headers else entry


def _typed(server: Installed) -> Entry:
    """Return an entry with an explicit transport type."""
    if isinstance(server, Local):
        return _local(server, type="stdio")
    return _remote(server, "url", type="http")


def _plain(member: str, headers: str = "headers") -> Callable[[Installed], Entry]:
    """Return a function that makes entries without a transport type.

    A URL is stored under the key `member`.
    """

    def entry(server: Installed) -> Entry:
        if isinstance(server, Local):
            return _local(server)
        return _remote(server, member, headers=headers)

    return entry


def _bridged(server: Installed) -> Entry:
    """Return an entry for a host that only starts processes.

    A server at a URL is reached through mcp-remote.
    """
    if isinstance(server, Local):
        return _local(server)
    # mcp-remote splits header arguments at spaces, so header values are passed in the environment.
    env = {f"HEADER_{number}": value for number, value in enumerate(server.headers.values(), 1)}
    headers = [
        word
        for number, name in enumerate(server.headers, 1)
        for word in ("--header", f"{name}:${{HEADER_{number}}}")
    ]
    return _local(Local("npx", ("-y", "mcp-remote", server.url, *headers), env))


HOSTS: Final[dict[str, Host]] = {
    "claude-desktop": Host(
        title="Claude Desktop",
        user=lambda: _settings("Claude", "claude_desktop_config.json"),
        project=None,
        table="mcpServers",
        entry=_bridged,
        afterwards="Quit Claude Desktop and start it again.",
    ),
    "claude-code": Host(
        title="Claude Code",
        user=_home(".claude.json"),
        project=Path(".mcp.json"),
        table="mcpServers",
        entry=_typed,
        afterwards="Start Claude Code anew; /mcp shows its servers.",
    ),
    "cursor": Host(
        title="Cursor",
        user=_home(".cursor", "mcp.json"),
        project=Path(".cursor", "mcp.json"),
        table="mcpServers",
        entry=_plain("url"),
        afterwards="Enable the server in Cursor's settings, under MCP.",
    ),
    "vscode": Host(
        title="Visual Studio Code",
        user=lambda: _settings("Code", "User", "mcp.json"),
        project=Path(".vscode", "mcp.json"),
        table="servers",
        entry=_typed,
        afterwards="Start the server by MCP: List Servers in the command palette.",
    ),
    "gemini": Host(
        title="Gemini CLI",
        user=_home(".gemini", "settings.json"),
        project=Path(".gemini", "settings.json"),
        table="mcpServers",
        entry=_plain("httpUrl"),
        afterwards="Start gemini anew; /mcp shows its servers.",
    ),
    "windsurf": Host(
        title="Windsurf",
        user=_home(".codeium", "windsurf", "mcp_config.json"),
        project=None,
        table="mcpServers",
        entry=_plain("serverUrl"),
        afterwards="Press the refresh button of Windsurf's MCP toolbar.",
    ),
    "codex": Host(
        title="Codex",
        user=_home(".codex", "config.toml"),
        project=Path(".codex", "config.toml"),
        table="mcp_servers",
        entry=_plain("url", headers="http_headers"),
        afterwards="Start codex anew; /mcp shows its servers.",
    ),
}
