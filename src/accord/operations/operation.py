"""One operation as a value: what it is called, what it needs, where it is found on each face."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from accord.jsonrpc.parameters import Parameter
from accord.operations.rights import Right
from accord.operations.work import Work

Verb: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Function: TypeAlias = Callable[..., Awaitable[Any]]
Prepare: TypeAlias = Callable[[Work, Mapping[str, Any]], Awaitable[Any]]
Finish: TypeAlias = Callable[[Work, Mapping[str, Any], Any], Awaitable[Any]]


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
