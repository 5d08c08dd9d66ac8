"""Tests that collect garbage again and again look at their own objects only."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(autouse=True, scope="module")
def set_aside() -> None:
    """What the tests before have left would be looked at by every collection: most of the time that
    these take. Also what the file imports is not theirs."""
    gc.collect()
    gc.freeze()
