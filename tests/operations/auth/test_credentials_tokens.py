"""What tokens look like."""

from __future__ import annotations

import re
from zlib import crc32

import pytest
from hypothesis import given, strategies as st

from accord.operations.auth.credentials import make_token, shown_prefix, token_kind


@pytest.mark.req("H-15")
@pytest.mark.parametrize("kind", ["pat", "ses"])
def test_a_token_has_a_prefix_30_random_characters_and_a_checksum(kind: str) -> None:
    token = make_token("pat" if kind == "pat" else "ses")
    assert re.fullmatch(rf"accord_{kind}_[0-9A-Za-z]{{36}}", token)
    assert token_kind(token) == kind
    number = 0
    for digit in token[-6:]:
        digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        number = number * 62 + digits.index(digit)
    assert number == crc32(token[:-6].encode())


def test_tokens_differ() -> None:
    assert len({make_token("pat") for _ in range(100)}) == 100


@pytest.mark.req("H-15")
@given(st.integers(0, 46), st.characters(codec="ascii"))
def test_a_token_with_one_other_character_is_none(place: int, other: str) -> None:
    token = make_token("pat")
    changed = token[:place] + other + token[place + 1 :]
    assert (token_kind(changed) is None) == (changed != token)


@pytest.mark.parametrize(
    "text", ["", "accord_pat_", "accord_pat_" + "0" * 36, "accord_pat_" + "٣" * 36, "x" * 100_000]
)
def test_a_text_that_is_no_token_is_none(text: str) -> None:
    assert token_kind(text) is None


def test_a_token_is_known_again_by_how_it_begins() -> None:
    token = make_token("pat")
    assert shown_prefix(token) == token[:15]
