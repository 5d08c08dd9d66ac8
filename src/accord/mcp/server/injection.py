"""What a handler gets without its caller: the context, and what others make for it.

    def database(context: Context) -> Database: ...

    @server.tool
    async def find(text: str, db: Annotated[Database, Depends(database)]) -> list[Hit]: ...

Such parameters do not show in schemas and cannot be given by callers.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from inspect import isasyncgenfunction, isawaitable, isgeneratorfunction
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from msgspec import Struct

from accord.jsonrpc.errors import RegistrationError
from accord.jsonrpc.parameters import Parameter, Signature, read_signature
from accord.mcp.server.context import Context


class Depends(Struct, frozen=True):
    """A marker for a parameter with a value from `provide`.

    `provide` may be plain or async, take a context and other dependencies, and, as a generator with
    one `yield`, clean up after the call. It runs once per call, however many parameters use it.
    """

    provide: Callable[..., Any]


class Injection:
    """The injected parameters of one function."""

    def __init__(self, signature: Signature) -> None:
        if signature.context is not None:
            raise RegistrationError(
                "it asks for the context of a JSON-RPC method: annotate with accord.mcp.Context"
            )
        self.visible: list[Parameter] = []
        self.context: str | None = None
        """The name of the context parameter, if there is one."""
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
        """Return all injected arguments.

        Generators are closed by `stack`; `made` caches values within the call.
        """
        values: dict[str, Any] = {} if self.context is None else {self.context: context}
        for name, dependency in self._dependencies.items():
            values[name] = await dependency.get(context, stack, made)
        return values


class _Dependency:
    """A function that provides a value."""

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
