"""Two texts as one: what was taken out and what was put in, by words. Pure.

Lines are compared first, then the words of those that differ. Where there are too many of them, one
text stands for the other as a whole, so that a redline never takes long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, Literal, TypeAlias

from markupsafe import Markup

from accord.hub.domain.diffs import edit_script

MAX_WORDS: Final = 4_000
"""Most words, and what stands between them, that are compared in lines that differ."""

Mark: TypeAlias = Literal["", "del", "ins"]
Piece: TypeAlias = tuple[Mark, str]
"""Text that stayed, was taken out, or was put in."""
Compare: TypeAlias = Callable[[Sequence[str], Sequence[str]], Iterable[Piece]]

_WORDS: Final = re.compile(r"\n|[^\S\n]+|\w+|[^\w\s]")
_HEAD: Final = re.compile(r"^@@ [^\n]* @@$\n?", re.MULTILINE)
_GAP: Final = Markup('<span class="gap"> … </span>')
_MARKS: Final[dict[str, Mark]] = {" ": "", "-": "del", "+": "ins"}


def redline(before: str, after: str, *, around: int | None = None) -> Markup:
    """The new text with what is new in `ins` and what is gone in `del`. With `around` only so many
    characters that stayed are shown next to what did not."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return _marked(_between(old, new, _by_words), around)


def unified(diff: str, *, around: int | None = None) -> Markup:
    """The same from a unified diff, as operations give it for long texts."""
    hunks = (_of_hunk(each) for each in _HEAD.split(diff) if each)
    return _GAP.join(_marked(each, around) for each in hunks)


def _of_hunk(hunk: str) -> Iterator[Piece]:
    lines = [(_MARKS.get(line[:1], ""), f"{line[1:]}\n") for line in hunk.rstrip("\n").split("\n")]
    for is_changed, block in groupby(lines, lambda line: line[0] != ""):
        pieces = list(block)
        if is_changed:
            gone = [text for mark, text in pieces if mark == "del"]
            yield from _by_words(gone, [text for mark, text in pieces if mark == "ins"])
        else:
            yield from pieces


def _by_words(gone: Sequence[str], come: Sequence[str]) -> Iterable[Piece]:
    old, new = _WORDS.findall("".join(gone)), _WORDS.findall("".join(come))
    if len(old) + len(new) > MAX_WORDS:
        return _replaced(old, new)
    return _together(list(_between(old, new, _replaced)))


def _replaced(gone: Sequence[str], come: Sequence[str]) -> Iterable[Piece]:
    return (("del", "".join(gone)), ("ins", "".join(come)))


def _between(old: Sequence[str], new: Sequence[str], compare: Compare) -> Iterator[Piece]:
    place = 0
    for edit in edit_script(old, new):
        yield "", "".join(old[place : edit.old_start])
        yield from compare(old[edit.old_start : edit.old_end], new[edit.new_start : edit.new_end])
        place = edit.old_end
    yield "", "".join(old[place:])


def _together(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """A space between two words that changed does not part them."""
    gone, come = "", ""
    for place, (mark, text) in enumerate(pieces):
        inside = gone + come and 0 < place < len(pieces) - 1 and not text.strip(" ")
        if mark or inside:
            gone += text if mark != "ins" else ""
            come += text if mark != "del" else ""
        elif text:
            yield from (("del", gone), ("ins", come), (mark, text))
            gone = come = ""
    yield from (("del", gone), ("ins", come))


def _marked(pieces: Iterable[Piece], around: int | None) -> Markup:
    told = [(mark, text) for mark, text in pieces if text]
    merged = [
        (mark, "".join(text for _, text in group))
        for mark, group in groupby(told, lambda piece: piece[0])
    ]
    last = len(merged) - 1
    return Markup().join(
        Markup("<{0}>{1}</{0}>").format(Markup(mark), text)
        if mark
        else _shortened(text, around, is_first=place == 0, is_last=place == last)
        for place, (mark, text) in enumerate(merged)
    )


def _shortened(text: str, around: int | None, *, is_first: bool, is_last: bool) -> Markup:
    """Text that stayed, without what is far from any change."""
    ends = (0 if is_first else around or 0) + (0 if is_last else around or 0)
    if around is None or len(text) <= ends + 20:
        return Markup.escape(text)
    head = Markup() if is_first else Markup.escape(text[:around].rpartition(" ")[0])
    tail = Markup() if is_last else Markup.escape(text[-around:].partition(" ")[2])
    return head + _GAP + tail
