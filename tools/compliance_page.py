"""Writes docs/compliance.md: each clause and requirement, the tests that show it, their outcome."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tests.compliance import RESULTS, Outcome, Run, proven_by_benchmarks
from tests.requirements import REQUIREMENTS, Requirement

PAGE = Path(__file__).parent.parent / "docs" / "compliance.md"

# The worst outcome of its cases is a test's, the worst of its tests a requirement's. What is
# skipped does not count where others ran, and is said: it needs another database or machine.
WORST_FIRST: tuple[Outcome, ...] = ("failed", "not run", "skipped", "passed")

Cases = dict[str, list[Outcome]]
"""Per test function, the outcomes of its parametrized cases."""


def render(run: Run, benchmarks: frozenset[str]) -> str:
    """The whole page."""
    cases = _cases_by_requirement(run)
    clauses = [r for r in REQUIREMENTS.values() if r.id.startswith("RPC-")]
    owed = [r for r in REQUIREMENTS.values() if not r.id.startswith("RPC-")]
    return "".join(
        (
            "# Compliance\n\n",
            "<!-- Generated from the marks in the tests by `make compliance`. -->\n\n",
            f"What the last complete run of the suite showed, under Python {run.python}.\n",
            "\n## The clauses of JSON-RPC 2.0\n\n",
            _table(clauses, cases, benchmarks),
            "\n## The requirements\n\n",
            _table(owed, cases, benchmarks),
            "\n## The tests\n",
            *(_tests(r, cases[r.id]) for r in REQUIREMENTS.values() if cases[r.id]),
        )
    )


def _cases_by_requirement(run: Run) -> defaultdict[str, Cases]:
    found: defaultdict[str, Cases] = defaultdict(dict)
    for nodeid, test in run.tests.items():
        for id in test.requirements:
            found[id].setdefault(nodeid.partition("[")[0], []).append(test.outcome)
    return found


def _table(
    requirements: list[Requirement], cases: defaultdict[str, Cases], benchmarks: frozenset[str]
) -> str:
    rows = (
        f"| {r.id} | {r.text} | {_proof(r, found)} | {_verdict(r, found, benchmarks)} |\n"
        for r in requirements
        for found in (cases[r.id],)
    )
    return "| id | what | shown by | outcome |\n|---|---|---|---|\n" + "".join(rows)


def _proof(requirement: Requirement, cases: Cases) -> str:
    tests = f"{len(cases)} test{'s' if len(cases) != 1 else ''}"
    if requirement.proof == "tests":
        return tests if cases else "nothing"
    page = "[the stored benchmark run](benchmarks.md)"
    return f"{page}, {tests}" if cases else page


def _verdict(requirement: Requirement, cases: Cases, benchmarks: frozenset[str]) -> str:
    if requirement.proof == "benchmarks" and requirement.id not in benchmarks:
        return "unproven"
    if requirement.proof == "tests" and not cases:
        return "unproven"
    outcomes = [_worst_run(each) for each in cases.values()]
    left_out = outcomes.count("skipped")
    behind = f", {left_out} skipped" if 0 < left_out < len(outcomes) else ""
    return f"{_worst_run(outcomes)}{behind}"


def _worst_run(outcomes: list[Outcome]) -> Outcome:
    return _worst([each for each in outcomes if each != "skipped"] or outcomes)


def _worst(outcomes: Iterable[Outcome]) -> Outcome:
    return min(outcomes, key=WORST_FIRST.index, default="passed")


def _tests(requirement: Requirement, cases: Cases) -> str:
    lines = (
        f"- `{test}`{_count(outcomes)}: {_worst_run(outcomes)}\n"
        for test, outcomes in sorted(cases.items())
    )
    return f"\n### {requirement.id}\n\n{requirement.text}\n\n{''.join(lines)}"


def _count(outcomes: list[Outcome]) -> str:
    return f" ({len(outcomes)} cases)" if len(outcomes) > 1 else ""


def main() -> None:
    if not RESULTS.exists():
        sys.exit("there is no complete test run to report on: run `make test` first")
    run = msgspec.json.decode(RESULTS.read_bytes(), type=Run)
    PAGE.write_text(render(run, proven_by_benchmarks() or frozenset()), encoding="utf-8")


if __name__ == "__main__":
    main()
