"""What a document says about the whole API: whose it is, and where it is served.

Values that become members of an OpenRPC document as they are; methods are not known here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct


class Contact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who answers questions about the API."""

    name: str = ""
    url: str = ""
    email: str = ""


class License(Struct, frozen=True, omit_defaults=True):
    """Under which terms the API may be used."""

    name: str
    url: str = ""


class Info(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What the API is called, its version, and who stands behind it."""

    title: str
    version: str
    """The version of the API, which has nothing to do with that of OpenRPC."""
    description: str = ""
    """Markdown."""
    terms_of_service: str = ""
    """A URL."""
    contact: Contact | None = None
    license: License | None = None


class ServerVariable(Struct, frozen=True, omit_defaults=True):
    """A part of a server's URL that its users choose."""

    default: str
    enum: tuple[str, ...] = ()
    """The values there are, where not every one will do."""
    description: str = ""


class Server(Struct, frozen=True, omit_defaults=True):
    """Where the API can be called. Raises ValueError for a URL that is not absolute."""

    url: str
    """Absolute; `${name}` stands for the variable of that name."""
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
    """The names of the variables in a server's URL."""
    return _VARIABLE.findall(url)


def is_absolute(url: str) -> bool:
    """Whether `url` has a scheme and a place, whatever the values of its variables are."""
    if not url.isprintable() or " " in url or "://" not in url:
        return False
    try:
        parts = urlsplit(_VARIABLE.sub("0", url))
        _ = parts.port
    except ValueError:  # a port that is no number, brackets that do not match
        return False
    return bool(parts.scheme and (parts.netloc or parts.path))


DISCOVER: Final = "rpc.discover"
