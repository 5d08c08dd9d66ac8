"""EARS, the Easy Approach to Requirements Syntax: which pattern a sentence follows.

    ubiquitous  The <system> shall <response>.
    event       When <trigger>, the <system> shall <response>.
    state       While <state>, the <system> shall <response>.
    optional    Where <feature is included>, the <system> shall <response>.
    unwanted    If <trigger>, then the <system> shall <response>.
    complex     several of them: While <state>, when <trigger>, the <system> shall <response>.

A. Mavin, P. Wilkinson, A. Harwood, M. Novak, RE 2009.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

Pattern: TypeAlias = Literal["ubiquitous", "event", "state", "optional", "unwanted", "complex"]

PATTERNS: Final[dict[str, Pattern]] = {
    "when": "event",
    "while": "state",
    "where": "optional",
    "if": "unwanted",
}
"""By the word that begins the clause."""

OBLIGATION: Final = re.compile(r"\b(?:shall|must)\b", re.IGNORECASE)
"""The words that make a sentence a requirement."""

_CLAUSE: Final = re.compile(r"(?:^|,\s{0,9}(?:and\s{1,9})?)(when|while|where|if)\b", re.IGNORECASE)


def pattern_of(sentence: str) -> Pattern | None:
    """Return the EARS pattern of a sentence; None if it requires nothing."""
    obligation = OBLIGATION.search(sentence)
    if obligation is None:
        return None
    clauses = _CLAUSE.findall(sentence, 0, obligation.start())
    found = {PATTERNS[word.lower()] for word in clauses}
    if not found:
        return "ubiquitous"
    return found.pop() if len(found) == 1 else "complex"
