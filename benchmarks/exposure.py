"""A route of a FastAPI application, called as a method, against the same route called otherwise.

In one process: from the bytes of a request to those of its answer, against httpx's transport
for ASGI applications, which is what others call routes in process with. Over HTTP: the method
on our server, with the application behind it, against the route on uvicorn.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import Struct

from benchmarks.framings import Http
from benchmarks.harness import Plan, Subject, compare, one_core
from benchmarks.load import Load, Served, open_socket
from benchmarks.processes import Process, Slices, running
from benchmarks.report import Row, at_least
from benchmarks.versus import Versus
from benchmarks.work import FIRST_ID, REQUESTS, Work

TITLE = "Routes of a FastAPI application"
CONNECTIONS = 16

TEXT = "The quick brown fox jumps over the lazy dog."
METHOD, MOUNTED = "as a method", "as a method, mounted on uvicorn"
HTTPX, ROUTE = "httpx's ASGITransport", "the route itself on uvicorn"


class RouteWork(Struct, frozen=True):
    """The route asked over and over; there are no ids to tell the answers apart."""

    body: bytes
    answer: bytes

    def requests(self) -> list[bytes]:
        return [self.body] * REQUESTS

    def check(self, answers: Sequence[bytes], count: int) -> None:
        """Raises unless there are `count` answers, all of them right."""
        if len(answers) != count or set(answers) != {self.answer}:
            raise AssertionError(f"{len(answers):,} answers to {count:,} requests, or wrong ones")


def rows(plan: Plan) -> list[Row]:
    return [*_in_process(plan), *_over_http(plan)]


def _in_process(plan: Plan) -> list[Row]:
    request = _work().request(FIRST_ID).decode()
    method = Process("benchmarks.ours.exposure", "method", request)
    httpx = Process("benchmarks.ours.exposure", "httpx", TEXT)
    with running(method, httpx):
        subjects: dict[str, Subject] = {
            METHOD: Slices(method, {"jsonrpc": "2.0", "id": FIRST_ID, "result": {"text": TEXT}}),
            HTTPX: Slices(httpx, {"text": TEXT}),
        }
        costs = compare(subjects, plan)
    versus = Versus("exposure", "called in process", costs)
    return versus.rows(METHOD, [HTTPX], {HTTPX: at_least(2)})


def _over_http(plan: Plan) -> list[Row]:
    with one_core():
        processes = {
            METHOD: Process("benchmarks.ours.exposure", "server"),
            MOUNTED: Process("benchmarks.ours.exposure", "mounted"),
            ROUTE: Process("benchmarks.peers.fastapi_http", peer="fastapi-jsonrpc"),
        }
        with running(*processes.values()):
            ports = {name: int(process.line()) for name, process in processes.items()}
            costs = compare(
                {
                    METHOD: _served(processes[METHOD], ports[METHOD], Http(), _work()),
                    MOUNTED: _served(processes[MOUNTED], ports[MOUNTED], Http(b"/rpc/"), _work()),
                    ROUTE: _served(processes[ROUTE], ports[ROUTE], Http(b"/echo"), _route_work()),
                },
                plan,
            )
    versus = Versus("exposure", "called over HTTP", costs)
    return [*versus.rows(METHOD, [ROUTE]), *versus.rows(MOUNTED, [ROUTE])]


def _work() -> Work:
    return Work("echo.post", {"text": TEXT}, lambda result: result == {"text": TEXT})


def _route_work() -> RouteWork:
    body = json.dumps({"text": TEXT}, separators=(",", ":")).encode()
    return RouteWork(body, body)


def _served(process: Process, port: int, framing: Http, work: Work | RouteWork) -> Subject:
    wires = [open_socket(port, framing) for _ in range(CONNECTIONS)]
    return Served([process], Load(wires, framing, work))
