"""That the threat model names tests and files that there are."""

from __future__ import annotations

import re
from pathlib import Path

from tests.security.test_asvs import names_in

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "security" / "threat-model.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
ROW = re.compile(r"^\| ([STRIDE](?:, [STRIDE])*) \|(.*)\|$", re.MULTILINE)


def test_every_test_that_is_named_is_there() -> None:
    named = NAMED.findall(PAGE.read_text(encoding="utf-8"))
    assert len(named) > 60
    assert [f"{path}::{name}" for path, name in named if name not in names_in(path)] == []


def test_what_no_test_shows_says_what_remains() -> None:
    rows = [row[1].split("|") for row in ROW.findall(PAGE.read_text(encoding="utf-8"))]
    assert len(rows) > 50
    for row in rows:
        threat, against, shown, remains = (cell.strip() for cell in row)
        assert threat
        assert against
        assert shown or remains
