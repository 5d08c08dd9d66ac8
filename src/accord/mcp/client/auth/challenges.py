"""What a server wants, as its WWW-Authenticate header says it (RFC 9110, section 11.6.1). Pure.

The header may hold several challenges; those of other schemes than OAuth's are passed over.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

SCHEMES: Final = ("bearer", "dpop")

_TOKEN: Final = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_SEPARATORS = re.compile(r"[ \t,]*")
_PARAMETER = re.compile(
    rf'({_TOKEN})[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|({_TOKEN}))(?=[ \t]*(?:,|$))'
)
_SCHEME = re.compile(rf"({_TOKEN})(?=[ \t,]|$)")
_TOKEN68 = re.compile(r"[ \t]+[A-Za-z0-9\-._~+/]+=*(?=[ \t]*(?:,|$))")
_ESCAPED = re.compile(r"\\(.)")


class Challenge(Struct, frozen=True, kw_only=True):
    """One WWW-Authenticate challenge; missing parameters are empty."""

    scheme: str = ""
    """Lower case."""
    resource_metadata: str = ""
    scopes: tuple[str, ...] = ()
    error: str = ""


def challenge_in(header: str) -> Challenge:
    """Return the OAuth challenge to answer: the first with metadata, else the first."""
    ours = [each for each in read_challenges(header) if each.scheme in SCHEMES]
    telling = [each for each in ours if each.resource_metadata]
    return next(iter(telling or ours), Challenge())


def read_challenges(header: str) -> list[Challenge]:
    """Return all challenges of a header, up to the first malformed part."""
    found: list[tuple[str, dict[str, str]]] = []
    at = 0
    while True:
        at = _end(_SEPARATORS.match(header, at), at)
        parameter = _PARAMETER.match(header, at)
        if parameter is not None and found:
            name, quoted, plain = parameter.groups()
            value = plain if quoted is None else _ESCAPED.sub(r"\1", quoted)
            found[-1][1].setdefault(name.lower(), value)
            at = parameter.end()
            continue
        scheme = _SCHEME.match(header, at)
        if scheme is None:
            return [_challenge(scheme, parameters) for scheme, parameters in found]
        found.append((scheme[1].lower(), {}))
        at = _end(_TOKEN68.match(header, scheme.end()), scheme.end())


def _challenge(scheme: str, parameters: dict[str, str]) -> Challenge:
    return Challenge(
        scheme=scheme,
        resource_metadata=parameters.get("resource_metadata", ""),
        scopes=tuple(dict.fromkeys(parameters.get("scope", "").split())),
        error=parameters.get("error", ""),
    )


def _end(match: re.Match[str] | None, otherwise: int) -> int:
    return otherwise if match is None else match.end()
