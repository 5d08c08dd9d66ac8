"""The MCP endpoint: whole HTTP requests, one after the other, and whatever they begin.

An input is requests with a line `====` between them, each as it stands on the wire but for the
version of HTTP: `POST /mcp`, header lines, a blank line, the body. `{session}` in it stands for
the newest session, `{endpoint}` for where the newest stream of HTTP+SSE wants messages.

What is answered must be the answer to what was asked, headers in which nothing can be hidden,
and messages; a tool may run only for a request whose headers say so; and when the clients are
gone, nothing of them may be left.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from accord.jsonrpc.protocol.channel import ChannelInfo, Limits
from accord.jsonrpc.protocol.framing import SseDecoder, SseEvent
from accord.mcp import Context, Server, TaskSettings
from accord.mcp.server.http.endpoint import McpEndpoint
from accord.mcp.server.http.endpoint_state import MemoryEvents
from accord.mcp.server.http.sessions import SessionLimits
from accord.mcp.server.task_runner import ANYONE
from accord.transports.http.heads import Fields, Pairs, WebRequest, place_below
from accord.transports.http.replies import Reply
from accord.transports.http.web_app import JSON
from fuzz import reference
from fuzz.reference import typed
from fuzz.targets import Check

MAX_BODY: Final = 2_000
MAX_REQUESTS: Final = 8
TURNS: Final = 6
"""How many turns of the loop the handlers of a request get before the next one comes."""
STATUSES: Final = frozenset((200, 202, 204, 400, 403, 404, 405, 406, 413, 415, 503))
STATELESS: Final = "2026-07-28"

_CHANNEL: Final = ChannelInfo(scheme="http", address="127.0.0.1:4000")
_START: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) (/[!-~]*)")
_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
_ANSWER_LINES: Final = re.compile(rb"(?:[A-Za-z-]+: [\x20-\x7e]*\r\n)*")
_SESSION: Final = re.compile(rb"mcp-session-id: ([!-~]+)\r\n", re.IGNORECASE)
_ONCE: Final = (b"host", b"origin", b"content-type", b"content-encoding", b"content-length")
"""What the readers of heads let in only once, which is their own target's matter."""


@contextmanager
def target() -> Iterator[Check]:
    with asyncio.Runner() as runner:
        site = runner.run(_make_site())
        yield site.check
        runner.run(site.close())


async def _make_site() -> Site:
    site = Site()
    await site.endpoint.start()
    return site


class Site:
    """An endpoint without a socket."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._smuggled: list[str] = []
        self._server = _server(self._smuggled)
        self._events = MemoryEvents()
        self.endpoint = McpEndpoint(
            self._server,
            limits=Limits(max_message_bytes=MAX_BODY, max_depth=8, max_batch_items=6),
            session_limits=SessionLimits(max_sessions=3),
            events=self._events,
            old_sse=True,
            pulse_seconds=3600.0,
        )

    async def close(self) -> None:
        await self.endpoint.close(0)

    def check(self, data: bytes) -> None:
        self._loop.run_until_complete(self._check(data))

    async def _check(self, data: bytes) -> None:
        before = asyncio.all_tasks()
        told = Told()
        asked: list[Asked] = []
        for text in data.split(b"\n====\n")[:MAX_REQUESTS]:
            request = told.fill_in(text)
            asked.append(self._ask(request))
            await _turns()
            told.learn(asked[-1])
        for each in asked:
            each.check()
            each.leave()
        self.endpoint.sessions.end_all()
        await self._forget_tasks()
        await _turns()
        self._check_left(before)

    async def _forget_tasks(self) -> None:
        """Tasks of clients without a session stay for an hour: not for the next input."""
        tasks = self._server.core.tasks
        for record in await tasks.store.of_owner(ANYONE):
            await tasks.forget(record.id)

    def _ask(self, text: bytes) -> Asked:
        head, _, body = text.partition(b"\n\n")
        asked = Asked(body)
        request = _request(head, len(body))
        if request is None:
            return asked
        judged = self.endpoint.judge(request)
        if isinstance(judged, Reply):
            asked.reply(judged.body, status=judged.status, headers=judged.headers)
        elif len(body) > MAX_BODY:
            reply = self.endpoint.too_large(request, MAX_BODY)
            asked.reply(reply.body, status=reply.status, headers=reply.headers)
        else:
            asked.resumes = request.method == "GET"
            self.endpoint.handle(judged, body, asked)
        return asked

    def _check_left(self, before: set[asyncio.Task[Any]]) -> None:
        assert not self._smuggled, f"a tool ran for other headers: {self._smuggled}"
        left = asyncio.all_tasks() - before
        assert not left, f"tasks are left: {left}"
        assert self.endpoint.in_flight == 0, "something still runs"
        assert self.endpoint.pulse.streams == 0, "a stream is left"
        assert len(self.endpoint.sessions) == 0, "a session is left"
        assert len(self._server.listeners) == 0, "somebody still listens"
        assert (self._events.count, self._events.size) == (0, 0), "events are left"


async def _turns() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


def _request(head: bytes, length: int) -> WebRequest | None:
    """The head of a request, without the lines that no reader of HTTP would let in."""
    first, *lines = head.split(b"\n")
    start = _START.fullmatch(first)
    if start is None:
        return None
    pairs: Pairs = []
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field is None:
            continue
        name = field[1].lower()
        if name not in _ONCE or not any(name == known.lower() for known, _ in pairs):
            pairs.append((field[1], field[2]))
    path, _, query = start[2].decode("ascii").partition("?")
    place = place_below(path, "/mcp")
    return WebRequest(start[1].decode("ascii"), path, place, query, Fields(pairs), length, True)


class Told:
    """What a client has learned so far."""

    def __init__(self) -> None:
        self._session = b"none"
        self._endpoint = b"/mcp/messages/none"

    def fill_in(self, text: bytes) -> bytes:
        filled = text.replace(b"{session}", self._session)
        return filled.replace(b"{endpoint}", self._endpoint)

    def learn(self, asked: Asked) -> None:
        found = _SESSION.search(asked.headers)
        if found is not None:
            self._session = found[1]
        for event in asked.events():
            if event.event == "endpoint":
                self._endpoint = event.data


class Asked:
    """A request and what was answered to it; implements `Exchange` and `Stream`."""

    channel = _CHANNEL

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._pieces: list[bytes] = []
        self._gone = False
        self._over = False
        self.status = 0
        self.headers = b""
        self.streams = False
        self.resumes = False
        """Whether the answers to other requests may be among what it hears."""
        self.on_gone: Callable[[], None] | None = None

    def reply(self, body: bytes, *, status: int = 200, headers: bytes = JSON) -> None:
        self._begin(status, headers)
        self._pieces.append(body)
        self._over = True

    def stream(self, *, status: int = 200, headers: bytes = JSON) -> Asked:
        self._begin(status, headers)
        self.streams = True
        return self

    def write(self, data: bytes) -> None:
        assert self.streams, "a piece of no stream"
        assert not self._over or self._gone, "written after the end"
        self._pieces.append(data)

    def close(self) -> None:
        self._over = True

    def leave(self) -> None:
        """The client goes."""
        self._gone = True
        if not self._over and self.on_gone is not None:
            self.on_gone()
        self._over = True

    def events(self) -> list[SseEvent]:
        return SseDecoder().feed(b"".join(self._pieces)) if self.streams else []

    def check(self) -> None:
        """Raises AssertionError for what is not the answer to this request."""
        if not self.status:
            return
        assert self.status in STATUSES, f"{self.status}: {self._pieces}"
        assert _ANSWER_LINES.fullmatch(self.headers), f"not header lines: {self.headers!r}"
        if self.streams:
            for event in self.events():
                if event.data and event.event == "message":
                    self._check_message(json.loads(event.data))
        elif self.headers.startswith(JSON) and self._pieces[0]:
            self._check_answer(json.loads(self._pieces[0]))

    def _begin(self, status: int, headers: bytes) -> None:
        assert not self.status, "answered twice"
        self.status, self.headers = status, headers

    def _check_answer(self, answer: Any) -> None:
        due = _ids_due(self._body)
        if isinstance(answer, list):
            found = [_id_of(each) for each in answer]
            assert sorted(map(repr, found)) == sorted(map(repr, due)), f"{found}, due are {due}"
            return
        id = _id_of(answer)
        if self.status == 200:
            assert [id] == due, f"answered to {id} instead of {due}"
        else:
            assert id in (*due, typed(None)), f"answered to {id}, due are {due}"

    def _check_message(self, message: Any) -> None:
        if isinstance(message, list):
            assert self.resumes, "a batch where there are none"
            for each in message:
                _id_of(each)
            return
        if "method" in message:
            assert message.keys() <= {"jsonrpc", "id", "method", "params"}, message
            return
        id = _id_of(message)
        assert self.resumes or id in _ids_due(self._body), f"an answer to {id}, which nobody asked"


def _ids_due(body: bytes) -> list[Any]:
    """The ids of the answers that are due."""
    read = reference.read(body, 8)
    verdicts = read if isinstance(read, list) else [read]
    due = []
    for verdict in verdicts:
        match verdict:
            case ("request", (kind, _), *_) if kind in ("NoneType", "float"):
                due.append(typed(None))
            case ("request", id, *_) | ("invalid", id, _, False):
                due.append(id)
    return due


def _id_of(response: Any) -> Any:
    """The id of a response. Raises AssertionError for what is none."""
    assert response.pop("jsonrpc") == "2.0"
    id = typed(response.pop("id"))
    ((kind, content),) = response.items()
    assert type(content) is dict, content
    if kind == "error":
        assert type(content["code"]) is int
        assert type(content["message"]) is str
        assert set(content) <= {"code", "message", "data"}
        data = content.get("data")
        assert not (isinstance(data, dict) and data.get("reason") == "internal_error"), content
    else:
        assert kind == "result"
    return id


# The server


def _server(smuggled: list[str]) -> Server:
    """Tools that note when they are called by a request whose headers say something else."""
    server = Server("fuzzed", version="1.0", tasks=TaskSettings(max_tasks=100))

    def look(context: Context, name: str) -> None:
        if context.version != STATELESS:
            return
        headers = context.headers
        said = [headers.get(f"mcp-{part}", "") for part in ("protocol-version", "method", "name")]
        if [*map(_plain, said)] != [STATELESS, "tools/call", name]:
            smuggled.append(f"{name}: {said}")

    @server.tool
    async def add(context: Context, a: int, b: int = 1) -> int:
        look(context, "add")
        return a + b

    @server.tool
    async def report(context: Context, steps: int = 2) -> str:
        look(context, "report")
        for step in range(min(steps, 5)):
            context.progress(step + 1, steps)
            context.info("step")
        return "reported"

    @server.tool
    async def wait(context: Context) -> None:
        look(context, "wait")
        await asyncio.Event().wait()

    @server.tool
    async def ask(context: Context) -> str:
        look(context, "ask")
        answer = await context.elicit("Your name?", str)
        return answer.action

    @server.tool(task="optional")
    async def count(context: Context, words: list[str]) -> int:
        look(context, "count")
        return len(words)

    @server.resource("note://{name}")
    async def note(name: str) -> str:
        return name

    @server.prompt
    async def greet(name: str) -> str:
        return f"Greet {name}"

    @server.completion("greet", "name")
    async def names(value: str) -> list[str]:
        return [value]

    return server


def _plain(value: str) -> str:
    """What a header says, in base64 or not."""
    if value.startswith("=?base64?") and value.endswith("?="):
        return base64.b64decode(value[len("=?base64?") : -len("?=")]).decode()
    return value
