"""An agent that keeps a ledger: every message that it got and every effect that it had is a line in
a file of its own, on the disk before anybody hears of it. It speaks A2A 0.3, and nothing of it
comes from Accord.

    python -m chaos.agent LEDGER PORT [--forget]

A message that comes again finds the task that it began. What was begun when the agent was killed is
gone on with when it is started again; with --forget it knows nothing of it any more. The ledger
keeps all of it either way. The first messages of a text fail, as many as they say in `fails`.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from uuid import uuid4
from zlib import crc32

UNKNOWN_TASK: Final = -32001
OVER: Final = -32002

CARD: Final = {
    "name": "ledger",
    "description": "Writes down what it is asked for.",
    "version": "1.0.0",
    "protocolVersion": "0.3.0",
    "preferredTransport": "JSONRPC",
    "capabilities": {"streaming": False},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "note", "name": "Note", "description": "Notes it.", "tags": ["text"]}],
}


class FaultError(Exception):
    """An error of JSON-RPC: its code, and what went wrong."""


class Book:
    """The ledger, as whoever writes it has it."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def write(self, kind: str, **more: Any) -> None:
        line = json.dumps({"kind": kind, "at": time.time(), **more}) + "\n"
        os.write(self._file, line.encode())
        os.fsync(self._file)


class Agent:
    """Its tasks, by the ids of the messages that began them and by their own."""

    def __init__(self, path: Path, *, forget: bool) -> None:
        before = list(_lines(path)) if path.exists() else []
        self._lock = threading.Lock()
        self._book = Book(path)
        self._by_message: dict[str, dict[str, Any]] = {}
        self._tasks: dict[str, dict[str, Any]] = {}
        self._asked: dict[str, list[str]] = {}
        """By text: the ids of its messages. It is never forgotten, so that a message that fails, or
        does not, always ends in the same way."""
        for line in before:
            self._count(line)
        self._book.write("started", forgets=forget)
        if not forget:
            self._remember(before)

    def _remember(self, lines: list[dict[str, Any]]) -> None:
        over = {line["task"]: line["kind"] for line in lines if line["kind"] in _STATES}
        for line in lines:
            if line["kind"] != "received":
                continue
            task = self._begin(line)
            state = over.get(task["id"])
            if state is None:
                self._work(task, line)
            else:
                _settle(task, _STATES[state])

    def send(self, request: Any, params: dict[str, Any]) -> dict[str, Any]:
        message = params["message"]
        id, more = message["messageId"], message.get("metadata") or {}
        with self._lock:
            if id in self._by_message:
                self._book.write("repeated", message=id, request=request)
                return _shown(self._by_message[id])
            text = "".join(part["text"] for part in message["parts"] if part["kind"] == "text")
            line = {
                "message": id,
                "request": request,
                "task": str(uuid4()),
                "text": text,
                "delay": float(more.get("delay", 0)),
                "fails": int(more.get("fails", 0)),
            }
            self._book.write("received", **line)
            self._count({"kind": "received", **line})
            task = self._begin(line)
            self._work(task, line)
            return _shown(task)

    def get(self, params: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            return _shown(self._find(params))

    def cancel(self, params: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            task = self._find(params)
            if task["state"] != "working":
                raise FaultError(OVER, "the task is over")
            self._book.write("cancelled", message=task["message"], task=task["id"])
            _settle(task, "canceled")
            return _shown(task)

    def told(self, shown: dict[str, Any]) -> None:
        """Somebody has heard that a task is done."""
        if shown["status"]["state"] == "completed":
            with self._lock:
                self._book.write("told", task=shown["id"])

    def _find(self, params: dict[str, Any]) -> dict[str, Any]:
        task = self._tasks.get(params.get("id", ""))
        if task is None:
            self._book.write("unknown", task=params.get("id"))
            raise FaultError(UNKNOWN_TASK, "there is no such task")
        return task

    def _begin(self, line: dict[str, Any]) -> dict[str, Any]:
        task = {"id": line["task"], "message": line["message"], "text": line["text"]}
        task["state"] = "working"
        self._tasks[task["id"]] = self._by_message[task["message"]] = task
        return task

    def _count(self, line: dict[str, Any]) -> None:
        asked = self._asked.setdefault(line.get("text", ""), [])
        if line["kind"] == "received" and line["message"] not in asked:
            asked.append(line["message"])

    def _work(self, task: dict[str, Any], line: dict[str, Any]) -> None:
        is_failing = task["message"] in self._asked[task["text"]][: line.get("fails", 0)]
        end = self._failure if is_failing else self._effect
        timer = threading.Timer(line["delay"], end, (task,))
        timer.daemon = True
        timer.start()

    def _effect(self, task: dict[str, Any]) -> None:
        with self._lock:
            if task["state"] == "working":
                told = {key: task[key] for key in ("message", "text")}
                self._book.write("effect", task=task["id"], **told)
                _settle(task, "completed")

    def _failure(self, task: dict[str, Any]) -> None:
        with self._lock:
            if task["state"] == "working":
                self._book.write("failed", task=task["id"], message=task["message"])
                _settle(task, "failed")


_STATES: Final = {"effect": "completed", "cancelled": "canceled", "failed": "failed"}


def _settle(task: dict[str, Any], state: str) -> None:
    task["state"] = state


def _shown(task: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "kind": "task",
        "id": task["id"],
        "contextId": f"context-{task['id']}",
        "status": {"state": task["state"]},
    }
    if task["state"] == "completed":
        parts = [{"kind": "text", "text": answer_to(task["text"])}]
        shown["artifacts"] = [{"artifactId": "answer", "parts": parts}]
    return shown


def answer_to(text: str) -> str:
    """What the agent says to a text."""
    return f"<{text}>"


def lateness(message: str) -> float:
    """How many seconds the answer to a message takes: whoever is killed meanwhile cannot know what
    became of it."""
    return crc32(message.encode()) % 4 * 0.03


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().splitlines():
        yield json.loads(line)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    agent: Agent

    def do_GET(self) -> None:
        self._reply({**CARD, "url": f"http://{self.headers['Host']}/"})

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        result: dict[str, Any] | None = None
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            result = answer["result"] = self._call(request)
        except FaultError as error:
            answer["error"] = {"code": error.args[0], "message": error.args[1]}
        self._reply(answer)
        if result is not None:
            self.agent.told(result)

    def _call(self, request: dict[str, Any]) -> dict[str, Any]:
        params = request["params"]
        match request["method"]:
            case "message/send":
                begun = self.agent.send(request["id"], params)
                time.sleep(lateness(params["message"]["messageId"]))
                return begun
            case "tasks/get":
                return self.agent.get(params)
            case "tasks/cancel":
                return self.agent.cancel(params)
            case method:
                raise FaultError(-32601, f"there is no method {method}")

    def _reply(self, value: dict[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Its ledger is log enough."""


class Server(ThreadingHTTPServer):
    """Takes connections as fast as they come."""

    daemon_threads = True
    request_queue_size = 128


def main() -> None:
    path, port = Path(sys.argv[1]), int(sys.argv[2])
    Handler.agent = Agent(path, forget="--forget" in sys.argv[3:])
    server = Server(("127.0.0.1", port), Handler)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
