"""A function that can be called by name: its metadata, the ways to call it, interceptors. Pure.

Interceptors are functions around calls; they get the arguments by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from math import isfinite
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from accord.jsonrpc.methods.binding import Params
from accord.jsonrpc.methods.call_plan import Plan, Planner
from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.methods.signature import Parameter, Signature, innermost, read_signature
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.errors import RegistrationError

Naming: TypeAlias = Callable[[Params], dict[str, Any]]
"""A function that decodes params to a dict of arguments by parameter name."""

_NOBODY = Context("", channel=ChannelInfo(scheme=""))
"""A placeholder for the context, which `naming` passes to plans and drops from the arguments."""


def naming(signature: Signature, planner: Planner) -> Naming:
    """Return a function that decodes params to a dict of arguments by parameter name."""
    places = [each.name for each in signature.parameters if each.by_position]
    several = [each.name for each in signature.parameters if each.kind == "var_positional"]
    plan = planner.plan(partial(_name, places, several))
    defaults = {
        each.name: each.default for each in signature.parameters if each.default is not UNSET
    }

    def named(params: Params) -> dict[str, Any]:
        return {**defaults, **plan(params, _NOBODY)}

    return named


def members(params: Params) -> dict[str, Any]:
    """Return the members of the params if they are an object, else an empty dict.

    Used as the `naming` of methods that decode their params themselves (`raw_method`).
    """
    decoded = None if params is UNSET else msgspec.json.decode(params)
    return decoded if isinstance(decoded, dict) else {}


def _name(places: list[str], several: list[str], /, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Collect the arguments of a call into a dict by parameter name.

    In `naming`, a plan calls this function in place of the method's function, so it gets the same
    arguments.
    """
    given = [_plain(value) for value in args if value is not _NOBODY]
    found = {name: _plain(value) for name, value in kwargs.items() if value is not _NOBODY}
    found.update(zip(places, given, strict=False))
    found.update((name, given[len(places) :]) for name in several)
    return found


def _plain(value: Any) -> Any:
    return msgspec.json.decode(value) if isinstance(value, Raw) else value


Proceed: TypeAlias = Callable[[], Awaitable[Any]]
"""Calls the next interceptor, or finally the method. May be called again, to retry."""
Interceptor: TypeAlias = Callable[[Context, Proceed], Coroutine[Any, Any, Any]]

Mode: TypeAlias = Literal["inline", "thread", "async", "either"]
"""The way to run a function: `inline` in the caller's stack, `thread` in the pool of threads,
`async` as a coroutine; `either` is called in the caller's stack, and returns its result or a
coroutine."""


def check_interceptor(interceptor: Interceptor) -> None:
    """Raise `RegistrationError` unless the interceptor is an async function."""
    if not is_async(interceptor):
        raise RegistrationError(
            f"the interceptor {interceptor!r} is no async function: "
            "write async def interceptor(context, proceed)"
        )


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether calling `function` returns a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object whose call is async
    )


def intercept(
    bind: Plan, mode: Mode, interceptors: tuple[Interceptor, ...], naming: Naming
) -> Plan:
    """Return a plan that calls through `interceptors`, the first of them outermost.

    `bind` turns params into a function without arguments that makes the call; `naming` turns them
    into the named arguments that interceptors get. The plan returns a coroutine. For invalid params
    it raises an exception at once instead.
    """
    inwards = interceptors[::-1]

    def call(params: Params, context: Context | None) -> Any:
        assert context is not None
        bound = bind(params, context)
        if isinstance(params, Raw):
            params = bytes(params)  # a copy, or it would keep the receive buffer alive
        context.name_arguments = partial(naming, params)
        proceed: Proceed = bound if mode == "async" else partial(_RUN[mode], bound, context)
        for interceptor in inwards:
            proceed = partial(interceptor, context, proceed)
        return proceed()

    return call


async def _run_inline(bound: Callable[[], Any], _context: Context) -> Any:
    return bound()


async def _run_either(bound: Callable[[], Any], _context: Context) -> Any:
    result = bound()
    return await result if isinstance(result, Coroutine) else result


async def _run_in_thread(bound: Callable[[], Any], context: Context) -> Any:
    return await context.in_thread(bound)


_RUN = {"inline": _run_inline, "either": _run_either, "thread": _run_in_thread}


class ExternalDocs(Struct, frozen=True):
    """A page elsewhere with more information."""

    url: str
    description: str = ""


class Tag(Struct, frozen=True):
    """A group that methods are listed under."""

    name: str
    summary: str = ""
    description: str = ""
    external_docs: ExternalDocs | None = None


class ErrorAbout(Struct, frozen=True):
    """The documentation of an error that a method may answer with."""

    code: int
    message: str
    data: Any = UNSET
    """An example of the error's data; left out when UNSET."""


class Example(Struct, frozen=True, kw_only=True):
    """An example call with its outcome. Without a result it is a notification."""

    name: str
    params: Mapping[str, Any] = {}
    result: Any = UNSET
    summary: str = ""
    description: str = ""


class Link(Struct, frozen=True, kw_only=True):
    """An OpenRPC link: a result of the documented method leads to a call of another method."""

    name: str
    method: str
    params: Mapping[str, Any] = {}
    """The params of the linked call: values, or run-time expressions such as `${result.id}`."""
    summary: str = ""
    description: str = ""


class About(Struct, frozen=True, kw_only=True):
    """The metadata that documents a method.

    Most parts that are missing are taken from the function's signature and docstring.
    """

    summary: str = ""
    """One line; by default the first line of the docstring."""
    description: str = ""
    """Markdown; by default the rest of the docstring."""
    tags: tuple[str | Tag, ...] = ()
    params: Mapping[str, str] = {}
    """Descriptions of the parameters, by name; by default the descriptions in the annotations."""
    result: str = ""
    """A description of the result."""
    errors: tuple[int | str | ErrorAbout, ...] = ()
    """Errors by their code, by their name in the catalogue, or as an `ErrorAbout`."""
    examples: tuple[Example, ...] = ()
    links: tuple[Link, ...] = ()
    deprecated: bool = False
    deprecated_params: tuple[str, ...] = ()
    external_docs: ExternalDocs | None = None
    hidden: bool = False
    """True to leave a method out of descriptions; it can still be called."""


NOTHING = About()


class Method(Struct, frozen=True, kw_only=True, eq=False):
    """A method of a router: a function with its name, metadata and plans for calling it."""

    name: str
    function: Callable[..., Any]
    mode: Mode
    """The way to run the method; one with interceptors is always `async`."""
    deadline: float | None | UnsetType
    """Timeout of a call in seconds, None for no timeout. If UNSET, the limit of the server
    applies."""
    wants_context: bool
    """True if `invoke` needs the context; otherwise the context may be None."""
    parameters: tuple[Parameter, ...]
    """The parameters that callers can pass, without the context."""
    returns: Any
    doc: str
    about: About
    protocol: bool
    """True for a method of the protocol itself, whose name may begin with `rpc.`."""
    invoke: Plan
    """Decodes params and calls the function; returns the result, or the coroutine of an async
    method. Raises `InvalidParamsError` at once for invalid params."""
    bind: Plan
    """Decodes params and returns a function without arguments that makes the call."""
    naming: Naming
    """Returns the arguments by parameter name, for interceptors."""
    interceptors: tuple[Interceptor, ...] = ()
    function_mode: Mode
    """The way to run the function itself, without its interceptors."""

    def __repr__(self) -> str:
        return f"<Method {self.name!r}: {self.mode} {where(self.function)}>"

    def placed(self, name: str, interceptors: tuple[Interceptor, ...]) -> Method:
        """Return a copy of this method with another name, and more interceptors around it."""
        if not interceptors:
            return self if name == self.name else replace(self, name=name)
        around = interceptors + self.interceptors
        return replace(
            self,
            name=name,
            mode="async",
            wants_context=True,
            interceptors=around,
            invoke=intercept(self.bind, self.function_mode, around, self.naming),
        )


def make_method(
    function: Callable[..., Any],
    name: str,
    *,
    thread: bool = False,
    deadline: float | None | UnsetType = UNSET,
    about: About | None = None,
    protocol: bool = False,
) -> Method:
    """Return the method that serves `function` under `name`.

    Raises `RegistrationError` if the function cannot be served.
    """
    try:
        mode = _mode(function, thread)
        _check_deadline(deadline, mode)
        signature = read_signature(function)
        planner = Planner(signature)
    except RegistrationError as error:
        raise RegistrationError(f"method '{name}' ({where(function)}): {error}") from error
    return Method(
        name=name,
        function=function,
        mode=mode,
        deadline=deadline,
        wants_context=signature.context is not None,
        parameters=signature.parameters,
        returns=signature.returns,
        doc=inspect.getdoc(innermost(function)) or "",
        about=NOTHING if about is None else about,
        protocol=protocol,
        invoke=planner.plan(function),
        bind=planner.plan(partial(partial, function)),
        naming=naming(signature, planner),
        function_mode=mode,
    )


def raw_method(plan: Plan, name: str) -> Method:
    """Return a method whose function decodes its params itself.

    Protocols use such methods if they have their own rules for params. The function returns its
    result or a coroutine; the method has no deadline.
    """
    return Method(
        name=name,
        function=plan,
        mode="either",
        deadline=None,
        wants_context=True,
        parameters=(),
        returns=Any,
        doc="",
        about=NOTHING,
        protocol=False,
        invoke=plan,
        bind=lambda params, context: partial(plan, params, context),
        naming=members,
        function_mode="either",
    )


def where(function: Callable[..., Any]) -> str:
    """Return the module and name of a function, for error messages."""
    name = getattr(function, "__qualname__", None)
    return repr(function) if name is None else f"{function.__module__}.{name}"


def _mode(function: Callable[..., Any], thread: bool) -> Mode:
    if isinstance(function, type):
        raise RegistrationError("it is a class, and a method must be a function")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise RegistrationError("it is a generator, and a call has one result")
    if _lacks_instance(function):
        raise RegistrationError(
            "it is defined in a class and takes self: mark it with accord.method and register "
            "an instance of the class"
        )
    if not is_async(function):
        return "thread" if thread else "inline"
    if thread:
        raise RegistrationError("it is async, and thread=True is for functions that block")
    return "async"


def _lacks_instance(function: Callable[..., Any]) -> bool:
    owner = getattr(function, "__qualname__", "").rpartition(".")[0]
    if not inspect.isfunction(function) or not owner or owner.endswith("<locals>"):
        return False
    return next(iter(inspect.signature(function).parameters), None) == "self"


def _check_deadline(deadline: float | None | UnsetType, mode: Mode) -> None:
    if deadline is None or deadline is UNSET:
        return
    if not isfinite(deadline) or deadline <= 0:
        raise RegistrationError(f"its deadline of {deadline} s is not a number above 0")
    if mode == "inline":
        raise RegistrationError(
            "it runs inline, where nothing can stop it at a deadline: "
            "make it async, or let it run in a thread with thread=True"
        )
