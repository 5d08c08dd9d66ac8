"""Differences between two states: by field, and by line in long texts.

Lines are compared with the algorithm of Myers ("An O(ND) Difference Algorithm", 1986). It gives up
if the texts have little in common; then one text replaces the other as a whole. So a diff never
takes longer than `MAX_EDITS` times the number of lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

MAX_EDITS: Final = 200
"""The limit of removed and added lines; beyond it, comparing stops."""
CONTEXT: Final = 3
"""Unchanged lines shown around a change."""
LONG_TEXT_LINES: Final = 80
"""A text with more characters, or with several lines, is long."""


class FieldDifference(Struct, frozen=True):
    """A changed field with its old and its new value."""

    field: str
    before: Any
    after: Any

    @property
    def inverse(self) -> FieldDifference:
        """The difference that reverts this one."""
        return FieldDifference(self.field, self.after, self.before)

    @property
    def diff(self) -> str | None:
        """A unified diff of long texts; None for other values."""
        if not isinstance(self.before, str) or not isinstance(self.after, str):
            return None
        if not _is_long(self.before) and not _is_long(self.after):
            return None
        return unified(self.before, self.after)


def differences(
    before: Mapping[str, Any], after: Mapping[str, Any], ignoring: frozenset[str] = frozenset()
) -> tuple[FieldDifference, ...]:
    """Return the fields that differ, in their order.

    A field that one of the two lacks is None there.
    """
    fields = dict.fromkeys((*before, *after))
    return tuple(
        FieldDifference(field, before.get(field), after.get(field))
        for field in fields
        if field not in ignoring and before.get(field) != after.get(field)
    )


def apply(fields: Mapping[str, Any], changes: Sequence[FieldDifference]) -> dict[str, Any]:
    """Return `fields` after `changes`."""
    return {**fields, **{each.field: each.after for each in changes}}


def unified(before: str, after: str) -> str:
    """Return a diff in the form of `diff -u`, without its header.

    It is empty for equal texts.
    """
    old, new = before.splitlines(), after.splitlines()
    return "\n".join(
        line for hunk in _hunks(edit_script(old, new)) for line in _shown(hunk, old, new)
    )


class Edit(Struct, frozen=True):
    """A range of lines (or words) of the old text, and the range that replaces it."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def edit_script(old: Sequence[str], new: Sequence[str]) -> Iterator[Edit]:
    """Yield the edits that turn the old lines into the new ones, in order."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    old_end, new_end = len(old) - tail, len(new) - tail
    old_at = new_at = head
    equal = _equal_lines(old[head:old_end], new[head:new_end])
    for old_line, new_line in (*equal, (old_end - head, new_end - head)):
        old_line, new_line = head + old_line, head + new_line
        if old_line > old_at or new_line > new_at:
            yield Edit(old_at, old_line, new_at, new_line)
        old_at, new_at = old_line + 1, new_line + 1


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the number of equal lines at the start."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(old), len(new)))


def _equal_lines(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of common lines, for a minimum of edits (Myers).

    The list is empty if that takes more than `MAX_EDITS` edits.
    """
    furthest = {1: 0}
    trace: list[dict[int, int]] = []
    for edits in range(MAX_EDITS + 1):
        trace.append(dict(furthest))
        for diagonal in range(-edits, edits + 1, 2):
            place = _step(furthest, diagonal, edits)
            while (
                place < len(old)
                and place - diagonal < len(new)
                and old[place] == new[place - diagonal]
            ):
                place += 1
            furthest[diagonal] = place
            if place >= len(old) and place - diagonal >= len(new):
                return _walked(trace, len(old), len(new))
    return []


def _step(furthest: Mapping[int, int], diagonal: int, edits: int) -> int:
    """Return the start of the next edit on a diagonal.

    It is below the diagonal above or right of the diagonal on the left, whichever got further.
    """
    above, left = furthest.get(diagonal + 1, -1), furthest.get(diagonal - 1, -1)
    is_added = diagonal == -edits or (diagonal != edits and left < above)
    return above if is_added else left + 1


def _walked(trace: Sequence[Mapping[int, int]], old: int, new: int) -> list[tuple[int, int]]:
    """Return the equal lines on the path found, by walking it backwards."""
    equal: list[tuple[int, int]] = []
    for edits in range(len(trace) - 1, -1, -1):
        furthest, diagonal = trace[edits], old - new
        start = _step(furthest, diagonal, edits)
        while old > start:
            old, new = old - 1, new - 1
            equal.append((old, new))
        is_added = start == furthest.get(diagonal + 1, -1)
        old, new = (old, new - 1) if is_added else (old - 1, new)
    return equal[::-1]


def _hunks(edits: Iterator[Edit]) -> Iterator[list[Edit]]:
    """Group edits that are close enough to be shown together."""
    hunk: list[Edit] = []
    for edit in edits:
        if hunk and edit.old_start - hunk[-1].old_end > 2 * CONTEXT:
            yield hunk
            hunk = []
        hunk.append(edit)
    if hunk:
        yield hunk


def _shown(hunk: Sequence[Edit], old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    first, last = hunk[0], hunk[-1]
    before = min(CONTEXT, first.old_start)
    after = min(CONTEXT, len(old) - last.old_end)
    yield (
        f"@@ -{_range(first.old_start - before, last.old_end + after)} "
        f"+{_range(first.new_start - before, last.new_end + after)} @@"
    )
    place = first.old_start - before
    for edit in hunk:
        yield from (f" {line}" for line in old[place : edit.old_start])
        yield from (f"-{line}" for line in old[edit.old_start : edit.old_end])
        yield from (f"+{line}" for line in new[edit.new_start : edit.new_end])
        place = edit.old_end
    yield from (f" {line}" for line in old[place : place + after])


def _range(start: int, end: int) -> str:
    """Return a range as `diff` writes it.

    Lines are counted from one; an empty range names the line before it.
    """
    length = end - start
    return f"{start + 1 if length else start},{length}"


def _is_long(text: str) -> bool:
    return len(text) > LONG_TEXT_LINES or "\n" in text
