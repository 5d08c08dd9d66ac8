"""The context of a call for its handler, and the interface of observers.

An observer sees every incoming call; metrics and tracing are observers. The interface is pure;
observers bring their own clocks.

    called ─▶ the handler runs ─▶ ended ─▶ left      an inline method
    called ─▶ the handler starts ─▶ left ─▶ ended    one that runs in a task or a thread

`called`, `ended` and `left` are the callbacks: `left` resets the context variables that `called`
has set. All callbacks happen on the thread of the event loop that serves the call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar, overload

from msgspec import UNSET, Struct, UnsetType

from accord.jsonrpc.protocol.channel import ChannelInfo, State
from accord.jsonrpc.protocol.errors import RpcError, own_error
from accord.jsonrpc.protocol.messages import Id

T = TypeVar("T")


class Caller(Protocol):
    """The other end of a connection, as seen by a handler. `Peer` implements it."""

    @property
    def state(self) -> State:
        """The state of the connection."""

    @overload
    async def call(
        self,
        method: str,
        params: Any = ...,
        *,
        into: type[T],
        timeout: float | None | UnsetType = ...,
        idempotent: bool = ...,
    ) -> T: ...
    @overload
    async def call(
        self,
        method: str,
        params: Any = ...,
        *,
        timeout: float | None | UnsetType = ...,
        idempotent: bool = ...,
    ) -> Any: ...

    async def notify(self, method: str, params: Any = ...) -> None:
        """Send a notification; return when it is queued for sending."""

    def post(self, method: str, params: Any = ...) -> None:
        """Send a notification without waiting; drop it if the connection has ended."""

    def cancel_incoming(self, id: Id) -> bool:
        """Stop serving a request of the other end, which then gets no answer.

        Returns True if the request was running.
        """


InThread: TypeAlias = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs a function without arguments in a thread; awaiting it gives the result."""


def _no_threads(_function: Callable[[], Any]) -> Awaitable[Any]:
    raise RuntimeError("this call is not served with a pool of threads")


def _no_arguments() -> dict[str, Any]:
    raise RuntimeError(
        "context.arguments is for interceptors; a method without any has its parameters"
    )


class _Called(Struct, eq=False):
    method: str
    id: Id | UnsetType = UNSET


class Context(_Called, eq=False, kw_only=True):
    """The context of one call being served.

    A handler gets it by annotating a parameter with `Context`.
    """

    peer: Caller | None = None
    """The other end, which may be called at any time, also after this call. None if the transport
    is one-way, as HTTP is; `call` and `notify` then raise an exception."""
    channel: ChannelInfo
    headers: Mapping[str, str] = {}
    state: dict[str, Any] = {}
    """State of the connection, shared by all its handlers."""
    in_thread: InThread = _no_threads
    """Runs blocking functions: `await context.in_thread(partial(read, path))`. For async
    methods the dispatcher sets it, to run them in the pool that its threaded methods use."""
    name_arguments: Callable[[], dict[str, Any]] = _no_arguments
    """Returns the value of `arguments`; set for methods with interceptors."""

    @property
    def is_notification(self) -> bool:
        return self.id is UNSET

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the call by name, decoded and with defaults, for interceptors.

        This is a copy: changing it does not change the call.
        """
        return self.name_arguments()

    @overload
    async def call(
        self,
        method: str,
        params: Any = ...,
        *,
        into: type[T],
        timeout: float | None | UnsetType = ...,
    ) -> T: ...
    @overload
    async def call(
        self, method: str, params: Any = ..., *, timeout: float | None | UnsetType = ...
    ) -> Any: ...

    async def call(
        self,
        method: str,
        params: Any = UNSET,
        *,
        into: Any = Any,
        timeout: float | None | UnsetType = UNSET,
    ) -> Any:
        """Call the other end on the same connection; return the result, decoded to `into`.

        Raises the error `capability_not_supported` if the transport is one-way, as HTTP is.
        """
        return await self._caller().call(method, params, into=into, timeout=timeout)

    async def notify(self, method: str, params: Any = UNSET) -> None:
        """Send a notification to the other end on the same connection."""
        await self._caller().notify(method, params)

    def _caller(self) -> Caller:
        if self.peer is None:
            raise own_error(
                "capability_not_supported",
                f"the caller cannot be called back over {self.channel.scheme}",
            )
        return self.peer


CANCELLED: Final = "cancelled"

Outcome: TypeAlias = int | Literal["cancelled"] | None
"""The outcome of a call: None after success, an error code after a failure, "cancelled" if the
caller went away. The code of a failed notification is the one that a request would get."""

MakeContext: TypeAlias = Callable[[str, Id | UnsetType], Context]
"""Makes the context of a call from its method and id. An observer should call it only if it needs
the context, as making one takes time."""


class Observation(Protocol):
    """An observer's view of one call, notified when the call ends."""

    def ended(self, outcome: Outcome, error: BaseException | None) -> None:
        """Handle the end of the call; called once. `error` is its exception, if known."""

    def left(self) -> None:
        """Reset the context variables that `called` has set; called once, in the same context.

        It is called when the dispatcher has served the call or has started its handler.
        """


class Observer(Protocol):
    """An observer of all incoming calls, and of input that is not a call.

    Exceptions of an observer are logged; they do not affect the call.
    """

    def called(
        self, method: str, id: Id | UnsetType, *, known: bool, context: MakeContext
    ) -> Observation:
        """Handle an incoming call, or a notification if `id` is UNSET.

        If `known` is False there is no such method, and `method` is any text that the caller chose.
        Context variables that are set here are seen by the handler, inline as well as in a task or
        a thread; reset them in `left`.
        """

    def batch_received(self, size: int) -> None:
        """Handle an incoming batch of `size` messages; `called` follows for each call."""

    def refused(self, error: RpcError) -> None:
        """Handle input that cannot be served: not JSON, not a valid message, or too large."""
