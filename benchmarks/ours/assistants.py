"""Makes a database with tokens for many assistants; prints the administrator's token, then theirs,
as a JSON list.

    python -m benchmarks.ours.assistants DATA DATABASE_URL TOKENS
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Final

from accord.app.runtime import open_runtime
from accord.app.settings import Settings
from accord.app.system import prepare
from benchmarks.scaled import KEY

PER_OWNER: Final = 50


async def make(settings: Settings, count: int) -> list[str]:
    first = await prepare(settings)
    assert first is not None, "the database is not new"
    async with open_runtime(settings) as local:
        own = await local.run("create_token", user=first.username, name="benchmark")
        tokens = [own.result.token]
        for number in range(count):
            owner = f"owner-{number // PER_OWNER}"
            if number % PER_OWNER == 0:
                await local.run("create_user", username=owner)
            made = await local.run("create_token", user=owner, name=f"assistant {number}")
            tokens.append(made.result.token)
    return tokens


def main(data: str, database: str, count: str) -> None:
    settings = Settings(data=data, database=database, secret_key=KEY, log_level="error")
    print(json.dumps(asyncio.run(make(settings, int(count)))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
