"""A router with parameters and results of every kind that a document has to describe."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypedDict, TypeVar
from uuid import UUID

import msgspec
import pydantic
from msgspec import Meta, Struct

from accord import Router
from accord.openrpc import About, ErrorAbout, Example, ExternalDocs, Link, Tag

T = TypeVar("T")


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Node(Struct):
    """A tree."""

    value: int
    children: list[Node] = []


class Page(Struct, Generic[T]):
    items: list[T]
    next: str | None = None


class Cat(Struct, tag="cat"):
    name: str
    lives: Annotated[int, Meta(ge=0, le=9)] = 9


class Dog(Struct, tag="dog"):
    name: str
    tricks: dict[str, int] = {}


@dataclass
class Order:
    id: UUID
    lines: list[tuple[str, int]] = field(default_factory=list)


class Point(NamedTuple):
    x: float
    y: float


class _Named(TypedDict):
    name: str


class Options(_Named, total=False):
    colour: Colour
    depth: int


class Account(pydantic.BaseModel):
    owner: Annotated[str, pydantic.Field(min_length=1, description="Who owns it.")]
    balance: Decimal = Decimal(0)
    parent: Account | None = None


def zoo() -> Router:
    """The router; a new one each time."""
    router = flat_zoo()

    @router.method
    def walk(tree: Node) -> Node:
        """Walk a tree."""
        return tree

    @router.method
    def list_nodes() -> Page[Node]:
        return Page([], None)

    @router.method
    def open_account(account: Account, wait: timedelta | None = None) -> Account:
        return account

    return router


def flat_zoo() -> Router:
    """Without recursive types, which many tools unfold for ever."""
    router = Router()

    @router.method
    def list_pets(
        cursor: str | None = None,
        limit: Annotated[int, Meta(ge=1, le=100, description="How many.")] = 10,
    ) -> Page[Cat | Dog]:
        """Pets, page by page.

        The cursor of the next page is in `next`.
        """
        return Page([], None)

    @router.method
    def adopt(pet: Cat | Dog, /, level: Level = Level.LOW) -> Cat | Dog:
        return pet

    @router.method
    def paint(colour: Colour, mode: Literal["fast", "slow", 3] = "fast") -> Colour:
        return colour

    @router.method
    def order(order: Order, at: Point, when: datetime, days: set[date]) -> Order:
        return order

    @router.method
    def configure(*, options: Options, tags: frozenset[str] = frozenset()) -> Options:
        return options

    @router.method
    def sum_all(*numbers: int) -> int:
        return sum(numbers)

    @router.method
    def gather(name: str, **others: bool) -> dict[str, bool]:
        return others

    @router.method
    def anything(value: Any, raw: msgspec.Raw, untyped=None):  # type: ignore[no-untyped-def]
        return value

    @router.method
    def pair(size: tuple[int, str], matrix: list[list[float]], rest: tuple[int, ...]) -> Point:
        return Point(0, 0)

    return router


def described() -> Router:
    """A router whose methods say all that can be said."""
    router = Router()
    users = Tag(
        "users",
        summary="People.",
        description="Those who *use* it.",
        external_docs=ExternalDocs("https://example.com/users"),
    )

    @router.method(
        "users.get",
        about=About(
            tags=(users, "read"),
            params={"id": "Which one."},
            result="The user.",
            errors=("resource_not_found", -32010, ErrorAbout(404, "No such user", {"id": 7})),
            examples=(
                Example(name="the first", params={"id": 1}, result={"id": 1}, summary="One."),
                Example(name="told", params={"id": 2, "fields": ["id"]}),
            ),
            links=(
                Link(
                    name="rename",
                    method="users.rename",
                    params={"id": "${result.id}"},
                    summary="Rename it.",
                ),
            ),
            external_docs=ExternalDocs("https://example.com/get", "How."),
        ),
    )
    def get(id: int, fields: list[str] | None = None) -> dict[str, int]:
        """Get a user.

        With all fields, or some.
        """
        return {"id": id}

    @router.method(
        "users.rename",
        about=About(
            summary="Rename a user",
            description="By their id.",
            tags=("users",),
            deprecated=True,
            deprecated_params=("name",),
            errors=(ErrorAbout(404, "No such user"),),
        ),
    )
    def rename(id: int, name: str) -> None:
        """Not read."""

    @router.method("internal", about=About(hidden=True))
    def internal() -> None: ...

    return router
