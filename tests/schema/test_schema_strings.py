"""Python's regular expressions as ECMAScript writes them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest
from hypothesis import assume, given, strategies as st

from accord.schema import schema
from accord.schema.schema import to_ecma
from tests.patience import PATIENCE

SAME = ["", "^a+b*c?$", "a|b", "[a-z]", "[^a]", r"\d\w\s\.", "(a)(?:b)", r"(a)\1", "(?=a)(?!b)(?<=c)(?<!d)", "a{2}b{2,}c{2,3}", "a+?b??", r"\u00e9\x41", r"[\w.+-]+@x", r"a\\"]  # fmt: skip
DIFFERENT = [
    (r"\Aa\Z", "^a$"),
    (r"a\z", "a$"),
    (r"(?P<q>['%])(x)(?P=q)1", r"(['%])(x)(?:\1)1"),
    (r"\-\_\ \@[\-\_\]]", r"-_ @[\-_\]]"),
    ("[]a]", r"[\]a]"),
    ("[^]a[]", r"[^\]a\[]"),
    ("a{,3}", "a{0,3}"),
    ("a{b}]", r"a\{b\}\]"),
]
FOREIGN = ["(?i)a", "(?i:a)", "(?>a)", "a++", "a{2}+", "a?+", r"\N{DIGIT ONE}", r"\U0001F600", r"\a", r"\0", "(?#x)", "(a)(?(1)b)", "[[:alpha:]]", "[a&&b]", r"[\A]", "[", "\\", r"\y"]  # fmt: skip


@pytest.mark.parametrize(("pattern", "written"), [*zip(SAME, SAME, strict=True), *DIFFERENT])
def test_pattern_is_written_in_ecmascript(pattern: str, written: str) -> None:
    assert to_ecma(pattern) == written


@pytest.mark.parametrize("pattern", FOREIGN)
def test_pattern_that_ecmascript_cannot_say_is_given_up(pattern: str) -> None:
    assert to_ecma(pattern) is None


@given(
    pattern=st.text(r"ab01\[](){}^$.|*+?,-:=!<>P&~dw", max_size=8),
    text=st.text("ab01-]{}", max_size=6),
)
def test_translation_matches_what_the_pattern_matches(pattern: str, text: str) -> None:
    written = to_ecma(pattern)
    assume(written is not None and _compiles(pattern))
    assert bool(re.search(str(written), text)) == bool(re.search(pattern, text))


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, FutureWarning, DeprecationWarning):
        return False
    return True


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_patterns_are_read_by_ecmascript_in_its_strictest_mode() -> None:
    own = [schema.UUID, schema.DATE, schema.DURATION, schema.DECIMAL, schema.BASE64]
    own += [schema.INTEGER_KEY, schema.NUMBER_KEY, schema.datetime(None), schema.time(True)]
    patterns = [each["pattern"] for each in own] + SAME + [written for _, written in DIFFERENT]
    program = "for (const it of JSON.parse(process.argv[1])) new RegExp(it, 'u')"
    subprocess.run(["node", "-e", program, json.dumps(patterns)], check=True, timeout=PATIENCE)
