"""The exceptions of JSON-RPC, and their conversion to and from error objects.

Text from the other end is made safe for log lines here, too. Pure.
"""

from __future__ import annotations

import traceback
from typing import Any, ClassVar, Final

from accord.jsonrpc.protocol.catalogue import CATALOGUE, Entry


class AccordError(Exception):
    """The base class of the errors that Accord raises on purpose."""


class RpcError(AccordError):
    """An error with a code, as JSON-RPC carries it.

    If a handler raises it (or a subclass), the caller gets exactly this code, message and data. If
    a call raises it with `remote` True, the other end answered with this error.
    """

    code: int = -32000
    default_message: ClassVar[str] = "Server error"

    def __init__(
        self, message: str | None = None, *, code: int | None = None, data: Any = None
    ) -> None:
        self.message = self.default_message if message is None else message
        super().__init__(self.message)
        if code is not None:
            self.code = code
        self.data = data
        self.remote = False
        self.reason: str | None = None
        """The name of the error in the catalogue, if the protocol above JSON-RPC defines the
        meaning of the code and `data` has no `reason`."""

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"

    @property
    def entry(self) -> Entry | None:
        """The entry of the catalogue for this error; None if there is none.

        Several entries may share a code; then `data.reason`, which Accord sends, names the entry.
        """
        reason = self.data.get("reason") if isinstance(self.data, dict) else None
        return CATALOGUE.find(self.code, self.reason if reason is None else reason)


class ParseError(RpcError):
    """Input that is not JSON."""

    code = -32700
    default_message = "Parse error"


class InvalidRequestError(RpcError):
    """JSON that is not a valid message."""

    code = -32600
    default_message = "Invalid Request"


class MethodNotFoundError(RpcError):
    """A call of a method that does not exist."""

    code = -32601
    default_message = "Method not found"


class InvalidParamsError(RpcError):
    """Params that the called method does not accept."""

    code = -32602
    default_message = "Invalid params"


class InternalError(RpcError):
    """An unforeseen failure; the log of the end that raised it has the details."""

    code = -32603
    default_message = "Internal error"


class ServerError(RpcError):
    """An application's error for which it has no code of its own."""


class BusyError(RpcError):
    """A refusal of work before it began, because a limit is reached."""

    code = -32010
    default_message = "Busy"


class MessageTooLargeError(RpcError):
    """A message over the size limit."""

    code = -32012
    default_message = "Message too large"


class CallTimeoutError(RpcError, TimeoutError):
    """A call that was not answered within its timeout."""

    code = -32009
    default_message = "Timed out"


class TransportError(RpcError):
    """A failure of the connection.

    `recoverable` is True if a retry can help; `advice` describes what to do.
    """

    code = -32008
    default_message = "Transport error"
    recoverable: bool = True
    advice: str = "Connect again; repeat only calls that are safe to repeat."

    def __init__(
        self,
        message: str | None = None,
        *,
        recoverable: bool | None = None,
        advice: str | None = None,
        data: Any = None,
    ) -> None:
        super().__init__(message, data=data)
        if recoverable is not None:
            self.recoverable = recoverable
        if advice is not None:
            self.advice = advice

    @property
    def entry(self) -> Entry | None:
        # The reason that a WebSocket was closed with is the other end's own word.
        return CATALOGUE.get(self.code)


class ConnectError(TransportError):
    """A failure to connect to the other end, or to listen."""

    default_message = "Could not connect"
    advice = "Check that the server runs and that the address is right, then try again."


class ConnectionLostError(TransportError, ConnectionError):
    """The end of an open connection; a call in flight may have been executed or not."""

    default_message = "Connection lost"


class ConnectionClosedError(TransportError):
    """A connection that this end has closed, or that was never open."""

    default_message = "Connection closed"
    recoverable = False
    advice = "Open a new connection."


class FramingError(TransportError):
    """Received bytes that cannot be split into messages."""

    default_message = "Broken framing"
    recoverable = False
    advice = "Check that both ends use the same framing."


class InvalidResultError(AccordError):
    """A result that is not of the type that the caller of the method expects."""


class IdsExhaustedError(AccordError):
    """A connection has used all its request ids; a new connection is needed."""


class RegistrationError(AccordError):
    """A function that cannot be served as a method in the way it is declared."""


_BY_CODE: dict[int, type[RpcError]] = {
    cls.code: cls
    for cls in (
        ParseError,
        InvalidRequestError,
        MethodNotFoundError,
        InvalidParamsError,
        InternalError,
        BusyError,
        MessageTooLargeError,
        CallTimeoutError,
    )
}


def own_error(name: str, message: str | None = None, **members: Any) -> RpcError:
    """Return the error that the catalogue has under `name`.

    Its `data` has the name as `reason`, so that programs need not match on the code.
    """
    entry = CATALOGUE.named(name)
    return from_wire(
        entry.code, entry.message if message is None else message, {"reason": name, **members}
    )


def from_wire(code: int, message: str, data: Any = None) -> RpcError:
    """Return the exception for a received error object, given by its members.

    The exception is of the subclass for `code`; without such a subclass, it is an `RpcError`.
    """
    cls = _BY_CODE.get(code)
    if cls is None:
        return RpcError(message, code=code, data=data)
    return cls(message, data=data)


def is_expected(error: BaseException, *, strict: bool = False) -> bool:
    """Return whether the caller may see `error` unchanged.

    If a handler raises a transport error, it is about a third party, so the caller must not see it.
    In strict mode, the caller sees only errors whose code is in the catalogue.
    """
    if not isinstance(error, RpcError) or isinstance(error, TransportError):
        return False
    return not strict or CATALOGUE.get(error.code) is not None


def wire_code(error: BaseException, *, strict: bool = False) -> int:
    """Return the error code that the caller gets when a handler raises `error`."""
    if isinstance(error, RpcError) and is_expected(error, strict=strict):
        return error.code
    return CATALOGUE.named("internal_error").code


def to_wire(
    error: BaseException, *, correlation_id: str, strict: bool = False, debug: bool = False
) -> RpcError:
    """Return the error to send to the caller when a handler raises `error`.

    An error that the caller must not see becomes an internal_error with the `correlation_id`.
    """
    if is_expected(error, strict=strict):
        assert isinstance(error, RpcError)
        return error
    members: dict[str, Any] = {"correlationId": correlation_id}
    if debug:
        members["exception"] = repr(error)
        members["traceback"] = traceback.format_exception(error)
    return own_error("internal_error", None, **members)


MAX_LOGGED_CHARACTERS: Final = 200
LOGGED_AT_FIRST: Final = 10
LOGGED_THEN: Final = 1_000


def is_worth_logging(count: int) -> bool:
    """Return whether to log the `count`th fault of one kind on one connection.

    Logged are the first ten, then every thousandth: a hostile message can contain a thousand
    faults, and logging costs more than reading.
    """
    return count <= LOGGED_AT_FIRST or count % LOGGED_THEN == 0


def log_line(text: object) -> str:
    """Return `text` on one line and shortened, so that it cannot forge a log line."""
    shown = str(text)
    if len(shown) > MAX_LOGGED_CHARACTERS:
        shown = f"{shown[:MAX_LOGGED_CHARACTERS]}…"
    return shown if shown.isprintable() else shown.encode("unicode_escape").decode("ascii")
