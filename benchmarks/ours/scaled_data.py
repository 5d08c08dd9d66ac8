"""Makes the database that one worker and two are measured on: a requirement to read, an agent, a
workflow of so many steps. Prints the administrator's token.

    python -m benchmarks.ours.scaled_data DATA DATABASE_URL AGENT_PORT STEPS
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from accord.app.runtime import open_runtime
from accord.app.settings import Settings
from accord.app.system import prepare
from accord.operations.arguments import convert
from accord.operations.context import Caller
from benchmarks.scaled import KEY


async def make(settings: Settings, port: int, steps: int) -> str:
    first = await prepare(settings)
    assert first is not None, "the database is not new"
    async with open_runtime(settings) as local:
        [row] = await local.store.fetch("SELECT id FROM users")
        caller = Caller(
            user_id=row["id"],
            username=first.username,
            role="Administrator",
            via="local",
            face="cli",
        )

        async def do(name: str, /, **arguments: Any) -> Any:
            operation = local.runner.registry[name]
            return (await local.runner.run(operation, convert(operation, arguments), caller)).result

        epic = await do("create_epic", title="The product")
        story = await do("create_user_story", epic_id=epic.id, title="A story")
        text = "The system shall keep its logs for a year, and remove them afterwards."
        await do("create_requirement", user_story_id=story.id, title="Logs", description=text)
        url = f"http://127.0.0.1:{port}/"
        await do("create_agent", name="instant", url=url, wire="a2a-1.0", max_concurrency=256)
        each = {"type": "agent", "agent": "instant", "input": {"text": "${input.text}"}}
        named = [{"name": f"step-{number}", **each} for number in range(1, steps + 1)]
        await do("create_workflow", definition={"name": "steps", "steps": named})
        gate = {"name": "gate", "type": "wait", "until": "${input.until}"}
        await do("create_workflow", definition={"name": "backlog", "steps": [gate, *named]})
        token = await local.run("create_token", user=first.username, name="benchmark")
    return str(token.result.token)


def main(data: str, database: str, port: str, steps: str) -> None:
    settings = Settings(
        data=data, database=database, secret_key=KEY, allow_private_agents=True, log_level="error"
    )
    print(asyncio.run(make(settings, int(port), int(steps))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
