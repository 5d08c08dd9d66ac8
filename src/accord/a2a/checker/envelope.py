"""Answers as JSON-RPC over HTTP has them: what is wrong with one, and what it says all the same.
Pure.

An answer is judged strictly and read leniently, so that one fault does not hide the next.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from accord.a2a.checker.probe import Seen, Unseen

_UNREAD: Final = frozenset((-32700, -32600))
"""JSON-RPC 2.0, section 5: with these the id is null, as it could not be read."""


class Result(Struct, frozen=True):
    """It worked."""

    value: Any

    @property
    def raw(self) -> bytes:
        return msgspec.json.encode(self.value)


class Fault(Struct, frozen=True):
    """An error of JSON-RPC."""

    code: Any
    message: str

    def __str__(self) -> str:
        return f"the error {self.code}: {self.message[:120]}"


class Nothing(Struct, frozen=True):
    """No answer of JSON-RPC at all."""

    why: str

    def __str__(self) -> str:
        return self.why


Said: TypeAlias = Result | Fault | Nothing


def read(seen: Seen | Unseen) -> Said:
    """What an answer says, as far as it can be understood."""
    if isinstance(seen, Unseen):
        return Nothing(seen.why)
    return read_value(seen.json, seen)


def read_value(value: Any, seen: Seen) -> Said:
    if isinstance(value, dict):
        error = value.get("error")
        if isinstance(error, dict):
            return Fault(error.get("code"), str(error.get("message", "")))
        if value.get("result") is not None:
            return Result(value["result"])
    return Nothing(f"no answer of JSON-RPC, but HTTP {seen.status}: {_beginning(seen.body)}")


def faults(seen: Seen | Unseen, id: str | None) -> list[tuple[str, str]]:
    """The rules that an answer to the request `id` breaks, each with what is wrong. None is for
    a request whose id cannot be read."""
    if isinstance(seen, Unseen):
        return [("answer-status", seen.why)]
    return [*_http_faults(seen), *value_faults(seen.json, id)]


def _http_faults(seen: Seen) -> list[tuple[str, str]]:
    found = []
    # An error of JSON-RPC is an answer, whatever HTTP says.
    if not 200 <= seen.status < 300 and not isinstance(read(seen), Fault):
        found.append(("answer-status", _status_detail(seen)))
    coding = seen.headers.get("content-encoding", "identity").strip().lower()
    if coding != "identity":
        found.append(("answer-coding", f"it has the header Content-Encoding: {coding[:40]}"))
    elif 200 <= seen.status < 300 and seen.content_type != "application/json":
        found.append(("answer-type", f"the type is {seen.content_type[:80]!r}"))
    return found


def _status_detail(seen: Seen) -> str:
    match seen.status:
        case 401 | 403:
            return f"it was HTTP {seen.status}: credentials are given with --token or --header"
        case status if 300 <= status < 400:
            return f"it was HTTP {status}, to {seen.headers.get('location', 'nowhere')[:200]!r}"
        case status:
            return f"it was HTTP {status}: {_beginning(seen.body)}"


def value_faults(value: Any, id: str | None) -> list[tuple[str, str]]:
    """The same for an answer that is decoded; nothing where it is none at all."""
    if not isinstance(value, dict) or not value.keys() & {"jsonrpc", "result", "error"}:
        return []
    found = []
    if value.get("jsonrpc") != "2.0":
        found.append(("answer-version", f'"jsonrpc" is {_shown(value.get("jsonrpc"))}'))
    if not _has_id(value, id):
        found.append(("answer-id", f"the id is {_shown(value.get('id'))}, not {_shown(id)}"))
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
    return isinstance(code, int) and code in _UNREAD and value.get("id", "") is None


def _error_faults(error: Any) -> list[tuple[str, str]]:
    if not isinstance(error, dict):
        return [("answer-error", f"the error is {_shown(error)}")]
    code, message = error.get("code"), error.get("message")
    if not isinstance(code, int) or isinstance(code, bool):
        return [("answer-error", f"the code is {_shown(code)}")]
    if not isinstance(message, str):
        return [("answer-error", f"the message is {_shown(message)}")]
    return []


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 80 else f"{text[:80]}…"


def _beginning(body: bytes) -> str:
    text = body[:100].decode("utf-8", "replace")
    return repr(text) if text else "nothing"
