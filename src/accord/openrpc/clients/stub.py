"""The runtime of generated Python clients: it sends calls and decodes results.

Generated clients contain only names and types. A stand-in is a class in place of a type that
msgspec cannot decode. There are two such types: a union with members that neither the first byte of
a value nor a tag distinguishes (see `either`), and an object that keeps members with unknown names
(see `open_record`). A stand-in also makes a recursive type possible that is not a class. Type
checkers see the ordinary types instead of stand-ins.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from functools import lru_cache
from types import NoneType, TracebackType, UnionType
from typing import (
    Any,
    ClassVar,
    Generic,
    Literal,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
)

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.protocol.errors import InvalidResultError, RpcError
from accord.jsonrpc.runtime.calls import OutgoingBatch
from accord.jsonrpc.runtime.peer import Peer
from accord.transports.connect import ConnectOptions, connect


def either(name: str, members: Callable[[], tuple[Any, ...]]) -> Any:
    """Return a type for values of any of the types that `members` returns.

    `members` is called when the type is first used. A value gets the first member type that fits.
    An object gets the fitting type that declares most of the object's members; if several types
    declare equally many, the first of these.
    """
    return _Either(name, (), {"members": staticmethod(lru_cache(1)(members))})


def open_record(
    name: str, fields: Callable[[], Mapping[str, Any]], *, required: Iterable[str]
) -> Any:
    """Return a type for dictionaries with some members of known types.

    `fields` returns these types by name. Other members are kept as decoded from JSON.
    """
    members = {"fields": staticmethod(lru_cache(1)(fields)), "required": frozenset(required)}
    return _OpenRecord(name, (), members)


def decoder(type: Any) -> msgspec.json.Decoder[Any]:
    """Return a JSON decoder for a type that may contain stand-ins."""
    return _decoder(type)


@lru_cache(maxsize=1024)
def _decoder(type: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type, dec_hook=_decode)


def _decode(type: Any, value: Any) -> Any:
    if not isinstance(type, _StandIn):
        raise NotImplementedError(f"{type!r} cannot be decoded")
    return type.decode(value)


def _convert(value: Any, type: Any) -> Any:
    return msgspec.convert(value, type, dec_hook=_decode)


class _StandIn(type):
    """The metaclass of stand-ins.

    msgspec does not know stand-ins; it calls the hook `_decode`, which calls `decode`. `isinstance`
    with a stand-in checks whether a value fits the type that it replaces.
    """

    def decode(cls, value: Any) -> Any:
        raise NotImplementedError


class _Either(_StandIn):
    members: Callable[[], tuple[Any, ...]]

    def decode(cls, value: Any) -> Any:
        best, most = None, -2
        for member in cls.members():
            try:
                found = _convert(value, member)
            except msgspec.ValidationError:
                continue
            known = _known(value, member)
            if known > most:
                best, most = found, known
            if not isinstance(value, dict):
                break
        if most == -2:
            raise ValueError(f"Expected a value of {cls.__name__}, and no variant of it fits")
        return best

    def __instancecheck__(cls, value: Any) -> bool:
        return any(_is(value, member) for member in cls.members())


class _OpenRecord(_StandIn):
    fields: Callable[[], Mapping[str, Any]]
    required: frozenset[str]

    def decode(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f"Expected an object for {cls.__name__}")
        missing = cls.required - value.keys()
        if missing:
            raise ValueError(f"Object missing required field `{min(missing)}`")
        known = {
            name: _convert(value[name], type)
            for name, type in cls.fields().items()
            if name in value
        }
        return {**value, **known}

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, dict)


def _known(value: Any, member: Any) -> int:
    """Return the number of members of `value` that the type `member` declares.

    The number is -1 for a type without declared members, and 0 for a value that is not an object.
    """
    if not isinstance(value, dict):
        return 0
    if isinstance(member, _OpenRecord):
        return len(member.fields().keys() & value.keys())
    if isinstance(member, type) and issubclass(member, Struct):
        return len(value.keys() & {*member.__struct_encode_fields__})
    return -1


def _is(value: Any, type_: Any) -> bool:
    origin = get_origin(type_)
    if type_ is Any:
        return True
    if type_ is None or type_ is NoneType:
        return value is None
    if origin is Literal:
        return any(value == each and type(value) is type(each) for each in get_args(type_))
    if origin is Union or origin is UnionType:
        return any(_is(value, member) for member in get_args(type_))
    return isinstance(value, type_ if origin is None else origin)


__all__ = [
    "AsyncClient",
    "BlockingClient",
    "BlockingMethods",
    "Call",
    "Errors",
    "Methods",
    "Returns",
    "either",
    "given",
    "open_record",
    "placed",
]

T = TypeVar("T")
ClientT = TypeVar("ClientT", bound="AsyncClient")
Call: TypeAlias = Coroutine[Any, Any, T]
"""The return type of a client's method: await it for the result."""
Errors: TypeAlias = Mapping[int, type[RpcError]]
"""The exception classes of documented errors, by error code."""


class Returns(Generic[T]):
    """A carrier for the type of a method's result, such as `Returns[int | None]`.

    Generated clients pass it to a call, because a union such as `int | None` is not a class.
    """


def given(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the params of a call by name, without those that are UNSET."""
    return {name: value for name, value in params.items() if value is not UNSET}


def placed(params: Sequence[Any]) -> list[Any]:
    """Return the params of a call by position, without UNSET params at the end.

    Raises ValueError if a param is UNSET and a later one is not: the later one would take its
    position.
    """
    found = list(params)
    while found and found[-1] is UNSET:
        found.pop()
    if UNSET in found:
        raise ValueError(
            f"parameter {found.index(UNSET) + 1} is left out, and goes by position: those after "
            "it cannot be given without it"
        )
    return found


class Caller(Protocol):
    """The interface by which a client's methods send calls and notifications."""

    def call(self, method: str, params: Any, returns: type[Returns[T]]) -> Call[T]: ...

    def notify(self, method: str, params: Any) -> Call[None]: ...


class Methods:
    """The base of namespaces in generated clients; subclasses add the API's methods."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller


class AsyncClient(Methods):
    """A connection to an API; generated subclasses add the API's methods."""

    _url: ClassVar[str] = ""
    _errors: ClassVar[Errors] = {}

    def __init__(
        self,
        peer: Peer,
        *,
        timeout: float | None | UnsetType = UNSET,
        idempotent: bool = False,
    ) -> None:
        super().__init__(_AtOnce(peer, timeout, idempotent, self._errors))
        self.peer = peer

    @classmethod
    def connect(
        cls,
        target: str | Sequence[str] | None = None,
        router: Router | None = None,
        **options: Unpack[ConnectOptions],
    ) -> Connecting[Self]:
        """Connect as `accord.connect` does, with the same options.

        Use the result with `async with`, or await it. The default target is the server in the
        OpenRPC document.
        """
        return Connecting(cls, connect(_target(cls, target, cls._url), router, **options))

    def using(self, *, timeout: float | None | UnsetType = UNSET, idempotent: bool = False) -> Self:
        """Return a client of the same connection with other options for its calls.

        `timeout` is in seconds. With `idempotent`, a reconnecting peer may send the calls again.
        """
        return type(self)(self.peer, timeout=timeout, idempotent=idempotent)

    def batch(self) -> Batch[Self]:
        """Collect calls in an `async with` block, and send them together when it ends.

        Await the calls after the block.
        """
        return Batch(self)

    async def close(self) -> None:
        """End the connection."""
        await self.peer.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()


class Connecting(Generic[ClientT]):
    """A client whose connection is established when it is awaited or entered."""

    def __init__(self, make: Callable[[Peer], ClientT], peer: Any) -> None:
        self._make = make
        self._peer = peer

    def __await__(self) -> Generator[Any, None, ClientT]:
        return self._connect().__await__()

    async def _connect(self) -> ClientT:
        return self._make(await self._peer)

    async def __aenter__(self) -> ClientT:
        return self._make(await self._peer.__aenter__())

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._peer.__aexit__(exc_type, exc, traceback)


class Batch(Generic[ClientT]):
    """A batch: calls collected in an `async with` block and sent together at its end."""

    def __init__(self, client: ClientT) -> None:
        self._client = client
        self._batch = client.peer.batch()

    async def __aenter__(self) -> ClientT:
        await self._batch.__aenter__()
        client = type(self._client)(self._client.peer)
        # Programs know no callers; their clients have methods of the API only.
        client._caller = _BatchCaller(self._batch, client._errors)  # noqa: SLF001
        return client

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._batch.__aexit__(exc_type, exc, traceback)


class _AtOnce:
    """A caller that sends each call separately, when the call is awaited."""

    def __init__(
        self, peer: Peer, timeout: float | None | UnsetType, idempotent: bool, errors: Errors
    ) -> None:
        self._peer = peer
        self._timeout = timeout
        self._idempotent = idempotent
        self._errors = errors

    async def call(self, method: str, params: Any, returns: type[Returns[T]]) -> T:
        try:
            raw = await self._peer.call(
                method, params, into=Raw, timeout=self._timeout, idempotent=self._idempotent
            )
        except RpcError as error:
            _raise_documented(error, self._errors)
            raise
        return _decoded(raw, method, returns)

    async def notify(self, method: str, params: Any) -> None:
        await self._peer.notify(method, params)


class _BatchCaller:
    """A caller that adds calls to a batch.

    Each call is added immediately; its result can be awaited after the batch was sent.
    """

    def __init__(self, batch: OutgoingBatch, errors: Errors) -> None:
        self._batch = batch
        self._errors = errors

    def call(self, method: str, params: Any, returns: type[Returns[T]]) -> Call[T]:
        call = self._batch.call(method, params)

        async def result() -> T:
            try:
                raw = await call.result(Raw)
            except RpcError as error:
                _raise_documented(error, self._errors)
                raise
            return _decoded(raw, method, returns)

        return _Later(result)

    def notify(self, method: str, params: Any) -> Call[None]:
        self._batch.notify(method, params)

        async def nothing() -> None:
            return None

        return _Later(nothing)


class _Later(Coroutine[Any, Any, T]):
    """A coroutine that starts when it is first awaited.

    Unlike other coroutines it may be dropped without being awaited.
    """

    def __init__(self, begin: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._begin = begin
        self._begun: Coroutine[Any, Any, T] | None = None

    def _coroutine(self) -> Coroutine[Any, Any, T]:
        if self._begun is None:
            self._begun = self._begin()
        return self._begun

    def __await__(self) -> Generator[Any, Any, T]:
        return self._coroutine().__await__()

    def send(self, value: Any) -> Any:
        return self._coroutine().send(value)

    def throw(self, *error: Any) -> Any:
        return self._coroutine().throw(*error)

    def close(self) -> None:
        if self._begun is not None:
            self._begun.close()


class BlockingPeer(Protocol):
    """The interface of a peer for blocking clients; `accord.sync` implements it."""

    def call(
        self,
        method: str,
        params: Any = ...,
        *,
        into: Any = ...,
        timeout: float | None | UnsetType = ...,
        idempotent: bool = ...,
    ) -> Any: ...

    def notify(self, method: str, params: Any = ...) -> None: ...

    def close(self) -> None: ...


class BlockingMethods:
    """The base of namespaces in generated blocking clients.

    Subclasses add the API's methods.
    """

    def __init__(self, caller: _Blocking) -> None:
        self._caller = caller


class BlockingClient(BlockingMethods):
    """A connection to an API, for programs without an event loop."""

    _url: ClassVar[str] = ""
    _errors: ClassVar[Errors] = {}
    _open: ClassVar[Callable[..., BlockingPeer]]

    def __init__(
        self,
        peer: BlockingPeer,
        *,
        timeout: float | None | UnsetType = UNSET,
        idempotent: bool = False,
    ) -> None:
        super().__init__(_Blocking(peer, timeout, idempotent, self._errors))
        self.peer = peer

    @classmethod
    def connect(
        cls,
        target: str | Sequence[str] | None = None,
        router: Router | None = None,
        **options: Unpack[ConnectOptions],
    ) -> Self:
        """Connect as `accord.sync.connect` does, with the same options.

        The default target is the server in the OpenRPC document.
        """
        return cls(cls._open(_target(cls, target, cls._url), router, **options))

    def using(self, *, timeout: float | None | UnsetType = UNSET, idempotent: bool = False) -> Self:
        """Return a client of the same connection with other options for its calls.

        `timeout` is in seconds. With `idempotent`, a reconnecting peer may send the calls again.
        """
        return type(self)(self.peer, timeout=timeout, idempotent=idempotent)

    def close(self) -> None:
        """End the connection."""
        self.peer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class _Blocking:
    """A caller that blocks until the result of a call arrives."""

    def __init__(
        self,
        peer: BlockingPeer,
        timeout: float | None | UnsetType,
        idempotent: bool,
        errors: Errors,
    ) -> None:
        self._peer = peer
        self._timeout = timeout
        self._idempotent = idempotent
        self._errors = errors

    def call(self, method: str, params: Any, returns: type[Returns[T]]) -> T:
        try:
            raw = self._peer.call(
                method, params, into=Raw, timeout=self._timeout, idempotent=self._idempotent
            )
        except RpcError as error:
            _raise_documented(error, self._errors)
            raise
        return _decoded(raw, method, returns)

    def notify(self, method: str, params: Any) -> None:
        self._peer.notify(method, params)


def _target(cls: type, target: str | Sequence[str] | None, url: str) -> str | Sequence[str]:
    if target is None and not url:
        raise ValueError(f"{cls.__name__}.connect needs a URL: the document names no server")
    return url if target is None else target


def _raise_documented(error: RpcError, errors: Errors) -> None:
    """Raise the exception class that is documented for an error's code, if any.

    Do nothing if the code is not documented, or if the error did not come from the server.
    """
    known = errors.get(error.code)
    if known is not None and error.remote:
        documented = known(error.message, data=error.data)
        documented.remote = True
        raise documented from error


def _decoded(raw: Any, method: str, returns: type[Returns[T]]) -> T:
    (into,) = get_args(returns)
    try:
        result: T = decoder(into).decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidResultError(
            f"the result of {method} is not what the document says: {error}"
        ) from error
    return result
