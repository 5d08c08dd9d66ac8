"""What a client is told that was not let in: `WWW-Authenticate` (RFC 9110, section 11.6.1). Pure.

Whatever is put into the header is checked here, wherever it comes from: nobody can add a
header, or a second challenge, by the name of a scope.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

# RFC 6749, section 3.3: what a scope is made of
_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")
_UNQUOTABLE: Final = re.compile(r"[^\t\x20-\x7e]")
MAX_SCOPES: Final = 100


def challenge(scheme: str, **parameters: str) -> bytes:
    """Return the header line of one challenge, without empty parameters."""
    said = ", ".join(f"{name}={_quoted(value)}" for name, value in parameters.items() if value)
    return f"www-authenticate: {scheme}{' ' if said else ''}{said}\r\n".encode("ascii")


def scope_of(scopes: Iterable[str]) -> str:
    """Return the value of the parameter `scope`, without invalid scopes."""
    names = [each for each in dict.fromkeys(scopes) if is_scope(each)]
    return " ".join(names[:MAX_SCOPES])


def is_scope(text: str) -> bool:
    return _SCOPE.fullmatch(text) is not None


def _quoted(value: str) -> str:
    """Return a quoted string (RFC 9110, section 5.6.4)."""
    clean = _UNQUOTABLE.sub("?", value)
    escaped = clean.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
