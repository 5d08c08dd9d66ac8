"""What a check found, rule by rule."""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from accord.a2a.checker.rules import RULES, Rule

Outcome: TypeAlias = Literal["pass", "fail", "warn", "skipped"]
MAX_DETAIL: Final = 300


class Finding(Struct, frozen=True, kw_only=True):
    """What came of one rule."""

    rule: str
    wire: str
    """The format that it was checked in; empty for what has to do with none."""
    outcome: Outcome
    holds: str
    """What the rule asks for."""
    detail: str = ""
    fix: str = ""


class Report(Struct, frozen=True, kw_only=True):
    """All of it."""

    url: str
    agent: str
    """As it calls itself."""
    wires: tuple[str, ...]
    findings: tuple[Finding, ...]

    def count(self, outcome: Outcome) -> int:
        return Counter(each.outcome for each in self.findings)[outcome]

    @property
    def passed(self) -> bool:
        """Whether everything holds that must."""
        return self.count("fail") == 0


class Notes:
    """Findings while they are made; the first word on a rule in a format is the last, except that
    one that was broken later is broken."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Finding] = {}

    def passed(self, rule: str, detail: str = "", *, wire: str = "") -> None:
        self._found.setdefault((rule, wire), _finding(RULES[rule], wire, "pass", detail))

    def failed(self, rule: str, detail: str, *, wire: str = "") -> None:
        known = self._found.get((rule, wire))
        if known is None or known.outcome in ("pass", "skipped"):
            outcome: Outcome = "fail" if RULES[rule].level == "must" else "warn"
            self._found[rule, wire] = _finding(RULES[rule], wire, outcome, detail)

    def skipped(self, rule: str, why: str, *, wire: str = "") -> None:
        self._found.setdefault((rule, wire), _finding(RULES[rule], wire, "skipped", why))

    def findings(self) -> tuple[Finding, ...]:
        """In the order of the rules, those of one format together."""
        places = {rule: place for place, rule in enumerate(RULES)}
        return tuple(sorted(self._found.values(), key=lambda each: (each.wire, places[each.rule])))


def _finding(rule: Rule, wire: str, outcome: Outcome, detail: str) -> Finding:
    shown = detail if len(detail) <= MAX_DETAIL else f"{detail[:MAX_DETAIL]}…"
    broken = outcome in ("fail", "warn")
    return Finding(
        rule=rule.id,
        wire=wire,
        outcome=outcome,
        holds=rule.holds,
        detail=shown,
        fix=rule.fix if broken else "",
    )
