"""Which words may have been meant."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from accord.hub.search.words import distance, similar_words, spelling_keys

LETTERS = st.characters(min_codepoint=97, max_codepoint=122)


@pytest.mark.parametrize(
    ("word", "other", "slips"),
    [
        ("ferry", "ferry", 0),
        ("fery", "ferry", 1),
        ("ferrry", "ferry", 1),
        ("ferri", "ferry", 1),
        ("frery", "ferry", 1),
        ("ferr", "ferryman", 0),
        ("fery", "ferryman", 1),
        ("boat", "ferry", 3),
    ],
)
def test_slips_are_counted(word: str, other: str, slips: int) -> None:
    assert distance(word, other, 2) == slips


def test_the_nearest_words_are_meant() -> None:
    known = ["payment", "payments", "pavement", "parchment", "ferry"]
    assert similar_words("paymnet", known) == ["payment", "payments"]
    assert similar_words("payment", ["payment"]) == []
    assert similar_words("xxxx", known) == []


@given(st.text(LETTERS, min_size=4, max_size=20), st.data())
def test_a_word_with_one_slip_has_a_key_in_common_with_itself(
    word: str, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(word) - 1))
    slip = data.draw(st.sampled_from(["lost", "added", "changed", "swapped"]))
    letter = data.draw(LETTERS)
    wrong = {
        "lost": word[:place] + word[place + 1 :],
        "added": word[:place] + letter + word[place:],
        "changed": word[:place] + letter + word[place + 1 :],
        "swapped": word[:place] + word[place : place + 2][::-1] + word[place + 2 :],
    }[slip]
    assert set(spelling_keys(wrong, slips=2)) & set(spelling_keys(word))
    assert distance(wrong, word, 2) <= 2
