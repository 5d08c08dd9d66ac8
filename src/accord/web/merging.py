"""Two people changed the same text: what each did to it, put together. Pure.

What only one of them changed is taken over, and so is what both added; where both changed the same
words, both stand in brackets, for somebody to decide.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from accord.hub.domain.diffs import Edit, edit_script

MAX_WORDS: Final = 8_000
"""Beyond that many words, and what stands between them, texts are not put together."""

_WORDS: Final = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")
"""Each with the space behind it: spaces alone are alike everywhere, and would be mistaken."""


class Merged(Struct, frozen=True):
    """What came of it."""

    text: str
    clashes: int
    """In how many places both stand in brackets."""


def merge(base: str, mine: str, theirs: str) -> Merged:
    """The text with what two people did to `base`."""
    if mine == theirs or theirs == base:
        return Merged(mine, 0)
    if mine == base:
        return Merged(theirs, 0)
    words = [_WORDS.findall(text) for text in (base, mine, theirs)]
    if sum(map(len, words)) > MAX_WORDS:
        return Merged(_both(mine, theirs), 1)
    return _merged(*words)


def _merged(base: Sequence[str], mine: Sequence[str], theirs: Sequence[str]) -> Merged:
    text, clashes, place = "", 0, 0
    of_both = list(edit_script(base, mine)), list(edit_script(base, theirs))
    for of_mine, of_theirs in _regions(*of_both):
        start = min(edit.old_start for edit in (*of_mine, *of_theirs))
        end = max(edit.old_end for edit in (*of_mine, *of_theirs))
        text += "".join(base[place:start])
        one = _done(base, mine, of_mine, start, end)
        other = _done(base, theirs, of_theirs, start, end)
        if not of_mine or not of_theirs or one == other:
            text += one if of_mine else other
        elif start == end:
            text += _joined(other, one)
        else:
            text += _both(one, other)
            clashes += 1
        place = end
    return Merged(text + "".join(base[place:]), clashes)


def _regions(mine: list[Edit], theirs: list[Edit]) -> list[tuple[list[Edit], list[Edit]]]:
    """Edits that touch each other, by whose they are."""
    regions: list[tuple[list[Edit], list[Edit]]] = []
    end = -1
    marked = [(edit, 0) for edit in mine] + [(edit, 1) for edit in theirs]
    for edit, whose in sorted(marked, key=lambda each: (each[0].old_start, each[0].old_end)):
        if edit.old_start > end or not regions:
            regions.append(([], []))
        regions[-1][whose].append(edit)
        end = max(end, edit.old_end)
    return regions


def _done(
    base: Sequence[str], new: Sequence[str], edits: Sequence[Edit], start: int, end: int
) -> str:
    """What stands from `start` to `end` of the base after some edits."""
    text, place = "", start
    for edit in edits:
        text += "".join(base[place : edit.old_start]) + "".join(new[edit.new_start : edit.new_end])
        place = edit.old_end
    return text + "".join(base[place:end])


def _joined(first: str, second: str) -> str:
    """What both put into the same place, one after the other."""
    is_apart = first[-1:].isspace() or not second[:1].isalnum()
    return first + second if is_apart else f"{first} {second}"


def _both(mine: str, theirs: str) -> str:
    end = theirs[len(theirs.rstrip()) :]
    return f"[yours: {mine.rstrip()}] [theirs: {theirs.rstrip()}]{end}"
