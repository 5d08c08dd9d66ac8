"""The programs on this machine that use MCP servers: which know of Accord, and does it answer.

Only what names Accord is looked at, and of that never a header, a token or the environment.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from accord.app.system import MCP
from accord.cli.checkup.asking import Answer, ask
from accord.cli.checkup.finding import Finding, ok, problem, unseen, warning
from accord.cli.exits import UsageError
from accord.cli.mcp_settings_file import SettingsFile
from accord.mcp.hosts import HOSTS, Host, Scope
from accord.transports.urls import shown

SCOPES: Final[tuple[Scope, ...]] = ("user", "project")
INSTALL: Final = f"accord mcp install http://127.0.0.1:8000{MCP} --client NAME --token …"
_URL: Final = re.compile(r"https?://\S+")
_MEMBERS: Final = ("url", "httpUrl", "serverUrl")


def look() -> Iterator[Finding]:
    found = [finding for host in HOSTS.values() for finding in _of(host)]
    yield from found
    if not found:
        yield unseen("clients", "none on this machine knows of Accord", f"tell one: {INSTALL}")


def _of(host: Host) -> Iterator[Finding]:
    files = [path for scope in SCOPES if (path := host.file(scope)) is not None]
    # In the folder of the user both are the same file.
    for path in {path.resolve(): path for path in files if path.exists()}.values():
        try:
            entries = SettingsFile(path).entries(host.table)
        except UsageError:
            yield unseen(host.title, f"{path} cannot be read as plain JSON or TOML")
            continue
        for name, entry in entries.items():
            if isinstance(entry, dict) and (finding := _entry(host, name, entry)):
                yield finding


def _entry(host: Host, name: str, entry: dict[str, Any]) -> Finding | None:
    """What is said of an entry; None for one that is not about Accord."""
    words = [str(entry.get("command", "")), *map(str, _listed(entry.get("args")))]
    url = _url(entry, words)
    if url is not None and (MCP in url or "accord" in name.lower()):
        return _remote(host, name, url)
    if any(Path(word).name == "accord" for word in words) and "mcp" in words:
        return _local(host, name, words)
    return None


def _remote(host: Host, name: str, url: str) -> Finding:
    answer = ask(url)
    if isinstance(answer, Answer):
        if answer.status in (404, 410):
            detail = f"{name}: there is nothing at {_plain(url)}"
            return problem(host.title, detail, f"the address ends with {MCP}")
        return ok(host.title, f"{name}: {_plain(url)} answers")
    detail = f"{name}: {_plain(url)} does not answer ({answer})"
    return warning(host.title, detail, "start that server, or correct the address")


def _local(host: Host, name: str, words: list[str]) -> Finding:
    command = words[0]
    files = [word.partition(".py:")[0] for word in words if ".py" in word]
    gone = next((file for file in files if not Path(file).with_suffix(".py").exists()), None)
    if shutil.which(command) is None:
        return problem(host.title, f"{name}: there is no program {command}", "install it again")
    if gone is not None:
        return problem(host.title, f"{name}: there is no file {gone}", "correct the path")
    return ok(host.title, f"{name}: is started by {command}")


def _url(entry: dict[str, Any], words: list[str]) -> str | None:
    given = [str(entry[member]) for member in _MEMBERS if member in entry]
    return next((text for text in (*given, *words) if _URL.fullmatch(text)), None)


def _plain(url: str) -> str:
    """Without what may be a secret."""
    return shown(url.partition("?")[0])


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
