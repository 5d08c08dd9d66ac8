"""Handlers: application functions that serve requests or complete arguments.

    def database(context: Context) -> Database: ...

    @server.tool
    async def find(text: str, db: Annotated[Database, Depends(database)]) -> list[str]: ...

Arguments of the caller are decoded into the annotated types. The context and the results of
dependencies are injected: they are passed as further arguments. A plain function runs in a thread,
unless it is declared `inline` and so runs on the event loop. Completions of arguments come from
functions of the application, or from enumerable annotations.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from inspect import getdoc, isasyncgenfunction, isawaitable, isgeneratorfunction
from math import isfinite
from types import NoneType, UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from accord.jsonrpc.methods.call_plan import Planner
from accord.jsonrpc.methods.context import Context as RpcContext
from accord.jsonrpc.methods.method import Mode, is_async, where
from accord.jsonrpc.methods.param_values import REFUSALS
from accord.jsonrpc.methods.signature import (
    ContextPlace,
    Parameter,
    Signature,
    innermost,
    read_signature,
)
from accord.jsonrpc.protocol.errors import InvalidParamsError, RegistrationError
from accord.jsonrpc.protocol.messages import encode
from accord.mcp.protocol.messages import CompleteParams, PromptReference
from accord.mcp.server.components.parameters import read_docstring, with_field_defaults
from accord.mcp.server.context import Context
from accord.schema.schema import DEFINITIONS
from accord.schema.types import accepts


class Depends(Struct, frozen=True):
    """A parameter annotation: the argument is the result of calling `provide`.

    `provide` is a plain or async function that may take a context and other dependencies. As a
    generator with one `yield` it can clean up after the call. It runs once per call of the handler,
    however many parameters use it.
    """

    provide: Callable[..., Any]


class Injection:
    """The injected parameters of one function: its context and its dependencies."""

    def __init__(self, signature: Signature) -> None:
        if signature.context is not None:
            raise RegistrationError(
                "it asks for the context of a JSON-RPC method: annotate with accord.mcp.Context"
            )
        self.visible: list[Parameter] = []
        self.context: str | None = None
        """The name of the context parameter; None without one."""
        self._dependencies: dict[str, _Dependency] = {}
        for parameter in signature.parameters:
            self._sort(parameter)

    def _sort(self, parameter: Parameter) -> None:
        depends = _depends(parameter.annotation)
        is_context = _is_context(parameter.annotation)
        if (is_context or depends is not None) and not parameter.by_name:
            raise RegistrationError(f"parameter '{parameter.name}' is injected by name")
        if is_context and self.context is not None:
            raise RegistrationError(
                f"parameters '{self.context}' and '{parameter.name}' both ask for the context"
            )
        if is_context:
            self.context = parameter.name
        elif depends is not None:
            self._dependencies[parameter.name] = _Dependency(depends.provide)
        else:
            self.visible.append(parameter)

    @property
    def names(self) -> frozenset[str]:
        context = () if self.context is None else (self.context,)
        return frozenset((*context, *self._dependencies))

    @property
    def has_dependencies(self) -> bool:
        return bool(self._dependencies)

    async def resolve(
        self, context: Context, stack: AsyncExitStack, made: dict[Any, Any]
    ) -> dict[str, Any]:
        """Return the arguments of all injected parameters, by name.

        `stack` closes generators after the call. `made` is a cache of the results of dependencies,
        which exists for one call only.
        """
        values: dict[str, Any] = {} if self.context is None else {self.context: context}
        for name, dependency in self._dependencies.items():
            values[name] = await dependency.get(context, stack, made)
        return values


class _Dependency:
    """A function whose result is passed to a handler as an argument."""

    def __init__(self, provide: Callable[..., Any]) -> None:
        self._key = provide
        self._injection = Injection(read_signature(provide))
        needed = [each.name for each in self._injection.visible if each.required]
        if needed:
            raise RegistrationError(
                f"nobody gives parameter '{needed[0]}' of the dependency {provide!r}"
            )
        self._provide = provide
        self._managed: Callable[..., Any] | None = None
        if isasyncgenfunction(provide):
            self._managed = asynccontextmanager(provide)
        elif isgeneratorfunction(provide):
            self._managed = contextmanager(provide)

    async def get(self, context: Context, stack: AsyncExitStack, made: dict[Any, Any]) -> Any:
        if self._key not in made:
            arguments = await self._injection.resolve(context, stack, made)
            made[self._key] = await self._make(arguments, stack)
        return made[self._key]

    async def _make(self, arguments: dict[str, Any], stack: AsyncExitStack) -> Any:
        if self._managed is None:
            value = self._provide(**arguments)
            return await value if isawaitable(value) else value
        manager = self._managed(**arguments)
        if isasyncgenfunction(self._provide):
            return await stack.enter_async_context(manager)
        return stack.enter_context(manager)


def _depends(annotation: Any) -> Depends | None:
    if get_origin(annotation) is not Annotated:
        return None
    return next((it for it in annotation.__metadata__ if isinstance(it, Depends)), None)


def _is_context(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _is_context(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return set(get_args(annotation)) == {Context, NoneType}
    return annotation is Context


_decode_object = msgspec.json.Decoder(dict[str, Any]).decode


class Handler:
    """An application function that serves requests, such as calls of a tool.

    If `whole` is true, the function takes all arguments as one dict. Raises RegistrationError if
    the function's parameters or options do not allow it to be served.
    """

    __slots__ = (
        "_has_dependencies",
        "_injection",
        "begin",
        "bind",
        "docstring",
        "function",
        "is_direct",
        "mode",
        "parameters",
        "returns",
        "timeout",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        inline: bool = False,
        timeout: float | None | UnsetType = UNSET,
        whole: bool = False,
    ) -> None:
        function = with_field_defaults(function)
        self.function = function
        self.mode: Mode = "async" if is_async(function) else "inline" if inline else "thread"
        self.timeout = None if timeout is UNSET else timeout
        self._check_mode(inline)
        signature = read_signature(function)
        self._injection = Injection(signature)
        self._has_dependencies = self._injection.has_dependencies
        names = {each.name for each in signature.parameters}
        self.docstring = read_docstring(getdoc(innermost(function)) or "", names)
        """The function's docstring, divided into its text and the descriptions of parameters."""
        self.parameters = tuple(map(_by_name, self._injection.visible))
        """The parameters that get their arguments from callers; all are passed by keyword."""
        self.returns = signature.returns
        is_direct = self.mode == "async" and not self._has_dependencies
        self.is_direct = is_direct and self.timeout is None
        """True if `bind` already calls the function and returns its coroutine, so that `begin` need
        not be called."""
        call = function if is_direct else partial(partial, function)
        self.bind: Callable[[Any, Context | None], Any] = (
            self._whole(call) if whole else self._planned(call)
        )
        """Bind the arguments in a JSON object to the function's parameters, and return the bound
        call, which must be passed to `begin`. Raises `InvalidParamsError` if the arguments do not
        fit the parameters. `bind` and `begin` accept None as the context if the function does not
        use it."""
        self.begin: Callable[[Any, Context | None], Any] = (
            self._begin_direct if is_direct else _call if self.is_quick else self._begin
        )
        """Run a bound call. Return the result if `is_quick`, else a coroutine of the result."""

    @property
    def is_quick(self) -> bool:
        """True if `begin` returns the result itself."""
        return self.mode == "inline" and not self._has_dependencies

    @property
    def wants_context(self) -> bool:
        """True if calling the function needs a context."""
        injected = self._injection.context is not None or self._has_dependencies
        return injected or self.mode == "thread"

    def _begin_direct(self, coroutine: Any, context: Context | None) -> Any:
        return coroutine if self.timeout is None else _within(self.timeout, coroutine)

    def _begin(self, bound: Any, context: Context | None) -> Any:
        assert context is not None
        if self._has_dependencies:
            return self._in_time(self._run_with_dependencies(bound, context))
        return self._in_time(self._run(bound, context))

    def _in_time(self, work: Awaitable[Any]) -> Awaitable[Any]:
        return work if self.timeout is None else _within(self.timeout, work)

    async def _run(self, bound: Callable[[], Any], context: Context) -> Any:
        if self.mode == "inline":
            return bound()
        if self.mode == "async":
            return await bound()
        value = await context.in_thread(bound)
        return await value if isawaitable(value) else value

    async def _run_with_dependencies(self, bound: partial[Any], context: Context) -> Any:
        async with AsyncExitStack() as stack:
            values = await self._injection.resolve(context, stack, {})
            return await self._run(partial(bound, **values), context)

    def _planned(self, call: Callable[..., Any]) -> Callable[[Any, Context | None], Any]:
        name = self._injection.context
        place = None if name is None else ContextPlace(name, None)
        signature = Signature(self.parameters, place, self.returns, self._injection.names)
        # A plan only passes the context on, so the type of the context does not matter.
        return cast("Callable[[Any, Context | None], Any]", _retyped(Planner(signature).plan(call)))

    def _whole(self, call: Callable[..., Any]) -> Callable[[Any, Context | None], Any]:
        if len(self.parameters) != 1 or self.parameters[0].kind == "var_keyword":
            raise RegistrationError(
                "with a schema of its own it takes one parameter, a dict of all arguments"
            )
        name, wants = self.parameters[0].name, self._injection.context

        def bind(arguments: Any, context: Context | None) -> Any:
            try:
                members = {name: _decode_object(arguments)}
            except REFUSALS:
                raise InvalidParamsError("arguments: expected an object") from None
            if wants is not None:
                members[wants] = context  # type: ignore[assignment]
            return call(**members)

        return bind

    def _check_mode(self, inline: bool) -> None:
        if inline and self.mode == "async":
            raise RegistrationError("it is async, and inline=True is for plain functions")
        if self.timeout is None:
            return
        if not isfinite(self.timeout) or self.timeout <= 0:
            raise RegistrationError(f"its timeout of {self.timeout} s is not a number above 0")
        if inline:
            raise RegistrationError("it runs inline, where nothing can stop it at a timeout")


def _call(bound: Callable[[], Any], _context: Context | None) -> Any:
    return bound()


def _retyped(plan: Callable[[Any, RpcContext | None], Any]) -> Any:
    return plan


async def _within(seconds: float, work: Awaitable[Any]) -> Any:
    async with asyncio.timeout(seconds):
        return await work


def _by_name(parameter: Parameter) -> Parameter:
    if parameter.kind == "positional_only":
        raise RegistrationError(
            f"parameter '{parameter.name}' is positional-only, and arguments come by name"
        )
    if parameter.kind == "var_positional":
        raise RegistrationError(f"'*{parameter.name}' takes no names, and arguments come by name")
    return parameter if parameter.kind == "var_keyword" else replace(parameter, kind="keyword_only")


_KNOWN = ("value", "arguments", "of", "argument")


class Completions:
    """The completion handlers of a server.

    A handler completes one argument or all, of one prompt or URI template or of all. For an
    argument the most specific handler is used.
    """

    def __init__(self) -> None:
        self._handlers: dict[tuple[str, str], Handler] = {}

    def __len__(self) -> int:
        return len(self._handlers)

    def add(self, function: Callable[..., Any], *, of: str = "", argument: str = "") -> None:
        """Register `function(value)` to complete an argument of a prompt or URI template.

        `of` is the prompt's name or the URI template, and `argument` the argument's name. An empty
        `of` or `argument` means all of them. The function may also take `arguments` (the values
        filled in so far), `of` and `argument`. Raises RegistrationError if the function takes other
        parameters, or if another function is registered already.
        """
        handler = Handler(function)
        other = [each.name for each in handler.parameters if each.name not in _KNOWN]
        if other:
            raise RegistrationError(
                f"completion ({where(function)}): nobody gives its parameter '{other[0]}'; "
                f"there are {', '.join(_KNOWN)}"
            )
        if (of, argument) in self._handlers:
            raise RegistrationError(f"something completes '{argument}' of '{of}' already")
        self._handlers[of, argument] = handler

    def complete(
        self, params: CompleteParams, context: Context, choices: Mapping[str, Sequence[str]]
    ) -> Any:
        """Return suggestions for an argument, or a coroutine of them.

        `choices` are the possible values of each argument; without a handler, those that match the
        typed text are the suggestions.
        """
        of = params.ref.name if isinstance(params.ref, PromptReference) else params.ref.uri
        name = params.argument.name
        for key in ((of, name), (of, ""), ("", name), ("", "")):
            handler = self._handlers.get(key)
            if handler is not None:
                return self._ask(handler, of, params, context)
        return matching(params.argument.value, choices.get(name, ()))

    def _ask(self, handler: Handler, of: str, params: CompleteParams, context: Context) -> Any:
        known = {
            "value": params.argument.value,
            "arguments": params.context.arguments,
            "of": of,
            "argument": params.argument.name,
        }
        accepted = {each.name for each in handler.parameters}
        passed = {name: value for name, value in known.items() if name in accepted}
        return handler.begin(handler.bind(encode(passed), context), context)


def matching(typed: str, choices: Sequence[str]) -> list[str]:
    """Return the choices that start with the typed text.

    If none do, return the choices that contain it.
    """
    prefix = typed.casefold()
    found = [each for each in choices if each.casefold().startswith(prefix)]
    return found or [each for each in choices if prefix in each.casefold()]


def choices_of(parameters: Sequence[Parameter]) -> dict[str, tuple[str, ...]]:
    """Return the possible values of each parameter of an enumerable type, by name.

    Enumerable types are `Literal`, enumerations and bool.
    """
    found = {
        each.name: _choices(accepts(each.annotation).value, accepts(each.annotation).definitions)
        for each in parameters
        if each.kind != "var_keyword"
    }
    return {name: choices for name, choices in found.items() if choices}


def _choices(value: Any, definitions: Mapping[str, Any], depth: int = 0) -> tuple[str, ...]:
    if not isinstance(value, dict) or depth > 16:
        return ()
    if "$ref" in value:
        target = definitions.get(value["$ref"].removeprefix(DEFINITIONS))
        return _choices(target, definitions, depth + 1)
    if "enum" in value:
        return tuple(_text(each) for each in value["enum"] if each is not None)
    if "const" in value:
        return (_text(value["const"]),)
    if value.get("type") == "boolean":
        return ("true", "false")
    several = value.get("anyOf") or value.get("oneOf") or ()
    return tuple(choice for each in several for choice in _choices(each, definitions, depth + 1))


def _text(value: Any) -> str:
    """Return a choice as the user types it."""
    return value if isinstance(value, str) else encode(value).decode()
