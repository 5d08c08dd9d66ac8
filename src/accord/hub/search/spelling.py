"""Which words may have been meant by one that is misspelt. Pure.

Two words that differ by one slip become the same when the right letter is left out of each. So the
index keeps, for each word that it knows, the keys which its beginning gives with one letter left
out; a misspelt word gives such keys too, and those that have one in common are compared. That takes
a few rows per word and one look into a plain table, on every database.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Final

SHORTEST: Final = 4
"""In shorter words every slip gives another word."""
LONGEST: Final = 32
MOST_WORDS: Final = 5
"""The maximum number of suggestions for a misspelt word."""

BEGINNING: Final = 7
"""The number of first letters that make the keys of a word."""
_TWO_SLIPS: Final = 8
"""Words of this length or more may have two slips."""


def is_spelt(word: str) -> bool:
    """Return whether a word can be misspelt: numbers and ids cannot."""
    return SHORTEST <= len(word) <= LONGEST and word.isalpha()


def keys(word: str, slips: int = 1) -> list[str]:
    """Return the beginning of a word with up to `slips` letters left out."""
    beginning = word[:BEGINNING]
    found = {beginning: None}
    for count in range(1, slips + 1):
        for kept in combinations(beginning, len(beginning) - count):
            found["".join(kept)] = None
    return list(found)


def meant(word: str, candidates: Iterable[str]) -> list[str]:
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
    return [each for slips, _, each in near if slips == near[0][0]][:MOST_WORDS]


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
