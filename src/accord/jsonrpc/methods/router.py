"""The router: methods by name, and the decorators that declare them. Pure."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any, Literal, TypeAlias, TypeVar, overload

from msgspec import UNSET, Struct, UnsetType

from accord.jsonrpc.methods.call_plan import Plan
from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.methods.method import (
    About,
    Interceptor,
    Method,
    check_interceptor,
    make_method,
    where,
)
from accord.jsonrpc.protocol.errors import RegistrationError, RpcError
from accord.jsonrpc.protocol.messages import Id

F = TypeVar("F", bound=Callable[..., Any])

_ATTRIBUTE = "__accord_method__"


class MethodDeclaration(Struct, frozen=True):
    """The options of a function that is marked with the decorator `method`."""

    name: str | None = None
    thread: bool = False
    deadline: float | None | UnsetType = UNSET
    about: About | None = None


@overload
def method(function: F, /) -> F: ...


@overload
def method(
    name: str | None = None,
    *,
    thread: bool = False,
    deadline: float | None | UnsetType = UNSET,
    about: About | None = None,
) -> Callable[[F], F]: ...


def method(
    name: Any = None,
    *,
    thread: bool = False,
    deadline: float | None | UnsetType = UNSET,
    about: About | None = None,
) -> Any:
    """Mark a function, a method of a class or a static method to be served.

    The decorator is used bare, or with the options of `Router.add`, which apply when the function
    is registered. The function itself is not changed.
    """
    if callable(name):
        return _declare(name, MethodDeclaration())

    def decorate(function: F) -> F:
        return _declare(function, MethodDeclaration(name, thread, deadline, about))

    return decorate


def declaration_of(function: Any) -> MethodDeclaration | None:
    """Return the options with which `method` marked a function; None without a mark.

    The function may also be a bound method, or a wrapper in a class such as a static method.
    """
    found = getattr(getattr(function, "__func__", function), _ATTRIBUTE, None)
    return found if isinstance(found, MethodDeclaration) else None


def declared_in(thing: object) -> Iterator[tuple[str, Any]]:
    """Yield the marked functions of an object, a class or a module, with their names.

    Marks are looked up on classes, so that no property is evaluated.
    """
    if isinstance(thing, ModuleType):
        found = vars(thing)
    else:
        classes = (thing if isinstance(thing, type) else type(thing)).__mro__
        found = {name: it for cls in reversed(classes) for name, it in vars(cls).items()}
    for name, it in found.items():
        if declaration_of(it) is not None:
            yield name, getattr(thing, name)


def _declare(function: F, mark: MethodDeclaration) -> F:
    setattr(getattr(function, "__func__", function), _ATTRIBUTE, mark)
    return function


InterceptorT = TypeVar("InterceptorT", bound=Interceptor)

RESERVED_PREFIX = "rpc."
"""JSON-RPC 2.0, section 4: names with this prefix are reserved for the protocol."""


class Router:
    """A set of methods, and the interceptors around them.

        router = Router()

        @router.method
        def add(a: int, b: int) -> int:
            return a + b

    All ways to declare a method raise `RegistrationError` if the method cannot be served as
    declared, or if its name is taken; the router is unchanged then.

    JSON-RPC allows any id. If `request_errors` is set, as for MCP, the id of a request must be a
    string or an integer, and unique among the requests in flight on the same connection.
    """

    def __init__(self, *, request_errors: RequestErrors | None = None) -> None:
        self.request_errors = request_errors
        """A function that returns the error with which the protocol above JSON-RPC, such as MCP,
        refuses a request; None if there is no such protocol."""
        self.methods: dict[str, Method] = {}
        """Every method by its full name. Read only; the dictionary is never replaced."""
        self.direct: dict[str, Plan] = {}
        """The plans of inline methods without a context, by full name. Read only."""
        self.version = 0
        """A number that grows with every change of the methods."""
        self._bare: dict[str, Method] = {}
        """The methods by full name, before the interceptors of this router were put around them."""
        self._own: set[str] = set()
        self._interceptors: tuple[Interceptor, ...] = ()
        self._included: list[Router] = []
        self._parents: list[tuple[weakref.ref[Router], str]] = []

    @overload
    def method(self, function: F, /) -> F: ...

    @overload
    def method(
        self,
        name: str | None = None,
        *,
        thread: bool = False,
        deadline: float | None | UnsetType = UNSET,
        about: About | None = None,
    ) -> Callable[[F], F]: ...

    def method(
        self,
        name: Any = None,
        *,
        thread: bool = False,
        deadline: float | None | UnsetType = UNSET,
        about: About | None = None,
    ) -> Any:
        """Declare a function as a method.

        Used as a decorator, bare or with the options of `add`.
        """
        if callable(name):
            self.add(name)
            return name

        def decorate(function: F) -> F:
            self.add(function, name, thread=thread, deadline=deadline, about=about)
            return function

        return decorate

    def add(
        self,
        function: Callable[..., Any],
        name: str | None = None,
        *,
        thread: bool = False,
        deadline: float | None | UnsetType = UNSET,
        about: About | None = None,
        protocol: bool = False,
    ) -> Method:
        """Declare `function` as a method, under its own name or `name`.

        A plain function runs inline, on the event loop's thread; `thread=True` runs it in a
        pool of threads. `deadline` is in seconds, for functions that do not run inline; None is
        no deadline, and the default is `Limits.call_seconds`.
        `about` is its metadata beyond the signature and the docstring.
        `protocol` is for the protocol's own methods, whose names begin with `rpc.`.
        """
        mark = declaration_of(function) or MethodDeclaration()
        method = make_method(
            function,
            _name(function, mark.name if name is None else name),
            thread=thread or mark.thread,
            deadline=mark.deadline if deadline is UNSET else deadline,
            about=mark.about if about is None else about,
            protocol=protocol,
        )
        self._add_own([method])
        return self.methods[method.name]

    def put(self, method: Method) -> None:
        """Add a method that was made before, under the name that it has."""
        self._add_own([method])

    def register(self, instance: object, prefix: str = "") -> None:
        """Add every method of an object that is marked with the decorator `method`.

        Marked functions of a module, and static and class methods of a class, can be
        registered the same way.
        """
        methods = []
        for attribute, function in declared_in(instance):
            mark = declaration_of(function) or MethodDeclaration()
            name = prefix + _name(function, attribute if mark.name is None else mark.name)
            methods.append(
                make_method(
                    function,
                    name,
                    thread=mark.thread,
                    deadline=mark.deadline,
                    about=mark.about,
                )
            )
        if not methods:
            raise RegistrationError(f"{instance!r} has no function marked with accord.method")
        self._add_own(methods)

    def remove(self, name: str) -> None:
        """Remove a method that was added to this router itself.

        Raises `RegistrationError` if there is none; a method of an included router cannot be
        removed here.
        """
        if name not in self._own:
            included = " of its own; an included router has it" if name in self.methods else ""
            raise RegistrationError(f"the router has no method '{name}'{included}")
        self._own.discard(name)
        self._drop(name)

    def include(self, other: Router, prefix: str = "") -> None:
        """Serve the methods of `other` too, with `prefix` before their names.

        Later additions to and removals from `other` apply here as well. The interceptors of
        this router run around those of `other`.
        """
        if any(router is other for router in self._ancestors()):
            raise RegistrationError("a router cannot include itself, nor one that includes it")
        self._check((prefix + name, each) for name, each in other.methods.items())
        self._included.append(other)  # keep it alive: it links its own routers to this one
        other._parents.append((weakref.ref(self), prefix))
        for name, each in other.methods.items():
            self._put(prefix + name, each)
        self.version += 1

    def intercept(self, interceptor: InterceptorT) -> InterceptorT:
        """Add an interceptor, an async function around every call of this router's methods.

        An interceptor is `async def interceptor(context, proceed)`; `await proceed()` gives the
        result of the call. The function may raise, or return something without proceeding. Calls
        with wrong params do not reach it. Interceptors added earlier run outside of it. Can be
        used as a decorator.
        """
        check_interceptor(interceptor)
        self._interceptors += (interceptor,)
        for name, each in list(self._bare.items()):
            self._put(name, each)
        self.version += 1
        return interceptor

    # The tables of this router and of those above it

    def _add_own(self, methods: list[Method]) -> None:
        self._check((each.name, each) for each in methods)
        for each in methods:
            self._own.add(each.name)
            self._put(each.name, each)

    def _check(self, methods: Iterable[tuple[str, Method]]) -> None:
        """Raise `RegistrationError` if the name of a method is taken or reserved.

        The name is checked in this router and in all routers that include it.
        """
        fresh: dict[tuple[int, str], Method] = {}
        for name, each in methods:
            for router, full in self._places(name):
                _check_name(full, each)
                taken = router.methods.get(full) or fresh.get((id(router), full))
                if taken is not None:
                    raise RegistrationError(
                        f"method '{full}' is {where(taken.function)} already, "
                        f"and cannot be {where(each.function)} too"
                    )
                fresh[id(router), full] = each

    def _places(self, name: str) -> Iterator[tuple[Router, str]]:
        """Yield this router and all that include it, each with the method's full name there.

        `name` is the full name of the method in this router.
        """
        yield self, name
        for parent, prefix in self._above():
            yield from parent._places(prefix + name)

    def _put(self, name: str, method: Method) -> None:
        self._bare[name] = method
        self.methods[name] = placed = method.placed(name, self._interceptors)
        if placed.mode == "inline" and not placed.wants_context:
            self.direct[name] = placed.invoke
        else:
            self.direct.pop(name, None)
        self.version += 1
        for parent, prefix in self._above():
            parent._put(prefix + name, placed)

    def _drop(self, name: str) -> None:
        del self._bare[name], self.methods[name]
        self.direct.pop(name, None)
        self.version += 1
        for parent, prefix in self._above():
            parent._drop(prefix + name)

    def _above(self) -> list[tuple[Router, str]]:
        """Return the routers that include this one, each with its prefix."""
        found = [(reference(), reference, prefix) for reference, prefix in self._parents]
        self._parents = [(reference, prefix) for router, reference, prefix in found if router]
        return [(router, prefix) for router, _, prefix in found if router]

    def _ancestors(self) -> Iterator[Router]:
        yield self
        for parent, _ in self._above():
            yield from parent._ancestors()


def _name(function: Callable[..., Any], name: str | None) -> str:
    name = getattr(function, "__name__", "") if name is None else name
    if not isinstance(name, str) or not name or name == "<lambda>":
        raise RegistrationError(f"{where(function)} needs a name, a string that is not empty")
    return name


def _check_name(name: str, method: Method) -> None:
    if name.startswith(RESERVED_PREFIX) and not method.protocol:
        raise RegistrationError(
            f"method '{name}' ({where(method.function)}): names that begin with "
            f"'{RESERVED_PREFIX}' are kept for the protocol"
        )


RequestFault: TypeAlias = Literal["invalid_id", "id_conflict", "batch_too_large"]
"""The reason for which a protocol above JSON-RPC refuses a request with an error of its own: an id
that is not a string or an integer, the id of a request in flight, a batch over the limit."""

RequestErrors: TypeAlias = Callable[[RequestFault, Any, Context], RpcError]
"""Returns the error for a fault. Its arguments are the fault, the raw params of the request (for a
batch, the error of JSON-RPC) and the context."""


def id_fault(id: Id, in_use: Callable[[Id], bool]) -> RequestFault | None:
    """Return the reason for which a protocol above JSON-RPC refuses a request id.

    Returns None if the id is valid: a string or an integer, and not in use.
    """
    if id is None or type(id) is float:
        return "invalid_id"
    return "id_conflict" if in_use(id) else None
