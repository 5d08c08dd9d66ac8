"""URLs: taken apart, and written into messages without the secrets they may hold. Pure."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

from accord.jsonrpc.protocol.errors import ConnectError

_CREDENTIALS = re.compile(r"//.*@", re.DOTALL)
_QUERY = re.compile(r"\?[^#]*")


def scheme_of(url: str) -> str:
    """Return the part before the colon in lower case, empty if there is no colon."""
    scheme, colon, _ = url.partition(":")
    return scheme.lower() if colon else ""


def split(url: str, *, advice: str) -> tuple[SplitResult, int | None]:
    """Return the parts of a URL and its port. Raises ConnectError with `advice`."""
    try:
        parts = urlsplit(url)
        return parts, parts.port
    except ValueError:  # do not chain it: its message may repeat a password
        why = "its host is malformed, or its port is not within 0 and 65,535"
        raise unusable(url, why, advice=advice) from None


def unusable(url: str, why: str, *, advice: str) -> ConnectError:
    """Return the error for a URL that is not a usable address."""
    message = f"cannot use the address {shown(url)!r}: {why}"
    return ConnectError(message, recoverable=False, advice=advice)


def shown(url: str) -> str:
    """Return the URL with credentials and query replaced by `…`.

    Malformed URLs are redacted too, so everything up to the last `@` counts as credentials.
    """
    return _QUERY.sub("?…", _CREDENTIALS.sub("//…@", url, count=1), count=1)


def host_and_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
