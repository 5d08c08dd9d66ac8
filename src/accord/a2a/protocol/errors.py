"""Exceptions of A2A, the error codes of agents, and their meaning for retries. Pure.

    CallError                       a call of an agent gave no result; has `code` and `message`
    ├── DefiniteError               the call failed: retry with a new message id, if at all
    │   ├── AgentError              the agent answered with an error
    │   ├── MalformedAnswerError    the answer is invalid; `body` has its beginning
    │   └── RefusedError            nothing was done: by the HTTP status, or not even sent
    └── UnknownOutcomeError         the work may have been done: retry with the same message id

Servers raise an `RpcError`, made by `failure`.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from msgspec import Struct

from accord.jsonrpc.protocol.errors import AccordError, RpcError, from_wire

DOMAIN: Final = "a2a-protocol.org"
ERROR_INFO: Final = "type.googleapis.com/google.rpc.ErrorInfo"


class ErrorKind(Struct, frozen=True):
    """An error of the protocol: its code, its name and a default message."""

    code: int
    reason: str
    message: str


ERROR_KINDS: Final = {
    fault.reason: fault
    for fault in (
        ErrorKind(-32001, "TASK_NOT_FOUND", "There is no such task"),
        ErrorKind(-32002, "TASK_NOT_CANCELABLE", "The task cannot be cancelled"),
        ErrorKind(
            -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED", "Push notifications are not sent here"
        ),
        ErrorKind(-32004, "UNSUPPORTED_OPERATION", "This cannot be done here"),
        ErrorKind(-32005, "CONTENT_TYPE_NOT_SUPPORTED", "This type of content is not understood"),
        ErrorKind(-32006, "INVALID_AGENT_RESPONSE", "The agent's answer is invalid"),
        ErrorKind(-32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", "There is no extended agent card"),
        ErrorKind(-32008, "EXTENSION_SUPPORT_REQUIRED", "An extension has to be supported"),
        ErrorKind(
            -32009, "VERSION_NOT_SUPPORTED", "This version of the protocol is not spoken here"
        ),
    )
}
TASK_NOT_FOUND: Final = ERROR_KINDS["TASK_NOT_FOUND"].code
INTERNAL: Final = -32603

RETRY_STATUSES: Final = frozenset((408, 429))
"""HTTP statuses below 500 after which a request may be repeated."""

Code: TypeAlias = int | str
"""A JSON-RPC code where the agent gave one, else a name such as `timeout` or `http_503`."""


def failure(reason: str, message: str = "", **metadata: str) -> RpcError:
    """Return the error for a server to answer with; `reason` is a key of ERROR_KINDS."""
    fault = ERROR_KINDS[reason]
    # 1.0, section 9.5: details are a list of objects that say their type.
    info = {"@type": ERROR_INFO, "reason": reason, "domain": DOMAIN}
    data = [{**info, "metadata": metadata} if metadata else info]
    return from_wire_unmapped(fault.code, message or fault.message, data)


def from_wire_unmapped(code: int, message: str, data: Any = None) -> RpcError:
    """Return an RpcError with the A2A error code `code`.

    `from_wire` would return an error of Accord for codes from -32099 to -32000, to which Accord
    gives other meanings: its -32009 is a timeout.
    """
    if -32099 <= code <= -32000:
        return RpcError(message, code=code, data=data)
    return from_wire(code, message, data)


class CallError(AccordError):
    """A call of an agent gave no result."""

    def __init__(
        self, code: Code, message: str, *, body: bytes = b"", retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.body = body
        """The beginning of the agent's answer, for the log."""
        self.retry_after = retry_after
        """Seconds to wait before the next request, from Retry-After."""

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class DefiniteError(CallError):
    """The call failed for good: a retry needs a new message id."""


class AgentError(DefiniteError):
    """The agent answered with an error."""

    def __init__(self, code: int, message: str, *, data: Any = None, body: bytes = b"") -> None:
        super().__init__(code, message, body=body)
        self.data = data


class MalformedAnswerError(DefiniteError):
    """The agent's answer is invalid."""

    def __init__(self, message: str, *, body: bytes = b"") -> None:
        super().__init__("malformed_answer", message, body=body)


class RefusedError(DefiniteError):
    """The agent's server or this client refused the call: nothing was done."""


class UnknownOutcomeError(CallError):
    """The agent may or may not have done the work."""


def error_from_answer(code: int, message: str, data: Any = None, *, body: bytes = b"") -> CallError:
    """Return the exception for an agent's error object."""
    if code == INTERNAL:
        return UnknownOutcomeError(code, message, body=body)
    return AgentError(code, message, data=data, body=body)


def error_from_status(
    status: int, message: str, *, body: bytes = b"", retry_after: float | None = None
) -> CallError:
    """Return the exception for an HTTP status without a JSON-RPC answer."""
    kind = UnknownOutcomeError if status >= 500 or status in RETRY_STATUSES else RefusedError
    return kind(f"http_{status}", message, body=body, retry_after=retry_after)
