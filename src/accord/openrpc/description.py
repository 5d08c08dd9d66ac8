"""What there is to say about one method, wherever it was learned: a function, a route.

Values only: how OpenRPC writes them down is for `method_object` to know.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from accord.exposure.openapi import NO_SECURITY, Security
from accord.jsonrpc.about import ErrorAbout, Example, ExternalDocs, Link, Tag
from accord.schema.schema import Schema

ParamStructure: TypeAlias = Literal["by-name", "by-position", "either"]


class Param(Struct, frozen=True, kw_only=True):
    """One parameter as callers see it."""

    name: str
    schema: Schema
    required: bool = False
    description: str = ""
    deprecated: bool = False
    place: str = ""
    """Where in an HTTP request it goes: path, query, header, cookie or body."""
    wire_name: str = ""
    """What it is called there, where that is another name."""
    variadic: bool = False
    """Whether any number of values may be given: by further positions, or under other names."""


class HttpRoute(Struct, frozen=True, kw_only=True):
    """The route of a web application that a method calls."""

    method: str
    path: str
    security: Security = NO_SECURITY


class Description(Struct, frozen=True, kw_only=True):
    """One method as callers see it."""

    name: str
    summary: str = ""
    description: str = ""
    tags: tuple[str | Tag, ...] = ()
    params: tuple[Param, ...] = ()
    structure: ParamStructure = "either"
    result: Schema
    result_description: str = ""
    errors: tuple[ErrorAbout, ...] = ()
    links: tuple[Link, ...] = ()
    examples: tuple[Example, ...] = ()
    deprecated: bool = False
    external_docs: ExternalDocs | None = None
    route: HttpRoute | None = None
