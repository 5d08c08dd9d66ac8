"""Servers over stdio that mean harm: `python programs.py NAME` does its worst. Plain Python, so
that it starts quickly and can do what a library would not."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

DISCOVERED = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}, "logging": {}},
    "ttlMs": 0,
    "cacheScope": "public",
}
DONE = {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def say(message: Any) -> None:
    write(json.dumps(message).encode() + b"\n")


def answer(request: dict[str, Any], result: Any) -> None:
    say({"jsonrpc": "2.0", "id": request["id"], "result": result})


def requests() -> Iterator[dict[str, Any]]:
    """What is asked, once the client knows that this is a server."""
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("method") == "server/discover":
            answer(message, DISCOVERED)
        elif "id" in message and "method" in message:
            yield message


def garbage() -> None:
    """Prints what it likes among its messages."""
    write(b"Starting up...\n\xff\xfe\x00\n\n   \n{\n[]\n7\nnull\n" + b"x" * 100_000 + b"\n")
    for request in requests():
        write(b"Traceback (most recent call last):\n")
        say({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "what?"}})
        say({"jsonrpc": "1.0", "id": request["id"] + 1, "result": {}})
        say({"jsonrpc": "2.0", "id": request["id"] + 1_000, "result": {}})
        say({"jsonrpc": "2.0", "id": str(request["id"]), "result": {}})
        answer(request, DONE)
        answer(request, {"content": "twice"})
        write(b'{"jsonrpc": "2.0", "method": "notifications/message", "params": 7}\n')


def silent() -> None:
    """Never says a word."""
    time.sleep(3600)


def deaf() -> None:
    """Answers the first question, then never reads again."""
    for _ in requests():
        time.sleep(3600)


def stubborn() -> None:
    """Does not leave when it is asked to."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for request in requests():
        answer(request, DONE)
    time.sleep(3600)


def leaves() -> None:
    """Is gone in the middle of a call."""
    for _ in requests():
        print("the disk is on fire", file=sys.stderr)
        os._exit(3)


def leaves_at_once() -> None:
    os._exit(4)


def leaves_in_the_middle_of_a_message() -> None:
    for request in requests():
        write(json.dumps({"jsonrpc": "2.0", "id": request["id"]}).encode()[:-1])
        os._exit(0)


def leaves_its_child_behind() -> None:
    """Is gone, while something that it started keeps the pipes open."""
    for _ in requests():
        if os.fork():
            os._exit(0)
        time.sleep(3600)


def floods() -> None:
    """Talks without end once it is asked something."""
    params = {"level": "info", "data": "x" * 1_000}
    message = {"jsonrpc": "2.0", "method": "notifications/message", "params": params}
    for _ in requests():
        while True:
            write((json.dumps(message).encode() + b"\n") * 50)


def asks_without_end() -> None:
    """Asks, and does not read the answers."""
    for _ in requests():
        for number in range(10**9):
            say({"jsonrpc": "2.0", "id": f"q{number}", "method": "ping"})


def endless_line() -> None:
    for _ in requests():
        while True:
            write(b"x" * 65_536)


def drops() -> None:
    """Answers, one byte at a time."""
    for request in requests():
        for byte in json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": DONE}).encode():
            write(bytes([byte]))
            time.sleep(0.05)


def loud() -> None:
    """Fills stderr."""
    for request in requests():
        for _ in range(2_000):
            os.write(2, b"x" * 1_000 + b"\n")
        answer(request, DONE)


PROGRAMS: dict[str, Callable[[], None]] = {
    each.__name__: each
    for each in (
        *(garbage, silent, deaf, stubborn, leaves, leaves_at_once, floods, asks_without_end),
        *(leaves_in_the_middle_of_a_message, leaves_its_child_behind, endless_line, drops, loud),
    )
}

if __name__ == "__main__":
    print(os.getpid(), file=sys.stderr, flush=True)
    PROGRAMS[sys.argv[1]]()
