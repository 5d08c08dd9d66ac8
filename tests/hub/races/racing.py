"""A server that many use at once: where it is, and who may use it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from tests.app.served import Served, serving
from tests.hub.races.line import Line, lines, unique
from tests.store.cluster import Cluster

SECRET: Final = {"ACCORD_SECRET_KEY": "k" * 64}
FLAGS: Final = ("--rate-limit", "0", "--log-level", "warning")
PASSWORD: Final = "correct horse battery staple"


def faults_in(log: str) -> list[str]:
    """Lines that tell of faults of our own: the driver of the database logs stacks, too."""
    return [line for line in log.splitlines() if "Traceback" in line and '"accord' in line]


class Racing(Struct, frozen=True):
    """A server that runs, with a token of the administrator and of a session of theirs."""

    url: str
    database: str
    token: str
    session: str

    async def user(self) -> tuple[str, str]:
        """A new user, with a token of theirs."""
        name = unique("user")
        async with lines(self.url, self.session, 1) as (line,):
            given = {"username": name, "role": "User", "password": PASSWORD}
            made = await line.ask("POST", "/users", given)
            assert made.status == 201, made
            line.token = ""  # or the session of the administrator would end
            line.token = await signed_in(line, name, PASSWORD)
            token = await line.ask("POST", "/tokens", {"name": "t"})
            assert token.status == 201, token
            return name, token.json["token"]


async def signed_in(line: Line, name: str, password: str) -> str:
    """The token of a new login session."""
    session = await line.ask("POST", "/sessions", {"username": name, "password": password})
    assert session.status == 201, session
    token: str = session.json["token"]
    return token


async def racing_at(served: Served, database: str) -> Racing:
    """What is known of a server that was started with an empty database."""
    told = (served.data / "first-run.txt").read_text()
    password = re.search(r"password +(\S+)", told)
    assert password is not None
    async with lines(served.url, "", 1) as (line,):
        session = await signed_in(line, "admin", password[1])
    return Racing(served.url, database, served.token, session)


@asynccontextmanager
async def racing_server(
    data: Path, cluster: Cluster | None, *flags: str
) -> AsyncIterator[tuple[Served, Racing]]:
    """A server on PostgreSQL, or on SQLite where there is no cluster."""
    database = f"sqlite://{data}/accord.db" if cluster is None else cluster.database()
    further = ("--database", database, *flags) if cluster is not None else flags
    async with serving(data, *FLAGS, *further, env=SECRET) as served:
        yield served, await racing_at(served, database)
