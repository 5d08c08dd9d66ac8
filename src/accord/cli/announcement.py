"""What `accord serve` says once it is ready, and the first credentials of a new installation.

They are known to nobody else and cannot be asked for again: whatever becomes of the start, whoever
started it has them. On a terminal they are shown; else they are in a file that only they can read.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from shlex import quote
from types import TracebackType
from typing import Final

from accord import __version__
from accord.app.settings import Settings
from accord.app.system import MCP, REST
from accord.cli.output import print_error_line, print_json, print_line
from accord.operations.accounts.entities import FirstRun

FIRST_RUN_FILE: Final = "first-run.txt"


class Announcement:
    """Called with the URL once it is ready; a block around the start, which may fail."""

    def __init__(self, settings: Settings, first: FirstRun | None, *, as_json: bool) -> None:
        self._settings = settings
        self._first = first
        self._as_json = as_json
        self._file = Path(settings.data) / FIRST_RUN_FILE
        self._is_made = False

    def __enter__(self) -> Announcement:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Keep the credentials where nothing could be announced."""
        if self._first is None or self._is_made:
            return
        url = self._settings.public_url.rstrip("/") or self._settings.place
        _keep(self._file, _first_lines(self._first, url, self._settings))
        if not self._as_json:
            print_error_line(_where(self._file))

    def __call__(self, url: str) -> None:
        url = self._settings.public_url.rstrip("/") or url.rstrip("/")
        lines = [] if self._first is None else _first_lines(self._first, url, self._settings)
        self._is_made = True
        if lines and (self._as_json or not sys.stdout.isatty()):
            _keep(self._file, lines)
            lines = [_where(self._file)]
        if self._as_json:
            self._print_json(url)
            return
        print_line(f"Accord {__version__} is ready at {url} (press Ctrl-C to stop)")
        for line in lines:
            print_line(line)
        print_line(f"Open {url}/ and sign in")

    def _print_json(self, url: str) -> None:
        print_json(
            {
                "event": "ready",
                "version": __version__,
                "url": url,
                "mcp": f"{url}{MCP}",
                "data": self._settings.data,
                "first_run_file": None if self._first is None else str(self._file),
            }
        )


def _where(file: Path) -> str:
    return f"The administrator's password and a first token are in {file}"


def _keep(path: Path, lines: list[str]) -> None:
    """Write a file that nobody else can read."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write("\n".join(lines) + "\n")


def _first_lines(first: FirstRun, url: str, settings: Settings) -> list[str]:
    data = "" if settings.data == Settings().data else f" --data {quote(settings.data)}"
    return [
        "",
        "This is the first start. Keep these: nobody can ask for them again.",
        "",
        f"  administrator  {first.username}",
        f"  password       {first.password}",
        f"  token          {first.token}",
        "",
        "The token is for an assistant: it reads, and what it proposes waits until you accept it.",
        "Connect one, such as Claude Code:",
        "",
        f"  claude mcp add --transport http accord {url}{MCP} "
        f'--header "Authorization: Bearer {first.token}"',
        "",
        "or call it yourself:",
        "",
        f"  curl {url}{REST}/epics -H 'Authorization: Bearer {first.token}'",
        "",
        "A program that is to change things needs another token:",
        "",
        f"  accord token create --user {first.username} --name my-program "
        f"--scope read --scope write{data}",
        "",
    ]
