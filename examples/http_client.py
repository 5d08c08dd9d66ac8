"""Calls http_service.py, without an event loop of its own.

python http_client.py [URL]
"""

from __future__ import annotations

import sys

from msgspec import Struct

from accord import InvalidParamsError, RpcError
from accord.sync import connect


class Task(Struct):
    id: int
    title: str
    done: bool


def main(url: str) -> None:
    with connect(url) as service:
        task = service.call("tasks.add", {"title": "Write the examples"}, into=Task)
        print("added", task.title)
        service.call("tasks.add", {"title": "Read them"})
        service.call("tasks.finish", [task.id])
        for task in service.call("tasks.list", {"done": False}, into=list[Task]):
            print("to do:", task.title)
        try:
            service.call("tasks.finish", [99])
        except RpcError as error:
            print(error.code, error.message, error.data)
        try:
            service.call("tasks.add", {"title": 7})
        except InvalidParamsError as error:
            print(error.message)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000/rpc")
