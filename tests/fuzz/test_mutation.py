"""The plain engine tries what it is told to try, and keeps what breaks something."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fuzz import mutation, targets
from fuzz.mutation import FoundError, Material, mutated
from fuzz.splits import split
from fuzz.targets import Check


def test_an_input_that_breaks_a_promise_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def fragile(name: str) -> Iterator[Check]:
        def check(data: bytes) -> None:
            assert b"NaN" not in data

        yield check

    monkeypatch.setattr(targets, "load", fragile)
    with pytest.raises(FoundError) as found:
        mutation.run("codec", runs=100_000, seconds=None, findings=tmp_path, seed=1)
    assert found.value.file.parent == tmp_path / "codec"
    assert b"NaN" in found.value.file.read_bytes()
    assert isinstance(found.value.__cause__, AssertionError)


def test_time_ends_a_run() -> None:
    assert mutation.run("codec", runs=None, seconds=0.0) == 0


def test_changes_stay_within_the_longest_input() -> None:
    chance = random.Random(7)
    material = Material([b"", b"x" * mutation.MAX_BYTES], [b"word"])
    inputs = [mutated(chance, material) for _ in range(500)]
    assert max(map(len, inputs)) == mutation.MAX_BYTES
    assert len(set(inputs)) > 300


@pytest.mark.parametrize("size", [0, 1, 2, 100, 1000])
def test_the_pieces_of_an_input_are_the_input(size: int) -> None:
    for first in range(64):
        data = bytes([first]) * size
        assert b"".join(split(data)) == data
