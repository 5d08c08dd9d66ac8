"""Words that mean something else to everybody who reads them, as tables for the linter."""

from __future__ import annotations

import re
from typing import Final

VAGUE: Final[dict[str, str]] = {
    **dict.fromkeys(
        (
            *("fast", "faster", "quick", "quickly", "rapid", "rapidly", "slow", "responsive"),
            *("timely", "in a timely manner", "as soon as possible", "asap", "immediately"),
            *("real-time", "instant", "instantly", "promptly", "soon", "high performance"),
        ),
        "say how long it may take, with a unit",
    ),
    **dict.fromkeys(
        (
            *("easy", "easily", "simple", "simply", "intuitive", "intuitively", "user-friendly"),
            *("user friendly", "convenient", "seamless", "seamlessly", "ergonomic", "nice"),
            *("easy to use", "comfortable", "elegant", "modern", "state of the art"),
        ),
        "say what a user does, and how many steps or how much time it takes",
    ),
    **dict.fromkeys(
        (
            *("appropriate", "appropriately", "adequate", "adequately", "suitable", "suitably"),
            *("sufficient", "sufficiently", "reasonable", "reasonably", "acceptable", "proper"),
            *("properly", "relevant", "necessary", "effective", "effectively", "optimal"),
            *("good", "better", "best", "bad", "normal", "normally", "typical", "typically"),
        ),
        "say by what one can tell",
    ),
    **dict.fromkeys(
        (
            *("many", "few", "several", "some", "various", "numerous", "a lot of"),
            *("large", "small", "big", "huge", "minimal", "minimize", "minimise", "maximize"),
            *("maximise", "approximately", "roughly", "nearly", "almost"),
            *("significant", "significantly", "considerable", "as many as possible"),
        ),
        "give a number, or a range",
    ),
    **dict.fromkeys(
        (
            *("robust", "robustly", "flexible", "scalable", "efficient", "efficiently"),
            *("reliable", "reliably", "secure", "securely", "safe", "safely", "maintainable"),
            *("extensible", "portable", "stable", "lightweight", "powerful", "versatile"),
        ),
        "name the property that can be measured",
    ),
    **dict.fromkeys(
        (
            *("usually", "often", "sometimes", "generally", "mostly", "rarely", "occasionally"),
            *("regularly", "periodically", "frequently", "from time to time"),
        ),
        "say when, or how often",
    ),
}
"""By word: the advice to replace it."""

OPEN_LISTS: Final = (
    *("etc", "and so on", "and so forth", "and the like", "such as but not limited to"),
    *("including but not limited to", "and others", "and more", "among others"),
)
ESCAPES: Final = (
    *("if possible", "where possible", "when possible", "as far as possible", "if practical"),
    *("where practical", "if necessary", "where necessary", "when necessary", "as necessary"),
    *("as needed", "if needed", "as required", "as applicable", "where applicable"),
    *("if applicable", "as appropriate", "where appropriate", "if appropriate", "to the extent"),
    *("be capable of", "be able to", "at the discretion", "best effort", "ideally"),
)
UNFINISHED: Final = (
    *("tbd", "tbc", "tba", "tbr", "todo", "fixme", "to be defined", "to be determined"),
    *("to be decided", "to be confirmed", "to be clarified", "to be discussed"),
)
WEAK: Final = ("should", "will", "would", "may", "might", "can", "could", "needs to", "has to")
"""Words that people write in place of `shall`."""


def words(phrases: tuple[str, ...] | dict[str, str]) -> re.Pattern[str]:
    """Return a pattern that finds any of the phrases as whole words, longest first.

    The alternatives are grouped by first letter, so few are tried at each position.
    """
    ordered = sorted(phrases, key=len, reverse=True)
    by_letter: dict[str, list[str]] = {}
    for phrase in ordered:
        rest = re.escape(phrase[1:]).replace(r"\ ", r"\s{1,9}")
        by_letter.setdefault(phrase[0], []).append(rest)
    letters = "".join(by_letter)
    some = (f"{letter}(?:{'|'.join(rests)})" for letter, rests in by_letter.items())
    return re.compile(rf"(?<![\w-])(?=[{letters}])(?:{'|'.join(some)})(?![\w-])", re.IGNORECASE)
