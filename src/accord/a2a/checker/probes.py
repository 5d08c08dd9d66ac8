"""Requests to a checked agent, and the rules that hold for every JSON-RPC answer over HTTP.

An answer is judged strictly and read leniently, so that one fault does not hide the next.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from accord.a2a.checker.rules import FindingCollector
from accord.a2a.exchange import AddressGuard, AddressRefusedError
from accord.a2a.protocol.addresses import AddressPolicy
from accord.a2a.protocol.fields import METHODS, VERSION, Verb, Wire
from accord.jsonrpc.protocol.codec import decode_json
from accord.jsonrpc.protocol.errors import ConnectError, RpcError
from accord.jsonrpc.protocol.framing import SseDecoder
from accord.transports.http.requester import Requester, Response
from accord.transports.options import Options
from accord.transports.urls import WebAddress

MAX_BYTES: Final = 8 * 1024 * 1024
MAX_EVENTS: Final = 10_000


class ProbeResponse(Struct, frozen=True, kw_only=True):
    """An unparsed HTTP response of a checked agent."""

    status: int
    content_type: str
    headers: Mapping[str, str]
    body: bytes
    events: tuple[bytes, ...] = ()
    """The events, if the response is a stream; `body` is then empty."""
    ended: bool = True
    """True if a stream ended in time."""

    @property
    def json(self) -> Any:
        """Return the decoded body, or None if it is not JSON."""
        try:
            return decode_json(self.body)
        except msgspec.DecodeError:
            return None


class ProbeFailure(Struct, frozen=True):
    """The reason why a request got no answer."""

    why: str
    unreachable: bool = False


class Probe:
    """An HTTP client that never raises: `async with Probe(…)`.

    `timeout` limits the seconds for one answer, `patience` those for a whole stream.
    """

    def __init__(
        self,
        *,
        policy: AddressPolicy,
        timeout: float,
        patience: float,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._policy = policy
        self._timeout = timeout
        self._patience = patience
        self._tls = tls
        self._requester: Requester

    async def __aenter__(self) -> Probe:
        self._requester = Requester(
            Options(
                tls=self._tls,
                connect_seconds=min(self._timeout, 10.0),
                resolve=AddressGuard(self._policy).resolve,
            )
        )
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._requester.close()

    async def ask(
        self,
        method: str,
        address: WebAddress,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> ProbeResponse | ProbeFailure:
        """Send a request and return the response or failure; never raise."""
        since = time.monotonic()
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._requester.request(method, address, headers, body)
            try:
                if response.content_type == "text/event-stream":
                    return await self._stream(response)
                async with asyncio.timeout(self._timeout):
                    return _response(response, body=await response.read(MAX_BYTES))
            finally:
                response.close()
        except RpcError as error:
            unreachable = isinstance(error, ConnectError | AddressRefusedError)
            return ProbeFailure(error.message, unreachable=unreachable)
        except TimeoutError:
            return ProbeFailure(f"there was no answer after {time.monotonic() - since:.1f} s")

    async def _stream(self, response: Response) -> ProbeResponse:
        decoder, events, ended = SseDecoder(MAX_BYTES), list[bytes](), False
        try:
            async with asyncio.timeout(self._patience):
                while chunk := await response.receive():
                    events += [event.data for event in decoder.feed(chunk) if event.data]
                    if len(events) > MAX_EVENTS:
                        break
                else:
                    ended = True
        except TimeoutError:
            pass
        return _response(response, body=b"", events=tuple(events), ended=ended)


def _response(
    response: Response, *, body: bytes, events: tuple[bytes, ...] = (), ended: bool = True
) -> ProbeResponse:
    return ProbeResponse(
        status=response.status,
        content_type=response.content_type,
        headers=response.headers,
        body=body,
        events=events,
        ended=ended,
    )


_UNREADABLE_REQUEST_CODES: Final = frozenset((-32700, -32600))
"""Codes of errors whose id may be null, as the request's id could not be read (JSON-RPC 2.0,
section 5)."""


class ResultReply(Struct, frozen=True):
    """A JSON-RPC result."""

    value: Any

    @property
    def raw(self) -> bytes:
        return msgspec.json.encode(self.value)


class ErrorReply(Struct, frozen=True):
    """A JSON-RPC error."""

    code: Any
    message: str

    def __str__(self) -> str:
        return f"the error {self.code}: {self.message[:120]}"


class NoReply(Struct, frozen=True):
    """An answer that is not JSON-RPC."""

    why: str

    def __str__(self) -> str:
        return self.why


RpcReply: TypeAlias = ResultReply | ErrorReply | NoReply


def read_reply(response: ProbeResponse | ProbeFailure) -> RpcReply:
    """Return the JSON-RPC reply in a response, with faults tolerated."""
    if isinstance(response, ProbeFailure):
        return NoReply(response.why)
    return read_reply_value(response.json, response)


def read_reply_value(value: Any, response: ProbeResponse) -> RpcReply:
    if isinstance(value, dict):
        error = value.get("error")
        if isinstance(error, dict):
            return ErrorReply(error.get("code"), str(error.get("message", "")))
        if value.get("result") is not None:
            return ResultReply(value["result"])
    return NoReply(
        f"no answer of JSON-RPC, but HTTP {response.status}: {_body_excerpt(response.body)}"
    )


def reply_faults(response: ProbeResponse | ProbeFailure, id: str | None) -> list[tuple[str, str]]:
    """Return the rules that a reply to the request `id` breaks, each with a detail.

    `id` is None for a request whose id cannot be read.
    """
    if isinstance(response, ProbeFailure):
        return [("answer-status", response.why)]
    return [*_http_faults(response), *reply_value_faults(response.json, id)]


def _http_faults(response: ProbeResponse) -> list[tuple[str, str]]:
    found = []
    # An error of JSON-RPC is an answer, whatever HTTP says.
    if not 200 <= response.status < 300 and not isinstance(read_reply(response), ErrorReply):
        found.append(("answer-status", _status_detail(response)))
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding != "identity":
        found.append(("answer-coding", f"it has the header Content-Encoding: {coding[:40]}"))
    elif 200 <= response.status < 300 and response.content_type != "application/json":
        found.append(("answer-type", f"the type is {response.content_type[:80]!r}"))
    return found


def _status_detail(response: ProbeResponse) -> str:
    match response.status:
        case 401 | 403:
            return f"it was HTTP {response.status}: credentials are given with --token or --header"
        case status if 300 <= status < 400:
            return f"it was HTTP {status}, to {response.headers.get('location', 'nowhere')[:200]!r}"
        case status:
            return f"it was HTTP {status}: {_body_excerpt(response.body)}"


def reply_value_faults(value: Any, id: str | None) -> list[tuple[str, str]]:
    """Return the JSON-RPC rules that a decoded reply breaks, each with a detail.

    `reply_faults` checks the rules for HTTP as well. The list is empty for a reply that is not
    JSON-RPC.
    """
    if not isinstance(value, dict) or not value.keys() & {"jsonrpc", "result", "error"}:
        return []
    found = []
    if value.get("jsonrpc") != "2.0":
        found.append(("answer-version", f'"jsonrpc" is {_excerpt(value.get("jsonrpc"))}'))
    if not _has_id(value, id):
        found.append(("answer-id", f"the id is {_excerpt(value.get('id'))}, not {_excerpt(id)}"))
    if ("result" in value) is ("error" in value):
        both = "both result and error" if "result" in value else "neither result nor error"
        found.append(("answer-one-of", f"it has {both}"))
    if "error" in value and ("result" not in value or value["error"] is not None):
        found += _error_faults(value["error"])
    return found


def _has_id(value: dict[str, Any], id: str | None) -> bool:
    if "id" in value and value["id"] == id:
        return True
    error = value.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return (
        isinstance(code, int) and code in _UNREADABLE_REQUEST_CODES and value.get("id", "") is None
    )


def _error_faults(error: Any) -> list[tuple[str, str]]:
    if not isinstance(error, dict):
        return [("answer-error", f"the error is {_excerpt(error)}")]
    code, message = error.get("code"), error.get("message")
    if not isinstance(code, int) or isinstance(code, bool):
        return [("answer-error", f"the code is {_excerpt(code)}")]
    if not isinstance(message, str):
        return [("answer-error", f"the message is {_excerpt(message)}")]
    return []


def _excerpt(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 80 else f"{text[:80]}…"


def _body_excerpt(body: bytes) -> str:
    text = body[:100].decode("utf-8", "replace")
    return repr(text) if text else "nothing"


ENVELOPE_RULES: Final = (
    "answer-status",
    "answer-type",
    "answer-coding",
    "answer-version",
    "answer-id",
    "answer-one-of",
    "answer-error",
)
"""The rules by which every answer is checked."""
_NO_HEADERS: Final[Mapping[str, str]] = {}
_JSON_HEADERS: Final = {"accept": "application/json", "content-type": "application/json"}


class RpcProbe:
    """JSON-RPC requests to one agent in one format, with checks of the envelope."""

    def __init__(
        self,
        probe: Probe,
        address: WebAddress,
        wire: Wire,
        findings: FindingCollector,
        *,
        headers: Mapping[str, str],
        credentials: Mapping[str, str],
        key: str,
    ) -> None:
        self._probe = probe
        self._address = address
        self.wire = wire
        self._findings = findings
        version = {} if wire is Wire.V03 else {VERSION: wire.value}
        self._headers = {**headers, **_JSON_HEADERS, **version, "x-correlation-id": key}
        self._credentials = credentials
        self._key = key
        self._asked = 0

    def new_id(self) -> str:
        """Return a request id in the form `run/step[iteration]`, which workflows use."""
        self._asked += 1
        return f"{self._key}/check[{self._asked}]"

    async def ask(self, verb: Verb, params: Any) -> RpcReply:
        """Send a request and check the envelope of the answer."""
        return await self.call(METHODS[self.wire][verb], params)

    async def call(
        self, method: str, params: Any, headers: Mapping[str, str] = _NO_HEADERS
    ) -> RpcReply:
        id = self.new_id()
        request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        return await self.post(msgspec.json.encode(request), id, headers)

    async def post(
        self, body: bytes, id: str | None, headers: Mapping[str, str] = _NO_HEADERS
    ) -> RpcReply:
        """Send any body and check the envelope of the answer."""
        response = await self.look(body, headers)
        self.judge(reply_faults(response, id))
        return read_reply(response)

    async def look(
        self, body: bytes, headers: Mapping[str, str] = _NO_HEADERS, *, credentials: bool = True
    ) -> ProbeResponse | ProbeFailure:
        """Post a body, and return the response without checking it."""
        sent = {**self._headers, **(self._credentials if credentials else {})}
        return await self._probe.ask("POST", self._address, {**sent, **headers}, body)

    def judge(self, broken: list[tuple[str, str]]) -> None:
        for rule, detail in broken:
            self.failed(rule, detail)

    def conclude(self) -> None:
        """Add a pass to the findings for each envelope rule that never failed."""
        for rule in ENVELOPE_RULES:
            self.passed(rule)

    # Findings of this format

    def passed(self, rule: str, detail: str = "") -> None:
        self._findings.passed(rule, detail, wire=self.wire)

    def failed(self, rule: str, detail: str) -> None:
        self._findings.failed(rule, detail, wire=self.wire)

    def skipped(self, rule: str, reason: str) -> None:
        self._findings.skipped(rule, reason, wire=self.wire)
