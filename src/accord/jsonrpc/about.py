"""What there is to say about a method beyond its signature, for those who read its description.

Pure data: nothing here changes how a method is called. The description itself is made by
`accord.openrpc`, which also reads the signature and the docstring.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, Struct


class ExternalDocs(Struct, frozen=True):
    """A page elsewhere with more information."""

    url: str
    description: str = ""


class Tag(Struct, frozen=True):
    """A group that methods are listed under."""

    name: str
    summary: str = ""
    description: str = ""
    external_docs: ExternalDocs | None = None


class ErrorAbout(Struct, frozen=True):
    """An error that callers must expect."""

    code: int
    message: str
    data: Any = UNSET
    """An example of the error's data; left out when UNSET."""


class Example(Struct, frozen=True, kw_only=True):
    """An example call with its outcome. Without a result it is a notification."""

    name: str
    params: Mapping[str, Any] = {}
    result: Any = UNSET
    summary: str = ""
    description: str = ""


class Link(Struct, frozen=True, kw_only=True):
    """A link from the result of this method to a call of another one."""

    name: str
    method: str
    params: Mapping[str, Any] = {}
    """Values, or run-time expressions such as `${result.id}`."""
    summary: str = ""
    description: str = ""


class About(Struct, frozen=True, kw_only=True):
    """The metadata of a method. Missing parts are taken from the function."""

    summary: str = ""
    """One line; else the first line of the docstring."""
    description: str = ""
    """Markdown; else the rest of the docstring."""
    tags: tuple[str | Tag, ...] = ()
    params: Mapping[str, str] = {}
    """Descriptions of the parameters, by name; else the description in the annotation."""
    result: str = ""
    """A description of the result."""
    errors: tuple[int | str | ErrorAbout, ...] = ()
    """Errors by code, by their name in the catalogue, or spelled out."""
    examples: tuple[Example, ...] = ()
    links: tuple[Link, ...] = ()
    deprecated: bool = False
    deprecated_params: tuple[str, ...] = ()
    external_docs: ExternalDocs | None = None
    hidden: bool = False
    """True for a method that is served but not described."""


NOTHING = About()
