"""Writes docs/security/asvs.md from docs/security/asvs.toml."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from posixpath import relpath
from typing import Final

from tools.asvs import FILE, Requirement, State, requirements

PAGE: Final = FILE.with_suffix(".md")

CHAPTERS: Final = {
    1: "Encoding and injection",
    2: "Validation and rules",
    3: "Browsers",
    4: "Interfaces",
    5: "Files",
    6: "Signing in",
    7: "Sessions",
    8: "Rights",
    9: "Signed tokens",
    10: "OAuth and OpenID Connect",
    11: "Cryptography",
    12: "Connections",
    13: "Configuration",
    14: "Data",
    15: "Code and dependencies",
    16: "Logs and errors",
    17: "WebRTC",
}
STATES: Final[Sequence[State]] = ("met", "partly met", "not met", "does not apply")

OPENING: Final = """\
# How Accord stands to OWASP's ASVS

<!-- Generated from docs/security/asvs.toml by `make docs`. -->

The [Application Security Verification Standard](https://owasp.org/www-project-application-security-verification-standard/)
5.0.0 asks what a secure application must do. This page goes through all requirements of its
levels 1 and 2. Ids are those of the standard, the words are ours and shorter: read them beside it.
What is met names the tests that show it, and a test checks that all of these exist. Nobody but us
has verified it.

"""


def render(all_of_them: Sequence[Requirement]) -> str:
    """The whole page."""
    parts = [OPENING, _counts(all_of_them), _gaps(all_of_them)]
    for chapter, each in groupby(all_of_them, lambda one: one.chapter):
        parts.append(f"\n## {chapter}. {CHAPTERS[chapter]}\n\n| id | what | state | shown by |\n")
        parts.append("|---|---|---|---|\n" + "".join(map(_row, each)))
    return "".join(parts)


def _counts(all_of_them: Sequence[Requirement]) -> str:
    lines = ["| level | met | partly met | not met | does not apply |\n|---|---|---|---|---|\n"]
    for level in (1, 2):
        counts = Counter(each.state for each in all_of_them if each.level == level)
        lines.append(f"| {level} | {' | '.join(str(counts[state]) for state in STATES)} |\n")
    return "".join(lines)


def _gaps(all_of_them: Iterable[Requirement]) -> str:
    rows = (
        f"| {each.id} | {each.level} | {each.about} | {each.missing} |\n"
        for each in all_of_them
        if each.missing
    )
    return (
        "\n## What is missing\n\n| id | level | what | what is missing |\n|---|---|---|---|\n"
        + "".join(rows)
    )


def _row(one: Requirement) -> str:
    shown = [f"`{test.rpartition('::')[2]}` in `{test.partition('::')[0]}`" for test in one.tests]
    shown += [f"[{each}]({relpath(each, 'docs/security')})" for each in one.documents]
    told = ". ".join(
        filter(None, (one.note.rstrip("."), one.missing.rstrip("."), one.why_not.rstrip(".")))
    )
    words = f"{told}. " if told else ""
    return f"| {one.id} | {one.about} | {one.state} | {words}{'; '.join(shown)} |\n"


if __name__ == "__main__":
    PAGE.write_text(render(requirements()), encoding="utf-8")
