"""Accord's hub with all requirements of the corpus; prints its port, a token, and the
administrator's password.

python -m benchmarks.ours.hub_server DATA [DATABASE_URL]
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from msgspec import structs

from accord.app.runtime import Runtime, open_runtime
from accord.app.settings import Settings
from accord.app.system import System, open_system, prepare
from accord.operations.arguments import convert
from accord.operations.auth.users import FirstRun
from accord.operations.context import Caller
from accord.transports.serve import run_until_stopped
from benchmarks.hub.corpus import PER_STORY, requirements

T = TypeVar("T")

AT_ONCE: Final = 256


async def make(settings: Settings) -> FirstRun:
    """Fill a new database; who may do everything in it."""
    first = await prepare(settings)
    assert first is not None, "the database is not new"
    async with open_runtime(settings) as local:
        rows = await local.store.fetch("SELECT id FROM users")
        caller = Caller(
            user_id=rows[0]["id"],
            username=first.username,
            role="Administrator",
            via="local",
            face="cli",
        )
        await fill(local, caller)
        made = await local.run("create_token", user=first.username, name="benchmark")
    return structs.replace(first, token=made.result.token)


async def fill(local: Runtime, caller: Caller) -> None:
    async def create(name: str, **arguments: Any) -> Any:
        operation = local.runner.registry[name]
        return (await local.runner.run(operation, convert(operation, arguments), caller)).result

    epic = await create("create_epic", title="The product")
    texts = list(requirements())
    stories: list[Any] = []
    for several in _together(range(len(texts) // PER_STORY)):
        stories += await asyncio.gather(
            *(
                create("create_user_story", epic_id=epic.id, title=f"Story {number + 1}")
                for number in several
            )
        )
    for some in _together(texts):
        await asyncio.gather(
            *(
                create(
                    "create_requirement",
                    user_story_id=stories[(number - 1) // PER_STORY].id,
                    title=title,
                    description=description,
                )
                for number, title, description in some
            )
        )


def _together(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """What is sent at once, to be committed together and numbered in this order."""
    for start in range(0, len(values), AT_ONCE):
        yield values[start : start + AT_ONCE]


def main(data: str, database: str = "") -> None:
    settings = Settings(
        data=data,
        port=0,
        database=database,
        secret_key="0" * 64 if database else "",
        rate_limit=0,
        log_level="error",
    )
    first = asyncio.run(make(settings))

    def announce(system: System) -> None:
        print(urlsplit(system.url).port, flush=True)
        print(first.token, flush=True)
        print(first.password, flush=True)

    run_until_stopped(partial(open_system, settings), announce)


main(*sys.argv[1:])
