"""A to-do list over HTTP: typed parameters, typed results, errors of its own.

python http_service.py [URL]
"""

from __future__ import annotations

import sys
from typing import Annotated

from msgspec import Meta, Struct

from accord import Router, RpcError, run

NOT_FOUND = 404

router = Router()


class Task(Struct):
    """What is stored, and what callers get."""

    id: int
    title: str
    done: bool = False


tasks: dict[int, Task] = {}


@router.method("tasks.add")
def add(title: Annotated[str, Meta(min_length=1, max_length=80)]) -> Task:
    task = Task(len(tasks) + 1, title)
    tasks[task.id] = task
    return task


@router.method("tasks.finish")
def finish(id: int) -> Task:
    if id not in tasks:
        raise RpcError(f"there is no task {id}", code=NOT_FOUND, data={"id": id})
    tasks[id].done = True
    return tasks[id]


@router.method("tasks.list")
def list_tasks(*, done: bool | None = None) -> list[Task]:
    return [task for task in tasks.values() if done is None or task.done is done]


if __name__ == "__main__":
    url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000/rpc"
    run(router, url, on_listen=lambda server: print(f"tasks at {server.url}", flush=True))
