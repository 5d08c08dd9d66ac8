"""Texts: names, allowed characters, sentences of Markdown, differences.

`sentences` masks everything that is not prose (code, quotes, headings, addresses) with as many
underscores, so every sentence keeps its position in the text.

Long texts are compared line by line with the algorithm of Myers ("An O(ND) Difference Algorithm",
1986). The comparison stops after `MAX_EDITS` edits; then the diff replaces one text by the other as
a whole. So the time of a diff is at most proportional to `MAX_EDITS` times the number of lines.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from msgspec import Struct


def fold(name: str) -> str:
    """Return the key under which a name is looked up.

    Names have the same key if they differ only in letter case, in the number of spaces, in
    invisible characters, or in Unicode forms of the same characters.
    """
    # Casefolding may produce new compatibility forms, so normalize before and after it.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    visible = "".join(each for each in folded if unicodedata.category(each) != "Cf")
    return " ".join(visible.split())


MAX_CHOICES: Final = 30
"""The maximum number of valid names that an error message lists."""
MAX_CHOICE_LENGTH: Final = 80
"""An unknown name is cut to this length before it is compared and quoted."""


def no_such(what: str, wrong: str, valid: Sequence[str]) -> str:
    """Return the error message for an unknown name, which lists the valid names.

    `what` says what the name is for, `wrong` is the unknown name. The names most similar to the
    unknown name come first.
    """
    wrong = wrong[:MAX_CHOICE_LENGTH]
    if not valid:
        return f"there is no {what} {wrong!r}: there are none at all"
    near = get_close_matches(wrong, valid, n=3)
    names = [*near, *(name for name in valid if name not in near)]
    more = f" and {len(names) - MAX_CHOICES:,} more" if len(names) > MAX_CHOICES else ""
    return f"there is no {what} {wrong!r}; there are: {', '.join(names[:MAX_CHOICES])}{more}"


_REFUSED: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]|\r(?!\n)")
_REFUSED_IN_LINE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def problem_of_text(text: str) -> str | None:
    """Return the error in a text of several lines; None if the text is valid."""
    return _problem(_REFUSED, text)


def problem_of_line(text: str) -> str | None:
    """Return the error in a text of one line, such as a title; None if it is valid."""
    return _problem(_REFUSED_IN_LINE, text) or (None if text.strip() else "is blank")


def _problem(refused: re.Pattern[str], text: str) -> str | None:
    found = refused.search(text)
    if found is None:
        return None
    return f"has the character U+{ord(found[0]):04X} at {found.start() + 1:,}, which is not allowed"


MASK: Final = "_"

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_LIST: Final = re.compile(r"\s{0,40}(?:[-*+]|[0-9]{1,9}[.)])\s{1,4}(?:\[[ xX]\]\s)?")
_HEADING: Final = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_INK: Final = re.compile(r"[^\s]")
_BACKTICKS: Final = re.compile(r"`+")
_ASIDE: Final = re.compile(r"""https?://[^\s)>]+|"[^"\n]{1,300}"|“[^”\n]{1,300}”|«[^»\n]{1,300}»""")
_END: Final = re.compile(r"[.!?]+[)\"”*_]{0,5}(?=\s|$)")
_ABBREVIATION: Final = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|approx|vs|cf|no|resp|fig|sec|min|max|incl|excl)\.$", re.IGNORECASE
)


class Sentence(Struct, frozen=True):
    """A sentence and its position in the text; code, quotes and URLs are masked."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """The position after the sentence."""
        return self.start + len(self.text)


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text, in order.

    List items, table rows and paragraphs end a sentence. Inline code, quotes and URLs are masked by
    underscores, one for each character, and still count as words; fenced code, quoted paragraphs
    and HTML comments become spaces. So positions do not change. Headings are skipped.
    """
    masked = _masked(text)
    for start, end in _blocks(masked):
        yield from _split(masked, start, end)


def _masked(text: str) -> str:
    text = _without_code_spans(_without_comments(_without_blocks(text)))
    return _ASIDE.sub(lambda match: MASK * len(match[0]), text)


def _without_blocks(text: str) -> str:
    """Replace fenced code and quoted paragraphs by spaces; keep line ends."""
    lines: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        opened = _FENCE.match(line)
        if fence:
            lines.append(_blank(line))
            if opened and opened[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif opened:
            fence = opened[1]
            lines.append(_blank(line))
        else:
            lines.append(_blank(line) if line.lstrip().startswith(">") else line)
    return "".join(lines)


def _blank(text: str) -> str:
    """Replace all visible characters by spaces; keep the line ends."""
    return _INK.sub(" ", text)


def _without_comments(text: str) -> str:
    """Replace HTML comments by spaces."""
    parts: list[str] = []
    done = 0
    while (start := text.find("<!--", done)) >= 0 and (end := text.find("-->", start)) >= 0:
        parts += (text[done:start], _blank(text[start : end + 3]))
        done = end + 3
    return "".join((*parts, text[done:]))


def _without_code_spans(text: str) -> str:
    """Mask code spans.

    CommonMark 6.1: a run of backticks is closed by the next run of the same length.
    """
    runs = list(_BACKTICKS.finditer(text))
    closing: dict[int, int] = {}
    closer_of: dict[int, int] = {}
    for place in range(len(runs) - 1, -1, -1):
        length = len(runs[place][0])
        if length in closing:
            closer_of[place] = closing[length]
        closing[length] = place
    parts: list[str] = []
    done = place = 0
    while place < len(runs):
        if place in closer_of:
            start, end = runs[place].start(), runs[closer_of[place]].end()
            parts += (text[done:start], MASK * (end - start))
            done, place = end, closer_of[place]
        place += 1
    return "".join((*parts, text[done:]))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of paragraphs, list items and table rows; skip headings."""
    start = place = 0
    for line in text.splitlines(keepends=True):
        mark = _LIST.match(line)
        is_single = _HEADING.match(line) or line.lstrip().startswith("|")
        if not line.strip() or mark or is_single:
            yield start, place
            start = place + (mark.end() if mark else 0)
        place += len(line)
        if _HEADING.match(line):
            start = place
        elif is_single:
            yield start, place
            start = place
    yield start, place


def _split(text: str, start: int, end: int) -> Iterator[Sentence]:
    for match in _END.finditer(text, start, end):
        if not _ABBREVIATION.search(text, max(start, match.end() - 12), match.end()):
            yield from _sentence(text, start, match.end())
            start = match.end()
    yield from _sentence(text, start, end)


def _sentence(text: str, start: int, end: int) -> Iterator[Sentence]:
    """Yield the sentence in a range, stripped, if it has any word."""
    found = text[start:end]
    stripped = found.strip()
    if any(each.isalnum() for each in stripped):
        yield Sentence(stripped, start + len(found) - len(found.lstrip()))


MAX_EDITS: Final = 200
"""The maximum number of removed and added lines; a comparison that needs more is stopped."""
CONTEXT: Final = 3
"""The number of unchanged lines that a diff shows around a change."""
LONG_TEXT_LINES: Final = 80
"""The maximum number of characters of a short text, which has a single line.

Changes of longer texts are shown as a diff."""


class FieldDifference(Struct, frozen=True):
    """A changed field with its old and its new value."""

    field: str
    before: Any
    after: Any

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
    """Return the fields that differ between two states of an entity.

    The fields of `before` come first, in the order of the mapping. A field that one of the states
    lacks counts as None.
    """
    fields = dict.fromkeys((*before, *after))
    return tuple(
        FieldDifference(field, before.get(field), after.get(field))
        for field in fields
        if field not in ignoring and before.get(field) != after.get(field)
    )


def unified(before: str, after: str) -> str:
    """Return a diff of two texts in the form of `diff -u`, without its header.

    The diff of equal texts is empty.
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
    """Return the number of equal lines at the start of two texts."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(old), len(new)))


def _equal_lines(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of the lines that both texts keep (algorithm of Myers).

    Each pair has the positions in the old and in the new text. The list is empty if the texts
    differ by more than `MAX_EDITS` edits.
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
    """Return the old line that one more edit reaches on a diagonal (Myers).

    The edit comes from a neighbouring diagonal: from `diagonal + 1` by adding a line, or from
    `diagonal - 1` by removing one, whichever got further.
    """
    above, left = furthest.get(diagonal + 1, -1), furthest.get(diagonal - 1, -1)
    is_added = diagonal == -edits or (diagonal != edits and left < above)
    return above if is_added else left + 1


def _walked(trace: Sequence[Mapping[int, int]], old: int, new: int) -> list[tuple[int, int]]:
    """Return the positions of equal lines, by tracing the shortest edit path back.

    `trace` has the furthest position on each diagonal, by number of edits. `old` and `new` are the
    numbers of lines of the two texts.
    """
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
    """Return a range of lines as in the header of a hunk: start and length.

    Lines are counted from one; an empty range names the line before it.
    """
    length = end - start
    return f"{start + 1 if length else start},{length}"


def _is_long(text: str) -> bool:
    return len(text) > LONG_TEXT_LINES or "\n" in text
