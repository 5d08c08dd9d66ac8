"""One operation as a value: its name, needs, routes and abilities, and the outcome of a call.

Abilities are what clients ask about before they let a model call an operation. They are derived
from the declaration and, where an operation runs others, from their declarations; the runner
compares them with the effects of a call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from accord.jsonrpc.methods.signature import Parameter
from accord.operations.context import Effect, Hint, OperationContext, Right
from accord.operations.errors import Allowance as Allowance


class Outcome(Struct, frozen=True, kw_only=True):
    """The result of an operation, and its effects."""

    result: Any
    change_id: str = ""
    """The id of the change, if a write changed something."""
    effects: tuple[Effect, ...] = ()
    hints: tuple[Hint, ...] = ()
    replayed: bool = False
    """True if this is the stored result of an earlier call with the same idempotency key."""
    allowance: Allowance | None = None


class Preview(Struct, frozen=True, kw_only=True):
    """What a write would do: the result of a `dry_run`."""

    dry_run: bool = True
    result: Any
    changes: tuple[Effect, ...]
    hints: tuple[Hint, ...]


class RecordedChange(Struct, frozen=True, kw_only=True):
    """The change made by a write, as passed to each `Recorder` inside the transaction."""

    id: str
    operation: str
    reason: str = ""


Verb: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Function: TypeAlias = Callable[..., Awaitable[Any]]
Prepare: TypeAlias = Callable[[OperationContext, Mapping[str, Any]], Awaitable[Any]]
Finish: TypeAlias = Callable[[OperationContext, Mapping[str, Any], Any], Awaitable[Any]]


class Rest(Struct, frozen=True):
    """The REST route of an operation: a verb, and a path below `/api/v1`.

    `{names}` in the path are parameters. Other parameters are in the query of GET and DELETE, else
    in the body.
    """

    verb: Verb
    path: str
    status: int = 200
    """The status of the response: 201 has a `Location`, 204 no body."""
    location: str = ""
    """The path of the created entity, such as `/epics/{id}`."""
    aliases: tuple[tuple[str, str], ...] = ()
    """Short names of parameters in the query: `("q", "query")`."""
    whole: str = ""
    """The name of the one parameter whose value is the body.

    Empty if the members of the body are the parameters.
    """
    texts: tuple[str, ...] = ()
    """Media types of text that the body may have besides JSON.

    The parameter `whole` then gets the text as it was sent.
    """


class Operation(Struct, frozen=True, kw_only=True, eq=False):
    """A declared operation: its function, parameters, right, routes and abilities."""

    name: str
    title: str
    description: str
    """For people and models: the function's docstring."""
    function: Function
    """`async def function(work, *, …)`."""
    parameters: tuple[Parameter, ...]
    """Parameters that callers may send.

    They are those of the function; for a write also `dry_run` and `idempotency_key`.
    """
    returns: Any
    right: Right
    writes: bool
    prepare: Prepare | None = None
    """The slow part of a write, such as hashing a password.

    It runs before the transaction and may read the database; its result is `work.prepared`.
    """
    prepare_optional: bool = False
    """True if another operation may perform this one without calling `prepare`."""
    finish: Finish | None = None
    """The last part of a write, after the commit.

    It gets the arguments and the result, may read the database, and returns the final result.
    """
    rehearsed_on: tuple[str, ...] = ()
    """The tables that a long write changes; empty for other writes.

    The dry run of a long write works on copies of these tables, so it blocks no other write.
    """
    rest: tuple[Rest, ...] = ()
    cost: int = 1
    """The cost of a call, taken from the token bucket of its caller."""
    tool: bool = True
    """True if the operation is offered as an MCP tool."""
    snapshot: bool = False
    """True if all statements of a read must see the same state."""
    destructive: bool | None = None
    """True if the operation may delete something; None if its author does not state it."""
    open_world: bool | None = None
    """True if the operation reaches other systems, such as agents; None if not stated."""
    idempotent: bool = False
    runs: Callable[[Operation], bool] | None = None
    """A predicate for the operations that this one performs as a part of itself.

    This operation also has the abilities of those operations.
    """
    audited: bool = True
    """True if the arguments of calls may be recorded; secrets among them never are."""
    tag: str = ""
    """The subject under which documents list the operation, such as `epics`."""


class Abilities(Struct, frozen=True):
    """The declared abilities of an operation; None for one that its author left open."""

    destructive: bool | None
    """The operation may delete something, including a link or a label of an item.

    An update keeps earlier versions and does not count.
    """
    open_world: bool | None
    """The operation may make agents or other systems act."""
    idempotent: bool
    """A second call with the same arguments has no further effect."""


def abilities(operation: Operation, registry: Iterable[Operation]) -> Abilities:
    """Return the abilities of `operation`, which belongs to `registry`."""
    able = [operation]
    if operation.runs is not None:
        able += [each for each in registry if operation.runs(each)]
    deletes_only = bool(operation.rest) and all(each.verb == "DELETE" for each in operation.rest)
    return Abilities(
        destructive=operation.writes and _any_declared(each.destructive for each in able),
        open_world=_any_declared(each.open_world for each in able),
        idempotent=operation.writes and (operation.idempotent or deletes_only),
    )


def _any_declared(values: Iterable[bool | None]) -> bool | None:
    known = tuple(values)
    return True if True in known else None if None in known else False
