"""The metadata of an API in its document: title, contact, license, servers.

The values become members of an OpenRPC document unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct


class Contact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The contact for questions about the API."""

    name: str = ""
    url: str = ""
    email: str = ""


class License(Struct, frozen=True, omit_defaults=True):
    """The license of the API."""

    name: str
    url: str = ""


class Info(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The title of the API, its version, and its publisher."""

    title: str
    version: str
    """The version of the API, not of OpenRPC."""
    description: str = ""
    """The description of the API, in Markdown."""
    terms_of_service: str = ""
    """The URL of the terms of service."""
    contact: Contact | None = None
    license: License | None = None


class ServerVariable(Struct, frozen=True, omit_defaults=True):
    """A part of a server's URL that clients choose."""

    default: str
    enum: tuple[str, ...] = ()
    """The allowed values; empty if any value is allowed."""
    description: str = ""


class Server(Struct, frozen=True, omit_defaults=True):
    """A server of the API.

    Raises ValueError for a URL that is not absolute.
    """

    url: str
    """The absolute URL; `${name}` refers to the variable of that name."""
    name: str = ""
    summary: str = ""
    description: str = ""
    variables: Mapping[str, ServerVariable] = {}

    def __post_init__(self) -> None:
        if not is_absolute(self.url):
            raise ValueError(
                f"the server's URL {self.url!r} is not absolute, as https://example.com/rpc is"
            )
        undeclared = [name for name in url_variables(self.url) if name not in self.variables]
        if undeclared:
            raise ValueError(f"the server's URL {self.url!r} has no variable {undeclared[0]!r}")


_VARIABLE = re.compile(r"\$\{([^{}]*)\}")


def url_variables(url: str) -> list[str]:
    """Return the names of the variables in a server's URL."""
    return _VARIABLE.findall(url)


def is_absolute(url: str) -> bool:
    """Return whether `url` has a scheme and a host or path, for any values of its variables."""
    if not url.isprintable() or " " in url or "://" not in url:
        return False
    try:
        parts = urlsplit(_VARIABLE.sub("0", url))
        _ = parts.port
    except ValueError:  # a port that is no number, brackets that do not match
        return False
    return bool(parts.scheme and (parts.netloc or parts.path))


DISCOVER: Final = "rpc.discover"
