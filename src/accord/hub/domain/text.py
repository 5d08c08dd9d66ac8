"""Text rules: comparison of names, allowed characters, suggestions, sentences of Markdown.

`sentences` masks everything that is not prose (code, quotes, headings, addresses) with as many
underscores, so every sentence keeps its position in the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Final

from msgspec import Struct


def fold(name: str) -> str:
    """Return the lookup key of a name: equal for names that look alike.

    Letter case, spaces and invisible characters do not count.
    """
    # Casefolding may produce new compatibility forms, so normalize before and after it.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    visible = "".join(each for each in folded if unicodedata.category(each) != "Cf")
    return " ".join(visible.split())


MAX_CHOICES: Final = 30
"""The maximum number of names listed."""
MAX_CHOICE_LENGTH: Final = 80
"""The part of an unknown name that is quoted and compared."""


def no_such(what: str, wrong: str, valid: Sequence[str]) -> str:
    """Return the message for an unknown name: the valid names, closest first."""
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
    """Return the problem of a text of several lines, or None."""
    return _problem(_REFUSED, text)


def problem_of_line(text: str) -> str | None:
    """Return the problem of a text of one line, such as a title, or None."""
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
    """A sentence, masked, with its position in the text."""

    text: str
    start: int

    @property
    def end(self) -> int:
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
