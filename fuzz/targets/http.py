"""The HTTP server's connections, over a transport in memory, against a second reader of HTTP.

What is answered must be HTTP, one answer a request, the same however the bytes are cut. And
each request that reaches the methods must be one that a strict reader finds at its place: two
readers that disagree about where a request ends are what request smuggling needs.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from accord.jsonrpc.protocol.channel import Limits, ServerLimits
from accord.jsonrpc.protocol.messages import InvalidMessageReply
from accord.jsonrpc.protocol.session import Statistics
from accord.jsonrpc.runtime.requests import RequestSource
from accord.transports.http.connection import CallSite
from accord.transports.http.server import CallConnection
from accord.transports.options import Options
from fuzz.splits import split
from fuzz.targets import Check

MAX_BODY: Final = 64
MAX_HEAD: Final = 320
"""Both small, so that short inputs reach them."""
ECHO: Final = b"echo:"


@contextmanager
def target() -> Iterator[Check]:
    with asyncio.Runner() as runner:
        server = runner.run(_make_server())
        yield server.check
        server.close()


async def _make_server() -> Server:
    return Server()


class Server:
    """A site without a socket."""

    def __init__(self) -> None:
        options = Options(
            limits=Limits(max_message_bytes=MAX_BODY),
            server_limits=ServerLimits(max_header_bytes=MAX_HEAD),
        )
        self._site = CallSite("http", "/rpc", Methods(), options)
        # A connection that stays: the site starts its clock with the first one.
        self._first = Wire(self._site)

    def close(self) -> None:
        self._first.cut()

    def check(self, data: bytes) -> None:
        whole = self._answers([data])
        pieces = self._answers(split(data))
        assert _same(pieces, whole), f"{pieces} in pieces, {whole} as a whole"
        _compare(whole, requests(data))

    def _answers(self, parts: list[bytes]) -> list[Answer]:
        wire = Wire(self._site)
        for part in parts:
            wire.feed(part)
        wire.end()
        assert len(self._site.connections) == 1, "a connection is left behind"
        return read_answers(wire.written())


class Methods:
    """Answers each message by itself; the first letter says how."""

    def __init__(self) -> None:
        self.statistics = Statistics()

    def handle(self, data: bytes, source: RequestSource) -> bytes | None | Waiting:
        match data[:1]:
            case b"n":
                return None
            case b"r":
                return InvalidMessageReply(ECHO + data)
            case b"w":
                return Waiting(source, ECHO + data)
            case b"c":
                dict(source.context("c", 1).headers or {})
        return ECHO + data


class Waiting:
    """A message that is answered later: the wire that carried it says when."""

    latest: Waiting | None = None

    def __init__(self, source: RequestSource, answer: bytes) -> None:
        self._source = source
        self._answer = answer
        Waiting.latest = self

    def finish(self) -> None:
        self._source.answer(self._answer)

    def cancel(self) -> None:
        raise AssertionError("cancelled, though the client is still there")


class Wire(asyncio.Transport):
    """A transport in memory with one connection at its end."""

    def __init__(self, site: CallSite) -> None:
        super().__init__()
        self._out: list[bytes] = []
        self._closed = False
        self._protocol = CallConnection(site)
        self._protocol.connection_made(self)

    def feed(self, data: bytes) -> None:
        """Have `data` arrive, and what it started finish."""
        if self._closed or not data:
            return
        self._protocol.get_buffer(-1)[: len(data)] = data
        self._protocol.buffer_updated(len(data))
        while Waiting.latest is not None:
            waiting, Waiting.latest = Waiting.latest, None
            waiting.finish()

    def end(self) -> None:
        """Have the client end its side, then the connection go."""
        if not self._closed:
            self._protocol.eof_received()
        self.cut()

    def cut(self) -> None:
        self._protocol.connection_lost(None)

    def written(self) -> bytes:
        return b"".join(self._out)

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        assert not self._closed, "written after the end"
        self._out.append(bytes(data))

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 4000) if name == "peername" else default

    def get_write_buffer_size(self) -> int:
        return 0

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        pass

    def is_closing(self) -> bool:
        return self._closed

    def pause_reading(self) -> None:
        raise AssertionError("inputs are too short for this")

    def close(self) -> None:
        self._closed = True

    def abort(self) -> None:
        self._closed = True


# What the server says, read strictly


class Answer(NamedTuple):
    status: int
    body: bytes
    last: bool


_ANSWER_HEAD: Final = re.compile(
    rb"HTTP/1\.1 ([1-5][0-9]{2}) [A-Za-z ]+\r\n((?:[a-z-]+: [\x20-\x7e]*\r\n)*)\r\n"
)
_ANSWER_LENGTH: Final = re.compile(rb"^content-length: ([0-9]+)\r\n", re.MULTILINE)


def read_answers(data: bytes) -> list[Answer]:
    """The final answers in `data`. Raises AssertionError when it is anything but answers."""
    answers = []
    at = 0
    while at < len(data):
        head = _ANSWER_HEAD.match(data, at)
        assert head is not None, f"not HTTP: {data[at : at + 200]!r}"
        status, fields = int(head[1]), head[2]
        at = head.end()
        if status == 100:
            assert not fields
            continue
        lengths = _ANSWER_LENGTH.findall(fields)
        assert len(lengths) == (status != 204), f"{len(lengths)} lengths: {fields!r}"
        end = at + (int(lengths[0]) if lengths else 0)
        # The answer to HEAD tells a length and has no body, so what follows is the next answer.
        if status >= 400 and (at == len(data) or data.startswith(b"HTTP/1.1 ", at)):
            end = at
        assert end <= len(data), "an answer is cut short"
        answers.append(Answer(status, data[at:end], b"connection: close\r\n" in fields))
        at = end
    assert not any(answer.last for answer in answers[:-1]), "something follows the last answer"
    return answers


def _same(some: list[Answer], others: list[Answer]) -> bool:
    """Whether the same was answered. A request with several faults may be refused for the one
    that arrives first; then nothing follows it either way."""
    if some == others:
        return True
    if not len(some) == len(others) > 0 or some[:-1] != others[:-1]:
        return False
    ends = (some[-1], others[-1])
    return any(answer.last for answer in ends) and all(_is_refusal(answer) for answer in ends)


def _is_refusal(answer: Answer) -> bool:
    return answer.status >= 400 and not answer.body.startswith(ECHO)


# The second reader: RFC 9112 for those who send it exactly


class Asked(NamedTuple):
    method: bytes
    body: bytes | None
    """None while it is not whole."""


_REQUEST_LINE: Final = re.compile(rb"([!-~]+) ([!-~]+) HTTP/1\.([01])")
_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")


def requests(data: bytes) -> list[Asked]:
    """The requests in `data`, up to the first that is not exactly as it should be."""
    found = []
    while data:
        head, end, rest = data.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        length = _length(head) if end else None
        if length is None:
            break
        body, data = _chunked(rest) if length < 0 else _fixed(rest, length)
        found.append(Asked(head.partition(b" ")[0], body))
        if body is None:
            break
    return found


def _length(head: bytes) -> int | None:
    """How long the body behind `head` is, -1 if it comes in chunks; None if nobody can tell."""
    first, *lines = head.split(b"\r\n")
    start = _REQUEST_LINE.fullmatch(first)
    fields: dict[bytes, bytes] = {}
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field is None:
            return None
        name, value = field[1].lower(), field[2].rstrip(b" \t")
        if name in (b"content-length", b"transfer-encoding") and name in fields:
            return None
        fields[name] = value
    if start is None or (b"host" not in fields and start[3] == b"1"):
        return None
    length, coding = fields.get(b"content-length"), fields.get(b"transfer-encoding")
    if coding is not None:
        return -1 if coding.lower() == b"chunked" and length is None else None
    if length is None:
        return 0
    return int(length) if length.isdigit() else None


def _fixed(rest: bytes, length: int) -> tuple[bytes | None, bytes]:
    return (rest[:length], rest[length:]) if length <= len(rest) else (None, b"")


def _chunked(rest: bytes) -> tuple[bytes | None, bytes]:
    body = b""
    while True:
        line, end, rest = rest.partition(b"\r\n")
        digits = line.partition(b";")[0]
        if not end or re.fullmatch(rb"[0-9A-Fa-f]+", digits) is None:
            return None, b""
        size = int(digits, 16)
        if size == 0:
            break
        if rest[size : size + 2] != b"\r\n":
            return None, b""
        body, rest = body + rest[:size], rest[size + 2 :]
    while True:
        line, end, rest = rest.partition(b"\r\n")
        if not end:
            return None, b""
        if not line:
            return body, rest


def _compare(answers: list[Answer], asked: list[Asked]) -> None:
    for place, answer in enumerate(answers):
        if place == len(asked):
            assert answer.last, f"{answer} to no request"
            assert _is_refusal(answer), f"{answer} to no request"
            continue
        method, body = asked[place]
        if answer.body.startswith(ECHO):
            assert method == b"POST", f"a method ran for {method!r}"
            assert answer.body.removeprefix(ECHO) == body, f"{answer.body!r} instead of {body!r}"
        elif answer.status == 204:
            assert method == b"POST", f"a method ran for {method!r}"
            assert (body or b"").startswith(b"n"), f"nothing was answered to {body!r}"
    assert len(answers) <= len(asked) + 1, f"{len(answers)} answers to {len(asked)} requests"
