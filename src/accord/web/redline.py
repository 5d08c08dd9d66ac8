"""Differences for people: redlines, merged edits, changed fields.

The functions do no I/O. A redline compares lines first, then the words of lines that differ. A
merge takes each change that only one of two edits made, and the insertions of both at the same
place. Other changes of the same words are conflicts: the text then has both versions in brackets,
for a person to decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final, Literal, TypeAlias

from markupsafe import Markup
from msgspec import UNSET, Struct

from accord.hub.domain.text import Edit, edit_script
from accord.hub.entities import Difference

MAX_WORDS: Final = 4_000
"""The most words and separators that are compared in lines that differ."""

Mark: TypeAlias = Literal["", "del", "ins"]
Piece: TypeAlias = tuple[Mark, str]
"""A piece of a redline: the mark for unchanged, deleted or inserted, and the text."""
Compare: TypeAlias = Callable[[Sequence[str], Sequence[str]], Iterable[Piece]]

_WORDS: Final = re.compile(r"\n|[^\S\n]+|\w+|[^\w\s]")
_HEAD: Final = re.compile(r"^@@ [^\n]* @@$\n?", re.MULTILINE)
_GAP: Final = Markup('<span class="gap"> … </span>')
_MARKS: Final[dict[str, Mark]] = {" ": "", "-": "del", "+": "ins"}


def redline(before: str, after: str, *, around: int | None = None) -> Markup:
    """Return `after` as HTML, with insertions in `ins` and deletions in `del` elements.

    If `around` is given, only that many unchanged characters are shown on each side of a change.
    """
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return _marked(_between(old, new, _by_words), around)


def unified(diff: str, *, around: int | None = None) -> Markup:
    """Convert a unified diff to a redline.

    For long texts, operations return unified diffs.
    """
    hunks = (_of_hunk(each) for each in _HEAD.split(diff) if each)
    return _GAP.join(_marked(each, around) for each in hunks)


def _of_hunk(hunk: str) -> Iterator[Piece]:
    lines = [(_MARKS.get(line[:1], ""), f"{line[1:]}\n") for line in hunk.rstrip("\n").split("\n")]
    for is_changed, block in groupby(lines, lambda line: line[0] != ""):
        pieces = list(block)
        if is_changed:
            deleted = [text for mark, text in pieces if mark == "del"]
            yield from _by_words(deleted, [text for mark, text in pieces if mark == "ins"])
        else:
            yield from pieces


def _by_words(deleted: Sequence[str], inserted: Sequence[str]) -> Iterable[Piece]:
    old, new = _WORDS.findall("".join(deleted)), _WORDS.findall("".join(inserted))
    if len(old) + len(new) > MAX_WORDS:
        return _replaced(old, new)
    return _join_over_spaces(list(_between(old, new, _replaced)))


def _replaced(deleted: Sequence[str], inserted: Sequence[str]) -> Iterable[Piece]:
    return (("del", "".join(deleted)), ("ins", "".join(inserted)))


def _between(old: Sequence[str], new: Sequence[str], compare: Compare) -> Iterator[Piece]:
    place = 0
    for edit in edit_script(old, new):
        yield "", "".join(old[place : edit.old_start])
        yield from compare(old[edit.old_start : edit.old_end], new[edit.new_start : edit.new_end])
        place = edit.old_end
    yield "", "".join(old[place:])


def _join_over_spaces(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Join adjacent changes that only spaces separate."""
    deleted, inserted = "", ""
    for place, (mark, text) in enumerate(pieces):
        inside = deleted + inserted and 0 < place < len(pieces) - 1 and not text.strip(" ")
        if mark or inside:
            deleted += text if mark != "ins" else ""
            inserted += text if mark != "del" else ""
        elif text:
            yield from (("del", deleted), ("ins", inserted), (mark, text))
            deleted = inserted = ""
    yield from (("del", deleted), ("ins", inserted))


def _marked(pieces: Iterable[Piece], around: int | None) -> Markup:
    kept = [(mark, text) for mark, text in pieces if text]
    merged = [
        (mark, "".join(text for _, text in group))
        for mark, group in groupby(kept, lambda piece: piece[0])
    ]
    last = len(merged) - 1
    return Markup().join(
        Markup("<{0}>{1}</{0}>").format(Markup(mark), text)
        if mark
        else _shorten_unchanged(text, around, is_first=place == 0, is_last=place == last)
        for place, (mark, text) in enumerate(merged)
    )


def _shorten_unchanged(text: str, around: int | None, *, is_first: bool, is_last: bool) -> Markup:
    """Return unchanged text, cut to about `around` characters beside each change."""
    ends = (0 if is_first else around or 0) + (0 if is_last else around or 0)
    if around is None or len(text) <= ends + 20:
        return Markup.escape(text)
    head = Markup() if is_first else Markup.escape(text[:around].rpartition(" ")[0])
    tail = Markup() if is_last else Markup.escape(text[-around:].partition(" ")[2])
    return head + _GAP + tail


MAX_MERGED_WORDS: Final = 8_000
"""The most words and separators of the three texts of a merge; longer texts are one conflict."""

_WORDS_TO_MERGE: Final = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")
"""The pattern that splits a text into words, each with the space after it. Spaces on their own
would match anywhere, which misaligns texts."""


class MergedText(Struct, frozen=True):
    """The result of merging two edits."""

    text: str
    clashes: int
    """The number of conflicts; `text` has both versions of each conflict in brackets."""


def merge(base: str, mine: str, theirs: str) -> MergedText:
    """Merge two edits of the text `base`."""
    if mine == theirs or theirs == base:
        return MergedText(mine, 0)
    if mine == base:
        return MergedText(theirs, 0)
    words = [_WORDS_TO_MERGE.findall(text) for text in (base, mine, theirs)]
    if sum(map(len, words)) > MAX_MERGED_WORDS:
        return MergedText(_both(mine, theirs), 1)
    return _merged(*words)


def _merged(base: Sequence[str], mine: Sequence[str], theirs: Sequence[str]) -> MergedText:
    text, clashes, place = "", 0, 0
    of_both = list(edit_script(base, mine)), list(edit_script(base, theirs))
    for of_mine, of_theirs in _regions(*of_both):
        start = min(edit.old_start for edit in (*of_mine, *of_theirs))
        end = max(edit.old_end for edit in (*of_mine, *of_theirs))
        text += "".join(base[place:start])
        one = _apply_edits(base, mine, of_mine, start, end)
        other = _apply_edits(base, theirs, of_theirs, start, end)
        if not of_mine or not of_theirs or one == other:
            text += one if of_mine else other
        elif start == end:
            text += _join_insertions(other, one)
        else:
            text += _both(one, other)
            clashes += 1
        place = end
    return MergedText(text + "".join(base[place:]), clashes)


def _regions(mine: list[Edit], theirs: list[Edit]) -> list[tuple[list[Edit], list[Edit]]]:
    """Group the edits of two users that overlap or touch each other.

    A group is a pair: its edits from `mine`, and its edits from `theirs`.
    """
    regions: list[tuple[list[Edit], list[Edit]]] = []
    end = -1
    marked = [(edit, 0) for edit in mine] + [(edit, 1) for edit in theirs]
    for edit, whose in sorted(marked, key=lambda each: (each[0].old_start, each[0].old_end)):
        if edit.old_start > end or not regions:
            regions.append(([], []))
        regions[-1][whose].append(edit)
        end = max(end, edit.old_end)
    return regions


def _apply_edits(
    base: Sequence[str], new: Sequence[str], edits: Sequence[Edit], start: int, end: int
) -> str:
    """Return the words of `base` from `start` to `end`, after `edits`, as text."""
    text, place = "", start
    for edit in edits:
        text += "".join(base[place : edit.old_start]) + "".join(new[edit.new_start : edit.new_end])
        place = edit.old_end
    return text + "".join(base[place:end])


def _join_insertions(first: str, second: str) -> str:
    """Join two texts that were inserted at the same place, with a space between words."""
    is_apart = first[-1:].isspace() or not second[:1].isalnum()
    return first + second if is_apart else f"{first} {second}"


def _both(mine: str, theirs: str) -> str:
    end = theirs[len(theirs.rstrip()) :]
    return f"[yours: {mine.rstrip()}] [theirs: {theirs.rstrip()}]{end}"


LONG: Final = 60
"""Values with more characters are shown below their name instead of beside the name."""
AROUND: Final = 160
"""Unchanged characters shown on each side of a change."""
NAMES: Final = {
    "acceptance_criteria_id": "acceptance criteria",
    "confirmed_reason": "reason",
    "user_story_id": "user story",
}


class FieldChange(Struct, frozen=True):
    """A changed field of an item, with its redline."""

    name: str
    text: Markup
    is_long: bool


def field_changes(found: Iterable[Difference]) -> list[FieldChange]:
    """Convert each difference of a field to a redline; keep the order of `found`."""
    return [_field_change(each) for each in found]


def _field_change(difference: Difference) -> FieldChange:
    name = NAMES.get(difference.field, difference.field.removesuffix("_id").replace("_", " "))
    if difference.diff is not UNSET:
        return FieldChange(name, unified(str(difference.diff), around=AROUND), is_long=True)
    before, after = _words(difference.before), _words(difference.after)
    is_long = max(len(before), len(after)) > LONG
    if before and after and not is_long:  # two short values: one replaces the other
        return FieldChange(
            name, Markup("<del>{}</del> <ins>{}</ins>").format(before, after), is_long=False
        )
    return FieldChange(name, redline(before, after, around=AROUND), is_long=is_long)


def _words(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(str(each) for each in value)
        case _:
            return "" if value is UNSET else str(value)
