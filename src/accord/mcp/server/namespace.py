"""How the names of a server change when it is mounted in another.

A tool or a prompt gets the prefix and `_` before its name. A URI, or a template, gets the
prefix as the first segment after its scheme:

    forecast             weather_forecast
    data://cities/oslo   data://weather/cities/oslo
    city:{name}          city:weather/{name}
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from accord.jsonrpc.errors import RegistrationError

_PREFIX: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://)?")
"""RFC 3986, section 3.1, and the slashes before an authority."""


class Namespace(Struct, frozen=True):
    """The names under one prefix; an empty one changes nothing."""

    prefix: str = ""

    def __post_init__(self) -> None:
        if self.prefix and not _PREFIX.fullmatch(self.prefix):
            raise RegistrationError(
                f"the prefix {self.prefix!r} is not made of 1 to 64 letters, digits and _ - ."
            )

    def name(self, name: str) -> str:
        """Return the outer name of an inner one."""
        return f"{self.prefix}_{name}" if self.prefix else name

    def uri(self, uri: str) -> str:
        """Return the outer form of an inner URI or template.

        Raises RegistrationError for one without a scheme.
        """
        if not self.prefix:
            return uri
        found = _SCHEME.match(uri)
        if found is None:
            raise RegistrationError(f"resource '{uri}' has no scheme to put a prefix after")
        return f"{found[0]}{self.prefix}/{uri[found.end() :]}"

    def inner_uri(self, uri: str) -> str:
        """Return the inner form of an outer URI; itself if the prefix does not match."""
        found = _SCHEME.match(uri)
        start = f"{self.prefix}/"
        if not self.prefix or found is None or not uri.startswith(start, found.end()):
            return uri
        return found[0] + uri[found.end() + len(start) :]
