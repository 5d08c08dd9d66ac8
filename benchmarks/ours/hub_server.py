"""Accord's hub with all requirements of the corpus; prints its port, then a token.

python -m benchmarks.ours.hub_server DATA [DATABASE_URL]
"""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from accord.app.local import Local, open_local
from accord.app.settings import Settings
from accord.app.system import System, open_system, prepare
from accord.operations.arguments import convert
from accord.operations.caller import Caller
from accord.transports.serve import run_until_stopped
from benchmarks.hub.corpus import PER_STORY, requirements


async def make(settings: Settings) -> str:
    """Fill a new database; the administrator's token."""
    first = await prepare(settings)
    assert first is not None, "the database is not new"
    async with open_local(settings) as local:
        rows = await local.store.fetch("SELECT id FROM users")
        caller = Caller(
            user_id=rows[0]["id"],
            username=first.username,
            role="Administrator",
            via="local",
            face="cli",
        )
        await fill(local, caller)
    return first.token


async def fill(local: Local, caller: Caller) -> None:
    async def create(name: str, **arguments: Any) -> Any:
        operation = local.runner.registry[name]
        return (await local.runner.run(operation, convert(operation, arguments), caller)).result

    await create("create_epic", title="The product")
    waiting: list[Any] = []
    story: Any = None
    for number, title, description in requirements():
        if number % PER_STORY == 1:
            await asyncio.gather(*waiting)
            waiting.clear()
            story = await create(
                "create_user_story", epic_id="EP-001", title=f"Story {number // PER_STORY + 1}"
            )
        waiting.append(
            create(
                "create_requirement",
                user_story_id=story.reference_id,
                title=title,
                description=description,
            )
        )
    await asyncio.gather(*waiting)


def main(data: str, database: str = "") -> None:
    settings = Settings(
        data=data,
        port=0,
        database=database,
        secret_key="0" * 64 if database else "",
        rate_limit=0,
        log_level="error",
    )
    token = asyncio.run(make(settings))

    def announce(system: System) -> None:
        print(urlsplit(system.url).port, flush=True)
        print(token, flush=True)

    run_until_stopped(partial(open_system, settings), announce)


main(*sys.argv[1:])
