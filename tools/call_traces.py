"""Follow one call through the code: the files of `accord` that run for it, in order.

A change of file is a Python call whose function lies in another file than the one called before.
The server runs in a process of its own under `sys.setprofile`, which counts Python calls only
while a request is served. `python tools/call_traces.py --serve …` is that process.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

ROUNDS: Final = 5
WARM_UP: Final = 2
PAUSE_SECONDS: Final = 0.1
"""How long the server may take to see the switch."""
TIMEOUT_SECONDS: Final = 60.0
_VERSION: Final = "2025-11-25"


class Trace(NamedTuple):
    """The files that one call ran through, and how often control passed from one to another."""

    files: list[str]
    changes: int


class Call(NamedTuple):
    """A call that is followed: its title, the server that it needs, and what sends it."""

    title: str
    server: str
    send: Callable[[Client, int], None]


def trace(call: Call, root: Path) -> Trace:
    """Serve from the source below `root`, make a call, and return the smallest of five traces."""
    with (
        tempfile.TemporaryDirectory(prefix="accord-trace-") as folder,
        _server(call.server, root, Path(folder)) as (url, token),
        closing(Client(url, token)) as client,
    ):
        found = [
            _traced(Path(folder), partial(call.send, client, number))
            for number in range(WARM_UP + ROUNDS)
        ]
    best = min(found[WARM_UP:], key=lambda each: (len(set(each)), len(each)))
    return Trace(sorted(set(best)), len(best) - 1)


def _traced(folder: Path, send: Callable[[], None]) -> list[str]:
    """Return the files that the server recorded while something was sent."""
    switch, recorded = folder / "traced", folder / "calls.json"
    switch.touch()
    time.sleep(PAUSE_SECONDS)
    send()
    switch.unlink()
    while not recorded.exists():
        time.sleep(PAUSE_SECONDS)
    files: list[str] = json.loads(recorded.read_text())
    recorded.unlink()
    time.sleep(PAUSE_SECONDS)
    return files


class Client:
    """One connection to the traced server, with the MCP session that it opens on demand."""

    def __init__(self, url: str, token: str) -> None:
        address = urlsplit(url)
        self._connection = HTTPConnection(str(address.hostname), int(address.port or 80))
        self._headers = {"authorization": f"Bearer {token}"} if token else {}
        self._session = ""

    def close(self) -> None:
        self._connection.close()

    def post(self, path: str, body: object, **headers: str) -> Mapping[str, str]:
        """Send JSON, and return the headers of the answer.

        Raise RuntimeError if it is refused or, in JSON-RPC, an error.
        """
        sent = {"content-type": "application/json", **self._headers}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request("POST", path, json.dumps(body), sent)
        response = self._connection.getresponse()
        answer = response.read().decode()
        if response.status >= 400 or ('"jsonrpc"' in answer and '"error"' in answer):
            raise RuntimeError(f"{path} was answered {response.status}: {answer}")
        return {name.lower(): value for name, value in response.getheaders()}

    def call_tool(self, path: str, tool: str, arguments: Mapping[str, object]) -> None:
        """Call a tool over MCP."""
        headers = {
            "accept": "application/json, text/event-stream",
            "mcp_protocol_version": _VERSION,
        }
        if not self._session:
            client = {"name": "trace", "version": "1"}
            params = {"protocolVersion": _VERSION, "capabilities": {}, "clientInfo": client}
            begin = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
            self._session = self.post(path, begin, **headers)["mcp-session-id"]
            ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            self.post(path, ready, **headers, mcp_session_id=self._session)
        call = {"name": tool, "arguments": arguments}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        self.post(path, request, **headers, mcp_session_id=self._session)


def _library_call(client: Client, number: int) -> None:
    client.call_tool("/mcp", "add", {"a": number, "b": 2})


def _hub_call(client: Client, number: int) -> None:
    client.call_tool("/api/v1/mcp", "create_epic", {"title": f"Traced {number}"})


def _rest_write(client: Client, number: int) -> None:
    client.post("/api/v1/epics", {"title": f"Traced {number}"})


CALLS: Final = (
    Call("library tools/call", "library", _library_call),
    Call("hub tools/call", "hub", _hub_call),
    Call("REST write", "hub", _rest_write),
)


@contextmanager
def _server(kind: str, root: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """Run a server whose calls are counted, and yield its URL and a token that may write."""
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "ACCORD_TRACE": str(folder)}
    command = [sys.executable, str(Path(__file__)), "--serve", kind, str(folder)]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        address = re.search(r"http://[\w.:]+", process.stdout.readline())
        if address is None:
            raise RuntimeError(f"the {kind} server did not start")
        token = ""
        if kind == "hub":
            label = ("--user", "admin", "--name", "trace", "--data", str(folder / "data"))
            scopes = ("--scope", "read", "--scope", "write")
            token = _accord(environment, "token", "create", *label, *scopes)
        yield address[0], token
    finally:
        process.terminate()
        process.communicate(timeout=TIMEOUT_SECONDS)


def _accord(environment: Mapping[str, str], *arguments: str) -> str:
    program = "import sys; from accord.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    return done.stdout.strip()


# ---------------------------------------------------------------------------- the traced process


def _serve(kind: str, folder: Path) -> None:
    """Serve, and write the files of each call that is made while the file `traced` exists."""
    switch = folder / "traced"
    recorded: list[str] = []
    state = {"on": False}

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or not state["on"]:
            return
        name = frame.f_code.co_filename
        at = name.rfind("/accord/")
        if at >= 0 and "/site-packages/" not in name:
            file = name[at + 1 :]
            if not recorded or recorded[-1] != file:
                recorded.append(file)

    def watch() -> None:
        while True:
            on = switch.exists()
            if state["on"] and not on:
                state["on"] = False
                (folder / "calls.tmp").write_text(json.dumps(recorded))
                (folder / "calls.tmp").rename(folder / "calls.json")
                recorded.clear()
            state["on"] = on
            time.sleep(0.02)

    threading.Thread(target=watch, daemon=True).start()
    threading.setprofile(profile)
    sys.setprofile(profile)
    if kind == "hub":
        from accord.cli import main

        sys.argv = ["accord", "serve", "--data", str(folder / "data"), "--port", "0"]
        sys.exit(main())
    import asyncio

    from accord.mcp import Server

    server = Server("traced")

    @server.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    async def run() -> None:
        async with server.serve("http://127.0.0.1:0/mcp") as running:
            print(running.url, flush=True)
            await asyncio.Event().wait()

    asyncio.run(run())


if __name__ == "__main__":
    _serve(sys.argv[2], Path(sys.argv[3]))
