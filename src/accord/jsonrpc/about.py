"""What there is to say about a method beyond its signature, for those who read its description.

Pure data: nothing here changes how a method is called. The description itself is made by
`accord.openrpc`, which also reads the signature and the docstring.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, Struct


class ExternalDocs(Struct, frozen=True):
    """A page elsewhere that tells more."""

    url: str
    description: str = ""


class Tag(Struct, frozen=True):
    """A group that methods are listed under."""

    name: str
    summary: str = ""
    description: str = ""
    external_docs: ExternalDocs | None = None


class ErrorAbout(Struct, frozen=True):
    """An error that callers have to reckon with."""

    code: int
    message: str
    data: Any = UNSET
    """An example of what comes with it; left out when UNSET."""


class Example(Struct, frozen=True, kw_only=True):
    """One call with its outcome. Without a result it is an example of a notification."""

    name: str
    params: Mapping[str, Any] = {}
    result: Any = UNSET
    summary: str = ""
    description: str = ""


class Link(Struct, frozen=True, kw_only=True):
    """How the result of this method leads to a call of another one."""

    name: str
    method: str
    params: Mapping[str, Any] = {}
    """Values, or run-time expressions such as `${result.id}`."""
    summary: str = ""
    description: str = ""


class About(Struct, frozen=True, kw_only=True):
    """What a method's description says. Whatever is left out is taken from the function."""

    summary: str = ""
    """One line; else the first line of the docstring."""
    description: str = ""
    """Markdown; else the rest of the docstring."""
    tags: tuple[str | Tag, ...] = ()
    params: Mapping[str, str] = {}
    """What each parameter means, by name; else the description in its annotation."""
    result: str = ""
    """What the result means."""
    errors: tuple[int | str | ErrorAbout, ...] = ()
    """Errors by code, by their name in the catalogue, or spelled out."""
    examples: tuple[Example, ...] = ()
    links: tuple[Link, ...] = ()
    deprecated: bool = False
    deprecated_params: tuple[str, ...] = ()
    external_docs: ExternalDocs | None = None
    hidden: bool = False
    """Whether the method is served but not described."""


NOTHING = About()
