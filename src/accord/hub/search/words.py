"""Texts as words. Pure.

A word is letters and digits, folded: letter case and accents do not count. Each ideograph is a word
of its own, and a reference id such as `REQ-007` is one, `req7`. Words of a query and of what is
stored are made alike, so that what is found does not depend on a database.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from accord.hub.domain.kinds import KINDS

MAX_TEXT: Final = 100_000
"""Characters of a text that are folded and indexed."""
MAX_WORD: Final = 64
"""Longer words are cut."""

_PREFIXES: Final = "|".join(each.prefix.lower() for each in KINDS.values())
_IDEOGRAPHS: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD: Final = re.compile(
    rf"\b(?P<prefix>{_PREFIXES})-0*(?P<number>[1-9][0-9]{{0,11}})?\b"
    rf"|[{_IDEOGRAPHS}]|[^\W_{_IDEOGRAPHS}]+"
)
_REFERENCE: Final = re.compile(rf"(?:{_PREFIXES})[1-9][0-9]*", re.ASCII)
_ACCENTS: Final = dict.fromkeys(range(0x300, 0x370))
# Letters with a stroke, and ligatures: no Unicode normal form decomposes them.
_STROKES: Final = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ı": "i"}
)


def fold(text: str) -> str:
    """Return a text without letter case and accents."""
    if text.isascii():
        return text[:MAX_TEXT].lower()
    decomposed = unicodedata.normalize("NFKD", text[:MAX_TEXT].casefold())[:MAX_TEXT]
    plain = decomposed.translate(_ACCENTS).translate(_STROKES)
    return unicodedata.normalize("NFC", plain).casefold()


def words(text: str) -> list[str]:
    """Return the words of a text, in order."""
    return [_word(match) for match in _WORD.finditer(fold(text))]


def sentence(found: list[str]) -> str:
    """Return words in their stored form: a space before and after each."""
    return f" {' '.join(found)} " if found else ""


def is_reference(word: str) -> bool:
    """Return whether a word is the folded form of a reference id."""
    return _REFERENCE.fullmatch(word) is not None


def _word(match: re.Match[str]) -> str:
    if match["prefix"]:
        return match["prefix"] + (match["number"] or "")
    return match[0][:MAX_WORD]
