"""pg_dump and pg_restore: found, of a version that fits, and run without telling anybody the
password, which stands in the environment and not in the command line."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from accord.app.keeping.errors import KeepingError

DEBIAN: Final = "/usr/lib/postgresql/{major}/bin/{program}"
"""Where Debian and Ubuntu keep the programs of each version."""
MAX_SAID: Final = 500
"""How much of what a program complains about is told."""

_VERSION: Final = re.compile(r"\(PostgreSQL\) (\d+)")


async def dump(url: str, target: Path, *, schema: str, snapshot: str, major: int) -> None:
    """Write what a schema held when `snapshot` was taken, in the custom format of pg_dump. Raises
    KeepingError."""
    await _run(
        _program("pg_dump", major),
        url,
        *("--format=custom", "--compress=0", "--no-owner", "--no-privileges"),
        *(f"--schema={_quoted(schema)}", f"--snapshot={snapshot}", f"--file={target}"),
    )


async def load(url: str, source: Path, *, schema: str, major: int) -> None:
    """Bring what was dumped into a schema that has none of it: all, or nothing. Raises
    KeepingError."""
    await _run(
        _program("pg_restore", major),
        url,
        *("--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"),
        *(f"--schema={schema}", str(source)),
    )


def _program(name: str, major: int) -> str:
    """A program that can work with a server of this version. Raises KeepingError."""
    advice = f"install it (Debian and Ubuntu: apt install postgresql-client-{major})"
    exact = DEBIAN.format(major=major, program=name)
    found = exact if os.access(exact, os.X_OK) else shutil.which(name)
    if found is None:
        raise KeepingError(f"{name} {major} or newer is needed, and is not there: {advice}")
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
    version = _VERSION.search(said.stdout)
    if version is None or int(version[1]) < major:
        has = version[1] if version else "unknown"
        raise KeepingError(
            f"the database is PostgreSQL {major}, and {found} is of version {has}: {advice}"
        )
    return found


async def _run(program: str, url: str, *arguments: str) -> None:
    bare, password = _without_password(url)
    process = await asyncio.create_subprocess_exec(
        *(program, "--no-password", f"--dbname={bare}", *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PGPASSWORD": password} if password else None,
    )
    try:
        _, said = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        last = " ".join(said.decode(errors="replace").split())[-MAX_SAID:]
        raise KeepingError(f"{Path(program).name} failed: {last or process.returncode}")


def _without_password(url: str) -> tuple[str, str]:
    """A URL as everybody may see it, and the password that was in it."""
    parts = urlsplit(url)
    who, _, where = parts.netloc.rpartition("@")
    user, _, password = who.partition(":")
    query = parse_qsl(parts.query, keep_blank_values=True)
    password = unquote(password) or dict(query).get("password", "")
    kept = urlencode(
        [(name, value) for name, value in query if name != "password"], quote_via=quote
    )
    netloc = f"{user}@{where}" if who else where
    return f"postgresql://{netloc}{parts.path}" + (f"?{kept}" if kept else ""), password


def _quoted(schema: str) -> str:
    """A name as a pattern of pg_dump that means no other."""
    return '"' + schema.replace('"', '""') + '"'
