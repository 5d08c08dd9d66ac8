"""MCP as the load generator speaks it: the same requests in the handshake era, where a client
introduces itself once, and in the stateless era, where every request does so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

from benchmarks.framings import Http
from benchmarks.load import Socket
from benchmarks.processes import Process
from benchmarks.work import Work

Version: TypeAlias = Literal["2025-11-25", "2026-07-28"]

HANDSHAKE: Version = "2025-11-25"
STATELESS: Version = "2026-07-28"
ERAS: tuple[Version, ...] = (HANDSHAKE, STATELESS)

PATH = b"/mcp"
_CLIENT = {"name": "benchmark", "version": "1"}
_META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientInfo": _CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_ACCEPT = b"Accept: application/json, text/event-stream\r\n"

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": _CLIENT},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def tool_call(version: Version) -> Callable[[str], Work]:
    """A call of the tool `echo`; the answer is judged by its content alone."""

    def work(text: str) -> Work:
        content = [{"type": "text", "text": text}]
        params = {"name": "echo", "arguments": {"text": text}}
        return Work(
            "tools/call", said(version, params), lambda result: result["content"] == content
        )

    return work


def structured_call(version: Version) -> Callable[[str], Work]:
    """A call of the tool `report`; the answer is judged by its structured content alone."""

    def work(text: str) -> Work:
        params = {"name": "report", "arguments": {"text": text}}
        return Work(
            "tools/call",
            said(version, params),
            lambda result: result["structuredContent"] == {"text": text},
        )

    return work


def list_tools(version: Version, names: Iterable[str]) -> Work:
    """A list of all tools, which must be these."""
    expected = sorted(names)

    def is_right(result: Any) -> bool:
        return sorted(tool["name"] for tool in result["tools"]) == expected

    return Work("tools/list", said(version, {}), is_right)


def said(version: Version, params: dict[str, Any]) -> dict[str, Any]:
    """The params of a request in an era."""
    return params if version == HANDSHAKE else {**params, "_meta": _META}


def http(version: Version, port: int, work: Work) -> Http:
    """How `work` is sent over HTTP; in the handshake era, in a session that begins here."""
    if version == HANDSHAKE:
        wire = Socket(port)
        lines = open_session(wire)
        wire.close()
        return Http(PATH, lines)
    return Http(PATH, stateless_lines(work))


def stateless_lines(work: Work) -> bytes:
    """The header lines of requests in the stateless era."""
    lines = _ACCEPT + f"MCP-Protocol-Version: {STATELESS}\r\n".encode()
    lines += f"Mcp-Method: {work.method}\r\n".encode()
    if "name" in work.params:
        lines += f"Mcp-Name: {work.params['name']}\r\n".encode()
    return lines


def open_session(wire: Socket, *, path: bytes = PATH, lines: bytes = b"") -> bytes:
    """Shake hands over HTTP, with further header lines; the header lines of what follows."""
    head, answer = _post(wire, path, _ACCEPT + lines, INITIALIZE)
    _check_initialized(answer)
    lines += _ACCEPT + b"MCP-Protocol-Version: " + HANDSHAKE.encode() + b"\r\n"
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"mcp-session"):  # a peer may have none
            lines += line + b"\r\n"
    head, _ = _post(wire, path, lines, INITIALIZED)
    if b" 202 " not in head.split(b"\r\n", 1)[0]:
        raise AssertionError(f"notifications/initialized was refused: {head!r}")
    return lines


def shake_hands(process: Process) -> None:
    """Shake hands over stdio."""
    process.ask(json.dumps(INITIALIZE))
    _check_initialized(process.line().encode())
    process.ask(json.dumps(INITIALIZED))


def _check_initialized(answer: bytes) -> None:
    if not answer.startswith(b"{") or json.loads(answer)["result"]["protocolVersion"] != HANDSHAKE:
        raise AssertionError(f"initialize failed: {answer[:500]!r}")


def _post(wire: Socket, path: bytes, lines: bytes, message: Any) -> tuple[bytes, bytes]:
    """The head and the body of the response."""
    framing = Http(path, lines)
    wire.write(framing.frame(json.dumps(message).encode()))
    reader, received = framing.reader(), b""
    while True:
        data = wire.read()
        received += data
        bodies = reader.feed(data)
        if bodies:
            return received[: received.index(b"\r\n\r\n")], bodies[0]
