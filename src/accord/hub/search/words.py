"""Texts as words, and the known words that a misspelt word may mean. Pure.

A word is a run of letters and digits, folded: letter case and accents do not count. Each ideograph
is a word of its own, and so is a reference id such as `REQ-12`.

Two words that differ by one slip become equal when the right letter is left out of each, so each
known word is stored with its shortened forms, and a lookup compares forms.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import combinations
from typing import Final

from accord.hub.domain.rules import KINDS

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


MIN_CORRECTED: Final = 4
"""In shorter words every slip gives another word."""
MAX_CORRECTED: Final = 32
MAX_SIMILAR_WORDS: Final = 5
"""The maximum number of suggestions for a misspelt word."""

BEGINNING: Final = 7
"""The number of first letters that make the keys of a word."""
_TWO_SLIPS: Final = 8
"""Words of this length or more may have two slips."""


def is_correctable(word: str) -> bool:
    """Return whether a word can be misspelt: numbers and ids cannot."""
    return MIN_CORRECTED <= len(word) <= MAX_CORRECTED and word.isalpha()


def spelling_keys(word: str, slips: int = 1) -> list[str]:
    """Return the beginning of a word with up to `slips` letters left out."""
    beginning = word[:BEGINNING]
    found = {beginning: None}
    for count in range(1, slips + 1):
        for kept in combinations(beginning, len(beginning) - count):
            found["".join(kept)] = None
    return list(found)


def similar_words(word: str, candidates: Iterable[str]) -> list[str]:
    """Return the candidates closest to `word`, closest first.

    `word` may be the beginning of a candidate.
    """
    allowed = 2 if len(word) >= _TWO_SLIPS else 1
    measured = ((distance(word, each, allowed), each) for each in candidates if each != word)
    near = sorted(
        (slips, abs(len(each) - len(word)), each)
        for slips, each in measured
        if 0 < slips <= allowed
    )
    return [each for slips, _, each in near if slips == near[0][0]][:MAX_SIMILAR_WORDS]


def distance(word: str, other: str, most: int) -> int:
    """Return the number of slips between `word` and the closest prefix of `other`.

    A slip is a missing, extra or wrong letter, or two swapped letters (Damerau-Levenshtein).
    Distances above `most` are not computed exactly.
    """
    other = other[: len(word) + most]
    before: list[int] = []
    row = list(range(len(other) + 1))
    for place, letter in enumerate(word, 1):
        oldest, before, row = before, row, [place]
        for at, letter_there in enumerate(other, 1):
            slips = min(before[at] + 1, row[at - 1] + 1, before[at - 1] + (letter != letter_there))
            if place > 1 and at > 1 and (letter, word[place - 2]) == (other[at - 2], letter_there):
                slips = min(slips, oldest[at - 2] + 1)
            row.append(slips)
        if min(row) > most:
            return most + 1
    return min(row)
