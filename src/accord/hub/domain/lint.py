"""The linter: find words and sentences that two people may read differently.

Each rule looks at one sentence or at the whole text. Each finding has a position, a message, and a
hint on what to write instead. The time of all rules is proportional to the length of the text. A
write is never refused because of findings.

EARS (Easy Approach to Requirements Syntax) patterns:

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from accord.hub.domain.rules import Kind
from accord.hub.domain.text import MASK, Sentence, sentences

Pattern: TypeAlias = Literal["ubiquitous", "event", "state", "optional", "unwanted", "complex"]

EARS_PATTERNS: Final[dict[str, Pattern]] = {
    "when": "event",
    "while": "state",
    "where": "optional",
    "if": "unwanted",
}
"""The EARS pattern of a clause, by the word that begins the clause."""

OBLIGATION: Final = re.compile(r"\b(?:shall|must)\b", re.IGNORECASE)
"""The words that make a sentence a requirement."""

_CLAUSE: Final = re.compile(r"(?:^|,\s{0,9}(?:and\s{1,9})?)(when|while|where|if)\b", re.IGNORECASE)


def pattern_of(sentence: str) -> Pattern | None:
    """Return the EARS pattern of a sentence; None without `shall` or `must`."""
    obligation = OBLIGATION.search(sentence)
    if obligation is None:
        return None
    clauses = _CLAUSE.findall(sentence, 0, obligation.start())
    found = {EARS_PATTERNS[word.lower()] for word in clauses}
    if not found:
        return "ubiquitous"
    return found.pop() if len(found) == 1 else "complex"


VAGUE_WORDS: Final[dict[str, str]] = {
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
"""Advice on what to write instead of a vague word, by vague word."""

OPEN_LISTS: Final = (
    *("etc", "and so on", "and so forth", "and the like", "such as but not limited to"),
    *("including but not limited to", "and others", "and more", "among others"),
)
ESCAPE_CLAUSES: Final = (
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
WEAK_WORDS: Final = (
    "should",
    "will",
    "would",
    "may",
    "might",
    "can",
    "could",
    "needs to",
    "has to",
)
"""Words that people write in place of `shall`."""


def words(phrases: tuple[str, ...] | dict[str, str]) -> re.Pattern[str]:
    """Return a regular expression that finds the phrases as whole words.

    Longer phrases match before shorter ones. The alternatives are grouped by first letter, so few
    are tried at each position.
    """
    ordered = sorted(phrases, key=len, reverse=True)
    by_letter: dict[str, list[str]] = {}
    for phrase in ordered:
        rest = re.escape(phrase[1:]).replace(r"\ ", r"\s{1,9}")
        by_letter.setdefault(phrase[0], []).append(rest)
    letters = "".join(by_letter)
    some = (f"{letter}(?:{'|'.join(rests)})" for letter, rests in by_letter.items())
    return re.compile(rf"(?<![\w-])(?=[{letters}])(?:{'|'.join(some)})(?![\w-])", re.IGNORECASE)


Form: TypeAlias = Literal["requirement", "story", "prose"]
"""The intended form of a text: a requirement in EARS, a user story, or other prose."""

FORMS: Final[Mapping[Kind, Form]] = {"requirement": "requirement", "user_story": "story"}

MAX_FINDINGS: Final = 100
MAX_WORDS: Final = 40
"""The maximum number of words in a sentence."""

RULES: Final[Mapping[str, str]] = {
    "vague-word": "A word that everybody understands differently.",
    "open-list": "A list without an end.",
    "escape-clause": "A way around the obligation.",
    "unfinished": "Something is left to be written.",
    "missing-unit": "A number that does not say of what.",
    "missing-shall": "A requirement that requires nothing: no shall, no must.",
    "several-shall": "More than one obligation in one sentence.",
    "several-things": "Two things to do in one sentence.",
    "passive": "What is to be done, but not by whom.",
    "negative": "What is not to be, but not what is.",
    "long-sentence": f"A sentence of more than {MAX_WORDS} words.",
    "story-form": "A story that does not say who wants what, and what for.",
}
"""The problem that each rule of the linter finds, by name of the rule."""


class TextFinding(Struct, frozen=True, kw_only=True):
    """A problem of wording that the linter found, with its position and a hint."""

    rule: str
    start: int
    """The position of the first character in the text; `end` is exclusive."""
    end: int
    message: str
    hint: str


class Statement(Struct, frozen=True):
    """A sentence that requires something, with its EARS pattern."""

    start: int
    end: int
    pattern: Pattern


class LintReport(Struct, frozen=True, kw_only=True):
    """The result of linting one text."""

    findings: tuple[TextFinding, ...]
    statements: tuple[Statement, ...]
    left_out: int = 0
    """The number of findings that are omitted, because a report has at most `MAX_FINDINGS`."""


def lint(
    text: str, form: Form = "requirement", *, without: frozenset[str] = frozenset()
) -> LintReport:
    """Return the findings of all rules in a text, in text order.

    Rules in `without` are skipped.
    """
    parts = list(sentences(text))
    findings = sorted(
        (finding for finding in _findings(text, parts, form) if finding.rule not in without),
        key=lambda finding: (finding.start, finding.end, finding.rule),
    )
    statements = tuple(
        Statement(part.start, part.end, pattern)
        for part in parts
        if (pattern := pattern_of(part.text)) is not None
    )
    return LintReport(
        findings=tuple(findings[:MAX_FINDINGS]),
        statements=statements[:MAX_FINDINGS],
        left_out=max(0, len(findings) - MAX_FINDINGS),
    )


def _findings(text: str, parts: Sequence[Sentence], form: Form) -> Iterator[TextFinding]:
    for part in parts:
        for rule in _OF_ALL:
            yield from rule(part)
        if form == "requirement" and OBLIGATION.search(part.text):
            for rule in _OF_REQUIREMENTS:
                yield from rule(part)
    if form == "requirement":
        yield from _missing_shall(parts)
    if form == "story" and parts:
        yield from _story_form(text)


# Rules for all sentences

_VAGUE: Final = words(VAGUE_WORDS)
_OPEN_LIST: Final = words(OPEN_LISTS)
_ESCAPE: Final = words(ESCAPE_CLAUSES)
_UNFINISHED: Final = re.compile(rf"{words(UNFINISHED).pattern}|\?{{3,9}}", re.IGNORECASE)
_WORD: Final = re.compile(r"\w+(?:[-'’]\w+)*")


def _vague_word(part: Sentence) -> Iterator[TextFinding]:
    # "where appropriate" is one finding, not two.
    without_escapes = _ESCAPE.sub(lambda match: MASK * len(match[0]), part.text)
    for match in _VAGUE.finditer(without_escapes):
        advice = VAGUE_WORDS[" ".join(match[0].lower().split())]
        yield _found("vague-word", part, match, f"{match[0]!r} is vague", advice)


def _open_list(part: Sentence) -> Iterator[TextFinding]:
    for match in _OPEN_LIST.finditer(part.text):
        message = f"{match[0]!r} leaves open what belongs to it"
        yield _found("open-list", part, match, message, "list everything, or name the rule")


def _escape_clause(part: Sentence) -> Iterator[TextFinding]:
    for match in _ESCAPE.finditer(part.text):
        message = f"{match[0]!r} leaves it to the reader"
        yield _found("escape-clause", part, match, message, "name the condition, or leave it out")


def _unfinished(part: Sentence) -> Iterator[TextFinding]:
    for match in _UNFINISHED.finditer(part.text):
        message = f"{match[0]!r} is still open"
        yield _found("unfinished", part, match, message, "decide it, or ask in a comment")


_LIMIT: Final = re.compile(
    r"\b(?:within|at\s{1,9}most|at\s{1,9}least|(?:less|more|fewer|greater|longer|shorter)\s{1,9}than"
    r"|under|below|above|up\s{1,9}to|exceeds?|every|maximum\s{1,9}of|minimum\s{1,9}of|limited\s{1,9}to"
    r")\s{1,9}(?P<money>[$€£¥]\s?)?(?P<number>[0-9][0-9.,]{0,20}[0-9]|[0-9])"
    r"(?P<range>\s{0,9}(?:-|–|to|and|or)\s{0,9}[0-9][0-9.,]{0,20})?"
    r"(?P<behind>\s{0,9}(?:[%°µ$€£¥:/]|\w+)?)",
    re.IGNORECASE,
)
_NO_UNIT: Final = frozenset(
    (
        *("and", "or", "but", "of", "in", "on", "at", "to", "for", "from", "by", "with", "per"),
        *("when", "while", "where", "if", "then", "after", "before", "until", "unless", "during"),
        *("is", "are", "shall", "must", "the", "a", "an", "it", "which", "that", "as", "than"),
    )
)
"""Words that continue the sentence after a number, so they are not its unit."""


def _missing_unit(part: Sentence) -> Iterator[TextFinding]:
    for match in _LIMIT.finditer(part.text):
        behind = match["behind"].strip().lower()
        if not match["money"] and (not behind or behind in _NO_UNIT):
            yield TextFinding(
                rule="missing-unit",
                start=part.start + match.start("number"),
                end=part.start + match.end("number"),
                message=f"{match['number']} has no unit",
                hint="say of what: ms, s, MB, %, users, attempts",
            )


def _long_sentence(part: Sentence) -> Iterator[TextFinding]:
    count = sum(1 for _ in _WORD.finditer(part.text))
    if count > MAX_WORDS:
        message = f"a sentence of {count:,} words; more than {MAX_WORDS} are hard to read"
        yield _whole("long-sentence", part, message, "make it two sentences, or a list")


# Rules for sentences that require something

_SECOND: Final = re.compile(
    r"(?:\band|\bor|\bas\s{1,9}well\s{1,9}as|;)\s{1,9}(?:then\s{1,9}|also\s{1,9})?"
    r"(?!the\b|an?\b|all\b|each\b|every\b|its\b|their\b)[a-z]{2,40}\s{1,9}"
    r"(?:the|an?|all|each|every|any|its|their|it|them)\b",
    re.IGNORECASE,
)
_PASSIVE: Final = re.compile(
    r"\b(?:shall|must)\s{1,9}(?:not\s{1,9}|always\s{1,9}|only\s{1,9})?be\s{1,9}(?:\w{1,40}ly\s{1,9})?"
    r"(?:\w{2,40}ed|made|done|sent|shown|given|kept|held|built|written|read|set|put|found|taken"
    r"|seen|known|chosen|hidden|lost|met|paid|run|told|begun|drawn)\b",
    re.IGNORECASE,
)
_ACTOR: Final = re.compile(r"\bby\b", re.IGNORECASE)
_NEGATIVE: Final = re.compile(r"\b(?:shall|must)\s{1,9}(?:not|never)\b", re.IGNORECASE)


def _several_shall(part: Sentence) -> Iterator[TextFinding]:
    _, *others = OBLIGATION.finditer(part.text)
    for match in others[:1]:
        message = "more than one obligation in one sentence"
        yield _found("several-shall", part, match, message, "write one requirement for each")


def _several_things(part: Sentence) -> Iterator[TextFinding]:
    obligations = [match.end() for match in OBLIGATION.finditer(part.text)]
    match = _SECOND.search(part.text, obligations[0])
    if match is not None and len(obligations) == 1:
        message = f"{match[0]!r} begins a second thing"
        yield _found("several-things", part, match, message, "write one requirement for each")


def _passive(part: Sentence) -> Iterator[TextFinding]:
    match = _PASSIVE.search(part.text)
    if match is not None and not _ACTOR.search(part.text, match.end()):
        message = f"{match[0]!r} does not say by whom"
        yield _found("passive", part, match, message, "begin with who does it: The system shall …")


def _negative(part: Sentence) -> Iterator[TextFinding]:
    match = _NEGATIVE.search(part.text)
    if match is not None and len(OBLIGATION.findall(part.text)) == 1:
        message = f"{match[0]!r} says only what is not to be"
        yield _found("negative", part, match, message, "say what is to happen instead")


Rule: TypeAlias = Callable[[Sentence], Iterator[TextFinding]]

_OF_ALL: Final[tuple[Rule, ...]] = (
    *(_vague_word, _open_list, _escape_clause, _unfinished, _missing_unit, _long_sentence),
)
_OF_REQUIREMENTS: Final[tuple[Rule, ...]] = (
    *(_several_shall, _several_things, _passive, _negative),
)


# Rules for the text as a whole

_WEAK: Final = words(WEAK_WORDS)
_ROLE: Final = re.compile(
    r"\bas\s{1,9}(?:(?:an?|the)\b|\w[^,.;:\n]{0,80},?\s{1,9}(?:I|we)(?:['’]d)?\s)", re.IGNORECASE
)
"""Finds the role in a user story. Some roles have no article: as gate staff, I want …"""
_WISH: Final = re.compile(
    r"\b(?:I|we)(?:\s{1,9}(?:want|need|can|would\s{1,9}like|wish)|['’]d\s{1,9}like)\b",
    re.IGNORECASE,
)
_PURPOSE: Final = re.compile(
    r"\b(?:so\s{1,9}that|in\s{1,9}order\s{1,9}to|because)\b", re.IGNORECASE
)


def _missing_shall(parts: Sequence[Sentence]) -> Iterator[TextFinding]:
    if not parts or any(OBLIGATION.search(part.text) for part in parts):
        return
    for part in parts:
        match = _WEAK.search(part.text)
        if match is not None:
            message = f"{match[0]!r} does not oblige"
            yield _found("missing-shall", part, match, message, "write shall")
            return
    hint = "write it as: When …, the … shall …"
    yield _whole("missing-shall", parts[0], "no sentence says what shall be", hint)


def _story_form(text: str) -> Iterator[TextFinding]:
    missing = [
        name
        for name, form in (("As a …", _ROLE), ("I want …", _WISH), ("so that …", _PURPOSE))
        if not form.search(text)
    ]
    if missing:
        yield TextFinding(
            rule="story-form",
            start=0,
            end=len(text),
            message=f"the story does not say: {', '.join(missing)}",
            hint="write it as: As a … I want … so that …",
        )


def _found(rule: str, part: Sentence, match: re.Match[str], message: str, hint: str) -> TextFinding:
    start, end = part.start + match.start(), part.start + match.end()
    return TextFinding(rule=rule, start=start, end=end, message=message, hint=hint)


def _whole(rule: str, part: Sentence, message: str, hint: str) -> TextFinding:
    return TextFinding(rule=rule, start=part.start, end=part.end, message=message, hint=hint)


FIELDS: Final = ("title", "description")
"""The fields of an item that are linted."""


def lint_item(
    kind: Kind, texts: Mapping[str, str], *, without: frozenset[str] = frozenset()
) -> dict[str, LintReport]:
    """Return the lint reports of an item, by field.

    The description is linted in the form of the item's kind (see `FORMS`), the title as prose.
    Without a description, the title is linted in the form of the kind.
    """
    title, description = texts.get("title", ""), texts.get("description", "")
    form = FORMS.get(kind, "prose")
    if form == "story" and not _lacks_form(f"{title}\n\n{description}"):
        without = without | {"story-form"}
    if not description.strip():
        return {"title": lint(title, form, without=without)}
    return {
        "title": lint(title, "prose", without=without),
        "description": lint(description, form, without=without),
    }


def _lacks_form(text: str) -> bool:
    return any(each.rule == "story-form" for each in lint(text, "story").findings)
