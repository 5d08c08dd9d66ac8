"""A PostgreSQL of the tests' own: a private cluster in a temporary folder."""

from __future__ import annotations

import asyncio
import os
import pwd
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import asyncpg
import pytest

from tests.patience import PATIENCE as PATIENCE

OPTIONS = "-c listen_addresses='' -c max_connections=200"
FAST = "-c fsync=off -c full_page_writes=off"


class Administrator:
    """Runs statements, in threads, as whoever asks may be on an event loop. Its connection is kept:
    to make one takes as long as what it is asked for."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._runner: asyncio.Runner | None = None
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None

    def ask(self, statement: str) -> None:
        with ThreadPoolExecutor(1) as thread:
            thread.submit(self._run, statement).result()

    def close(self) -> None:
        """Until it is asked again; also where the program ends."""
        thread = threading.Thread(target=self._end)
        thread.start()
        thread.join()

    def _run(self, statement: str) -> None:
        if self._runner is None:
            self._runner = asyncio.Runner()
        self._runner.run(self._execute(statement))

    def _end(self) -> None:
        if self._runner is not None:
            self._runner.run(self._hang_up())
            self._runner.close()
        self._runner = self._connection = None

    async def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
        await asyncio.sleep(0)

    async def _execute(self, statement: str) -> None:
        try:
            if self._connection is not None:
                await self._connection.execute(statement, timeout=PATIENCE)
                return
        except (asyncpg.PostgresConnectionError, asyncpg.InterfaceError, OSError):
            pass  # the server was killed in between
        self._connection = await asyncpg.connect(self._url, timeout=PATIENCE)
        await self._connection.execute(statement, timeout=PATIENCE)


class Cluster:
    """A server that runs, with a new database for whoever wants one."""

    def __init__(self, folder: Path, programs: Path, user: str, *, durable: bool = False) -> None:
        self._folder = folder
        self._options = OPTIONS if durable else f"{OPTIONS} {FAST}"
        self._programs = programs
        self._user = user
        self._numbers = count(1)
        self._administrator = Administrator(self.url("postgres"))

    def make(self) -> None:
        data, sockets = self._folder / "data", self._folder / "sockets"
        self._run("initdb", "-D", str(data), "-A", "trust", "-U", "postgres", "--no-sync")
        sockets.mkdir()
        shutil.chown(sockets, self._user)

    def start(self) -> None:
        data, sockets = self._folder / "data", self._folder / "sockets"
        log = self._folder / "data" / "log"
        options = f"{self._options} -k {sockets}"
        self._run("pg_ctl", "-D", str(data), "-l", str(log), "-o", options, "-w", "start")

    @property
    def pid(self) -> int:
        """Of the process that starts all others."""
        return int((self._folder / "data" / "postmaster.pid").read_text().split()[0])

    def stop(self) -> None:
        """As if it crashed: it writes nothing more."""
        self._administrator.close()
        self._run("pg_ctl", "-D", str(self._folder / "data"), "-m", "immediate", "-w", "stop")

    def database(self, name: str = "", *, template: str = "template0") -> str:
        """The URL of a new database: an empty one, or a copy of another that nobody uses."""
        name = name or f"test_{next(self._numbers)}"
        self._ask(f'CREATE DATABASE "{name}" TEMPLATE "{template}"{self._by_files}')
        return self.url(name)

    @cached_property
    def _by_files(self) -> str:
        """Has a database copied by its files, where the server can: that takes two thirds."""
        asked = [str(self._programs / "postgres"), "--version"]
        told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        major = re.search(r"\) (\d+)", told)
        return " STRATEGY FILE_COPY" if major and int(major[1]) >= 15 else ""

    def drop(self, url: str) -> None:
        """Remove a database: thousands of them take minutes to remove with the cluster."""
        name = urlsplit(url).path.removeprefix("/")
        self._ask(f'DROP DATABASE "{name}" WITH (FORCE)')

    def url(self, name: str) -> str:
        query = urlencode({"host": self._folder / "sockets", "port": 5432})
        return f"postgresql://postgres@/{name}?{query}"

    def _ask(self, statement: str) -> None:
        self._administrator.ask(statement)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._programs / program, *arguments],
            user=self._user,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # a pipe would stay open as long as the server runs
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{program} failed with {done.returncode}"


@contextmanager
def running_cluster(*, durable: bool = False) -> Iterator[Cluster]:
    """A cluster for as long as the block runs; what is committed there survives a power cut only
    if it is `durable`, which takes its time."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed: see tools/install-programs")
    # PostgreSQL refuses to be run by root.
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    folder = Path(tempfile.mkdtemp(prefix="accord-postgres-"))
    try:
        shutil.chown(folder, user)
        cluster = Cluster(folder, programs, user, durable=durable)
        cluster.make()
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(folder)


def _programs() -> Path | None:
    """Where `initdb` is: Debian keeps it off the PATH."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return folders[-1].parent if folders else None
