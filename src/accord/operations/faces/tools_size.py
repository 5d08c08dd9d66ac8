"""Results that fit into what a model reads at once. Pure.

What is too long is cut, texts before lists, and says so where it was cut.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

MAX_BYTES: Final = 40_000
"""Of a result: its text and its structured content together."""
TEXTS: Final = (16_000, 8_000, 4_000, 2_000, 1_000, 500, 200)
"""The lengths to which texts are cut, one after the other, until all fits."""
LISTS: Final = (500, 200, 100, 50, 20, 10, 5, 2, 1, 0)
"""The same for lists."""
TEXTS_OF_PAGES: Final = tuple(length for length in TEXTS if length >= 1_000)
"""A page has fewer items sooner than it has shorter ones."""


def fit(value: Any, fits: Callable[[Any], bool], *, lists: bool = True) -> Any:
    """The longest cut of `value` that fits; None if nothing does. Without `lists` only texts are
    cut, and those not to the shortest."""
    for length in TEXTS if lists else TEXTS_OF_PAGES:
        cut = _cut_texts(value, length)
        if fits(cut):
            return cut
    if not lists:
        return None
    short = _cut_texts(value, TEXTS[-1])
    for count in LISTS:
        cut = _cut_lists(short, count)
        if fits(cut):
            return cut
    return None


def _cut_texts(value: Any, length: int) -> Any:
    if isinstance(value, str):
        if len(value) <= length:
            return value
        return f"{value[:length]}… [{len(value) - length:,} more characters]"
    if isinstance(value, list):
        return [_cut_texts(each, length) for each in value]
    if isinstance(value, dict):
        return {key: _cut_texts(each, length) for key, each in value.items()}
    return value


def _cut_lists(value: Any, count: int) -> Any:
    if isinstance(value, list):
        return [_cut_lists(each, count) for each in value[:count]]
    if isinstance(value, dict):
        found = {key: _cut_lists(each, count) for key, each in value.items()}
        for key, each in value.items():
            if isinstance(each, list) and len(each) > count:
                found[f"{key}_left_out"] = len(each) - count
        return found
    return value
