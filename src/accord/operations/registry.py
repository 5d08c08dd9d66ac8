"""The registry of operations, and the decorators that add functions to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import cleandoc, iscoroutinefunction
from typing import Annotated, Any, Final, TypedDict, TypeVar, Unpack

from msgspec import Meta
from msgspec.structs import replace

from accord.jsonrpc.methods.signature import Parameter, read_signature
from accord.jsonrpc.protocol.errors import RegistrationError
from accord.operations.context import Right
from accord.operations.operation import Finish, Operation, Prepare, Rest

F = TypeVar("F", bound=Callable[..., Any])

DRY_RUN: Final = "dry_run"
IDEMPOTENCY_KEY: Final = "idempotency_key"

_OF_WRITES: Final = (
    Parameter(
        DRY_RUN,
        Annotated[bool, Meta(description="Only say what would change.")],
        "keyword_only",
        required=False,
        default=False,
    ),
    Parameter(
        IDEMPOTENCY_KEY,
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=255,
                description="A second call with the same key does nothing.",
            ),
        ]
        | None,
        "keyword_only",
        required=False,
        default=None,
    ),
)


class OperationOptions(TypedDict, total=False):
    """Options of the decorators `read` and `write`; see `Operation`."""

    right: Right
    prepare: Prepare
    prepare_optional: bool
    finish: Finish
    rehearsed_on: tuple[str, ...]
    rest: Rest | tuple[Rest, ...]
    title: str
    cost: int
    tool: bool
    snapshot: bool
    destructive: bool
    open_world: bool
    idempotent: bool
    runs: Callable[[Operation], bool]
    audited: bool
    tag: str


class Registry:
    """Operations, in the order in which they were added."""

    def __init__(self) -> None:
        self._operations: dict[str, Operation] = {}

    def __iter__(self) -> Iterator[Operation]:
        return iter(self._operations.values())

    def __len__(self) -> int:
        return len(self._operations)

    def __getitem__(self, name: str) -> Operation:
        return self._operations[name]

    def get(self, name: str) -> Operation | None:
        return self._operations.get(name)

    def read(self, **options: Unpack[OperationOptions]) -> Callable[[F], F]:
        """Return a decorator that adds a reading function; its default right is `read`."""
        return self._decorator(options, writes=False)

    def write(self, **options: Unpack[OperationOptions]) -> Callable[[F], F]:
        """Return a decorator that adds a writing function; its default right is `write`."""
        return self._decorator(options, writes=True)

    def include(self, other: Registry) -> None:
        """Add all operations of `other`."""
        for operation in other:
            self.add(operation)

    def add(self, operation: Operation) -> None:
        """Add an operation. Raises RegistrationError if its name is taken."""
        if operation.name in self._operations:
            raise RegistrationError(f"there are two operations {operation.name!r}")
        self._operations[operation.name] = operation

    def fully_declared(self) -> Registry:
        """Return a copy of the registry in which no ability of an operation is None.

        Abilities that the author of an operation did not state are False in the copy.
        """
        found = Registry()
        for operation in self:
            found.add(
                replace(
                    operation,
                    destructive=bool(operation.destructive),
                    open_world=bool(operation.open_world),
                )
            )
        return found

    def _decorator(self, options: OperationOptions, *, writes: bool) -> Callable[[F], F]:
        def decorate(function: F) -> F:
            self.add(_operation(function, options, writes=writes))
            return function

        return decorate


def _operation(function: Any, options: OperationOptions, *, writes: bool) -> Operation:
    """Return the operation of a function.

    Raises RegistrationError if the function cannot be an operation.
    """
    name = function.__name__
    if not iscoroutinefunction(function) or not function.__doc__:
        raise RegistrationError(f"operation {name!r} must be an async function with a docstring")
    signature = read_signature(function)
    work, *parameters = signature.parameters
    if work.name != "work" or any(each.kind != "keyword_only" for each in parameters):
        raise RegistrationError(f"operation {name!r} must take (work, *, …)")
    rest = options.get("rest", ())
    return Operation(
        name=name,
        title=options.get("title", name.replace("_", " ").capitalize()),
        description=cleandoc(function.__doc__),
        function=function,
        parameters=(*parameters, *_OF_WRITES) if writes else tuple(parameters),
        returns=signature.returns,
        right=options.get("right", "write" if writes else "read"),
        writes=writes,
        prepare=options.get("prepare"),
        prepare_optional=options.get("prepare_optional", False),
        finish=options.get("finish"),
        rehearsed_on=options.get("rehearsed_on", ()),
        rest=rest if isinstance(rest, tuple) else (rest,),
        cost=options.get("cost", 5 if writes else 1),
        tool=options.get("tool", True),
        snapshot=options.get("snapshot", False),
        destructive=options.get("destructive"),
        open_world=options.get("open_world"),
        idempotent=options.get("idempotent", False),
        runs=options.get("runs"),
        audited=options.get("audited", True),
        tag=options.get("tag", ""),
    )


class Operations(Registry):
    """The operations of a plugin; each must state its right.

    An operation that states no right is refused when the plugin is loaded, rather than offered to
    all callers who may read or write.
    """

    def read(self, **options: Unpack[OperationOptions]) -> Callable[[F], F]:
        return super().read(**_with_right(options))

    def write(self, **options: Unpack[OperationOptions]) -> Callable[[F], F]:
        return super().write(**_with_right(options))


def _with_right(options: OperationOptions) -> OperationOptions:
    if "right" not in options:
        raise TypeError("an operation of a plugin says which right it needs: right=…")
    return options
