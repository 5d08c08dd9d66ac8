"""What tokens look like: a prefix that says what it is, 30 random characters, 6 of a checksum.

A text with a wrong checksum was mistyped or made up, and nobody needs to be asked about it.
Scanners of leaked secrets find tokens by their prefix, and tell real ones by the same checksum.
"""

from __future__ import annotations

import re
import secrets
from typing import Final, Literal, TypeAlias
from zlib import crc32

Kind: TypeAlias = Literal["pat", "ses"]
"""A personal access token, or a login session."""

RANDOM: Final = 30
CHECKSUM: Final = 6
SHOWN: Final = 4
"""Random characters shown in lists of tokens."""

MAX_DAYS: Final = 365
DEFAULT_DAYS: Final = 90
"""Lifetimes of access tokens."""

_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PAIRS: Final = tuple(first + second for first in _DIGITS for second in _DIGITS)
_TOKEN: Final = re.compile(r"accord_(pat|ses)_([0-9A-Za-z]{30})([0-9A-Za-z]{6})", re.ASCII)


def make_token(kind: Kind) -> str:
    """Return a new random token."""
    random = "".join(secrets.choice(_DIGITS) for _ in range(RANDOM))
    return f"accord_{kind}_{random}{_checksum(f'accord_{kind}_{random}')}"


def kind_of(text: str) -> Kind | None:
    """Return the kind of a token; None for a text that cannot be a token."""
    match = _TOKEN.fullmatch(text)
    if match is None or _checksum(text[:-CHECKSUM]) != match[3]:
        return None
    return "pat" if match[1] == "pat" else "ses"


def shown_prefix(token: str) -> str:
    """Return the beginning of a token, by which its owner recognizes it."""
    return token[: len("accord_pat_") + SHOWN]


def _checksum(text: str) -> str:
    """Return the CRC32 in base 62, in 6 characters."""
    rest, last = divmod(crc32(text.encode()), len(_PAIRS))
    first, middle = divmod(rest, len(_PAIRS))
    return _PAIRS[first] + _PAIRS[middle] + _PAIRS[last]
