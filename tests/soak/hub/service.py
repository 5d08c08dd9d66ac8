"""The system as a process of its own that tells what it holds: `python -m tests.soak.hub.service
DATA [DATABASE]`. It answers each line on stdin by one on stdout."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import msgspec
from msgspec import Struct

from accord.app.runtime import open_runtime
from accord.app.settings import Settings
from accord.app.system import System, open_system, prepare
from accord.mcp.server.http.endpoint import McpEndpoint
from accord.operations.logs import configure_logging
from accord.transports.serve import run_until_stopped
from tests.soak.measures import Held, held


class Started(Struct, frozen=True):
    """Where the system is, and what the administrator begins with."""

    url: str
    token: str
    password: str


class Measured(Struct, frozen=True):
    """What the process holds, and what should be nothing when nobody calls."""

    held: Held
    left: dict[str, int]


def settings_for(data: str, database: str) -> Settings:
    """As by default, with limits that nobody here reaches."""
    key = "k" * 64 if database else ""
    return Settings(
        data=data,
        database=database,
        secret_key=key,
        port=0,
        rate_limit=100_000_000,
        rate_burst=10_000_000,
    )


def measured(system: System) -> Measured:
    endpoint = _endpoint(system)
    return Measured(
        held(),
        {
            "connections": system.listener.connections,
            "requests": endpoint.in_flight,
            "sessions": len(endpoint.sessions),
            "streams": endpoint.pulse.streams,
            "listeners": len(endpoint.server.listeners),
        },
    )


def forget_sessions(system: System) -> None:
    """Let half an hour go by for the sessions of clients that are gone."""
    endpoint = _endpoint(system)
    endpoint.sessions.sweep(endpoint.now() + 3_600)


def _endpoint(system: System) -> Any:
    """What speaks MCP: no part of the system has to know it but the one that made it."""
    return next(app for _, app in system.site._apps if isinstance(app, McpEndpoint))


async def _token(settings: Settings, user: str) -> str:
    """A token that may do everything."""
    async with open_runtime(settings) as local:
        made = await local.run("create_token", user=user, name="everything")
    return str(made.result.token)


def main() -> None:
    settings = settings_for(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")
    configure_logging("info", "json")
    first = asyncio.run(prepare(settings))
    assert first is not None

    token = asyncio.run(_token(settings, first.username))

    def on_listen(system: System) -> None:
        _say(Started(system.url, token, first.password))

        def answer() -> None:
            asked = sys.stdin.readline().strip()
            if asked == "forget":
                forget_sessions(system)
            if asked:
                _say(measured(system))
            else:
                asyncio.get_running_loop().remove_reader(sys.stdin)

        asyncio.get_running_loop().add_reader(sys.stdin, answer)

    run_until_stopped(lambda: open_system(settings), on_listen)


def _say(value: Any) -> None:
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
