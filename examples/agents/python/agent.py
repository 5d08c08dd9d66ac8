"""An agent in the A2A format (0.3), with the standard library alone: it says things louder.

python agent.py 9000
"""

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

TASKS: dict[str, Any] = {}  # an agent that must not forget them has a database
CHANGED = threading.Condition()  # held by whoever looks at tasks
CARD = {
    "name": "shouter",
    "description": "Says things louder.",
    "version": "1.0.0",
    "protocolVersion": "0.3.0",
    "preferredTransport": "JSONRPC",
    "capabilities": {"streaming": False},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "shout", "name": "Shout", "description": "In capitals.", "tags": ["text"]}],
}


class FaultError(Exception):  # an error of JSON-RPC: its code, and what went wrong
    pass


def work(text: str) -> str:  # what this agent does: put your own here
    if text.startswith("slow"):
        time.sleep(2)
    return text.upper()


def run(task: Any, text: str) -> None:
    try:
        state, said = "completed", work(text)
    except Exception as error:
        state, said = "failed", str(error)
    parts = [{"kind": "text", "text": said}]
    message = {"kind": "message", "messageId": str(uuid4()), "role": "agent", "parts": parts}
    with CHANGED:
        if is_working(task):  # else it was cancelled meanwhile
            task["status"] = {"state": state, "message": message}
            if state == "completed":
                task["artifacts"] = [{"artifactId": str(uuid4()), "parts": parts}]
            CHANGED.notify_all()


def is_working(task: Any) -> bool:
    return bool(task["status"]["state"] == "working")


def send(params: Any) -> Any:
    message = params.get("message") or {}
    if not message.get("messageId") or not message.get("parts"):
        raise FaultError(-32602, "params.message needs a messageId and parts")
    if message.get("taskId"):  # this agent never asks back, so that no task can go on
        raise FaultError(-32001, "there is no such task")
    text = "\n".join(part["text"] for part in message["parts"] if part.get("kind") == "text")
    # The id follows from that of the message: one that comes again finds its task.
    id = str(uuid5(NAMESPACE_URL, message["messageId"]))
    if id not in TASKS:
        context = message.get("contextId") or str(uuid4())
        task = {"kind": "task", "id": id, "contextId": context, "status": {"state": "working"}}
        TASKS[id] = task
        threading.Thread(target=run, args=(task, text), daemon=True).start()
    if (params.get("configuration") or {}).get("blocking") is not False:
        CHANGED.wait_for(lambda: not is_working(TASKS[id]))
    return TASKS[id]


def find(params: Any, *, cancel: bool = False) -> Any:
    task = TASKS.get(params.get("id"))
    if task is None:
        raise FaultError(-32001, "there is no such task")
    if cancel and not is_working(task):
        raise FaultError(-32002, "the task is over")
    if cancel:
        task["status"] = {"state": "canceled"}
        CHANGED.notify_all()
    return task


def answer(body: bytes) -> dict[str, Any]:
    id = None
    try:
        match json.loads(body):
            case {"jsonrpc": "2.0", "method": str(method), **rest}:
                id, params = rest.get("id"), rest.get("params") or {}
            case _:
                raise FaultError(-32600, "this is no request of JSON-RPC 2.0")
        match method:
            case "message/send":
                result = send(params)
            case "tasks/get" | "tasks/cancel":
                result = find(params, cancel=method == "tasks/cancel")
            case _:
                raise FaultError(-32601, f"there is no method {method}")
        return {"jsonrpc": "2.0", "id": id, "result": result}
    except ValueError:
        code, message = -32700, "this is no JSON"
    except FaultError as error:
        code, message = error.args
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found = self.path == "/.well-known/agent-card.json"
        card = {**CARD, "url": f"http://{self.headers['Host']}/"}
        self.reply(json.dumps(card if found else {}), 200 if found else 404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with CHANGED:
            answered = json.dumps(answer(body))
        self.reply(answered)

    def reply(self, body: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
