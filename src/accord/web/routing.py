"""Which function answers at which path: pages are declared where they are written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from accord.web.answers import Answer
    from accord.web.turn import Turn

Verb: TypeAlias = Literal["GET", "POST"]
PageFunction: TypeAlias = "Callable[[Turn], Awaitable[Answer]]"


class Route(Struct, frozen=True):
    """A function at a path such as `/items/{id}`; what stands there for names is in the turn."""

    verb: Verb
    path: str
    function: PageFunction
    is_public: bool
    """Whether it is there for people who have not signed in."""
    is_upload: bool = False
    """Whether its form has files, and may be as large as any request."""


class Pages:
    """Pages that belong together."""

    def __init__(self) -> None:
        self._routes: Final[list[Route]] = []

    def __iter__(self) -> Iterator[Route]:
        return iter(self._routes)

    def get(self, path: str, *, is_public: bool = False) -> Callable[[PageFunction], PageFunction]:
        """Have a function show a page."""
        return self._add("GET", path, is_public)

    def post(
        self, path: str, *, is_public: bool = False, is_upload: bool = False
    ) -> Callable[[PageFunction], PageFunction]:
        """Have a function take a form."""
        return self._add("POST", path, is_public, is_upload)

    def _add(
        self, verb: Verb, path: str, is_public: bool, is_upload: bool = False
    ) -> Callable[[PageFunction], PageFunction]:
        def decorate(function: PageFunction) -> PageFunction:
            self._routes.append(Route(verb, path, function, is_public, is_upload))
            return function

        return decorate
