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
    """True if an earlier call with the same idempotency key was executed instead."""
    allowance: Allowance | None = None


class Preview(Struct, frozen=True, kw_only=True):
    """What a write would do: the result of a `dry_run`."""

    dry_run: bool = True
    result: Any
    changes: tuple[Effect, ...]
    hints: tuple[Hint, ...]


class RecordedChange(Struct, frozen=True, kw_only=True):
    """A write as recorders see it, inside its transaction."""

    id: str
    operation: str
    reason: str = ""


Verb: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Function: TypeAlias = Callable[..., Awaitable[Any]]
Prepare: TypeAlias = Callable[[OperationContext, Mapping[str, Any]], Awaitable[Any]]
Finish: TypeAlias = Callable[[OperationContext, Mapping[str, Any], Any], Awaitable[Any]]


class Rest(Struct, frozen=True):
    """Where an operation is found over REST: a verb, and a path below `/api/v1`, whose `{names}`
    are parameters. The others are in the query of GET and DELETE, else in the body."""

    verb: Verb
    path: str
    status: int = 200
    """Of the answer: 201 has a `Location`, 204 no body."""
    location: str = ""
    """Where what was created is found, such as `/epics/{id}`."""
    aliases: tuple[tuple[str, str], ...] = ()
    """Names of parameters in the query that are shorter than their own: `("q", "query")`."""
    whole: str = ""
    """The parameter that the whole body is, where its members are not the parameters."""
    texts: tuple[str, ...] = ()
    """Media types beside JSON that a body may have: `whole` then is the text as it was sent."""


class Operation(Struct, frozen=True, kw_only=True, eq=False):
    """One operation."""

    name: str
    title: str
    description: str
    """For people and models: the function's docstring."""
    function: Function
    """`async def function(work, *, …)`."""
    parameters: tuple[Parameter, ...]
    """What callers give: those of the function, and for writes `dry_run` and `idempotency_key`."""
    returns: Any
    right: Right
    writes: bool
    prepare: Prepare | None = None
    """Of a write: what takes too long for a transaction, such as hashing a password. It is run
    before, may read the database, and what it gives is `work.prepared`."""
    prepare_optional: bool = False
    """Whether its function does without what `prepare` gives, as where it is a step of another."""
    finish: Finish | None = None
    """Of a write: what is to be waited for once it is committed. It is given the arguments and the
    result, may read the database, and what it gives is the result."""
    rehearsed_on: tuple[str, ...] = ()
    """Of a write that may take long: the tables whose rows it changes. A dry run of it is made on a
    copy of them, so that nobody waits for it."""
    rest: tuple[Rest, ...] = ()
    cost: int = 1
    """What a call takes from the bucket of its caller."""
    tool: bool = True
    """Whether assistants have it over MCP."""
    snapshot: bool = False
    """Whether all statements of a read must see the same state."""
    destructive: bool | None = None
    """Whether it may delete something; None where its author does not say."""
    open_world: bool | None = None
    """Whether it reaches beyond this installation, as a run does that calls agents; None where its
    author does not say."""
    idempotent: bool = False
    runs: Callable[[Operation], bool] | None = None
    """Of an operation that carries out others: tells which. It can do whatever those can."""
    audited: bool = True
    """Whether its arguments may be written down; secrets never are."""
    tag: str = ""
    """What it is about, for documents: `epics`."""


class Abilities(Struct, frozen=True):
    """The declared abilities of an operation; None if its author does not state one."""

    destructive: bool | None
    """May delete something, including a link or a label of an item. An update keeps earlier
    versions and does not count."""
    open_world: bool | None
    """May make agents or other systems act."""
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


def exceeded_ability(work: OperationContext, able: Abilities) -> str:
    """Return the undeclared effects of a call; empty if there are none."""
    deleted = sorted({effect.kind for effect in work.effects if effect.action == "deleted"})
    if deleted and able.destructive is False:
        return f"deleted {', '.join(deleted)} without being declared destructive"
    if work.reached and able.open_world is False:
        return f"reached {', '.join(sorted(set(work.reached)))} without being declared open_world"
    return ""


def _any_declared(values: Iterable[bool | None]) -> bool | None:
    known = tuple(values)
    return True if True in known else None if None in known else False
