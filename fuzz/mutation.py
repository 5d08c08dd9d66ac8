"""The plain engine: seeds, changed at random. It sees no coverage, and needs nothing installed.

For where Atheris cannot be had; what it finds it finds by luck and number.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from fuzz import seeds, targets
from fuzz.environment import FINDINGS

MAX_BYTES: Final = 4096
_MOST_CHANGES: Final = 5
_CLOCK_EVERY: Final = 256

Change = Callable[[random.Random, bytearray, "Material"], None]


class Material:
    """What inputs are made from."""

    def __init__(self, inputs: list[bytes], words: list[bytes]) -> None:
        self.inputs = inputs or [b""]
        self.words = words or [b"\0"]


class FoundError(Exception):
    """A target broke a promise; `file` holds the input."""

    def __init__(self, file: Path) -> None:
        super().__init__(f"found something: the input is in {file}")
        self.file = file


def run(
    target: str,
    *,
    runs: int | None,
    seconds: float | None,
    findings: Path = FINDINGS,
    seed: int | None = None,
) -> int:
    """Try inputs until one of the limits; how many there were. Raises FoundError.

    The same `seed` gives the same inputs. One that breaks a promise is kept in `findings`.
    """
    material = Material(list(seeds.seeds(target).values()), seeds.words(target))
    chance = random.Random(seed)
    until = None if seconds is None else time.monotonic() + seconds
    done = 0
    with targets.load(target) as check:
        while runs is None or done < runs:
            if until is not None and done % _CLOCK_EVERY == 0 and time.monotonic() >= until:
                break
            data = mutated(chance, material)
            done += 1
            try:
                check(data)
            except Exception as error:
                raise FoundError(_keep(data, findings / target)) from error
    return done


def _keep(data: bytes, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / hashlib.sha256(data).hexdigest()[:16]
    file.write_bytes(data)
    return file


def mutated(chance: random.Random, material: Material) -> bytes:
    """One of the inputs, with a few changes."""
    data = bytearray(chance.choice(material.inputs))
    for _ in range(chance.randint(1, _MOST_CHANGES)):
        chance.choice(_CHANGES)(chance, data, material)
    return bytes(data[:MAX_BYTES])


def _flip(chance: random.Random, data: bytearray, material: Material) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _overwrite(chance: random.Random, data: bytearray, material: Material) -> None:
    if data:
        data[chance.randrange(len(data))] = chance.randrange(256)


def _insert_byte(chance: random.Random, data: bytearray, material: Material) -> None:
    data.insert(chance.randint(0, len(data)), chance.randrange(256))


def _insert_word(chance: random.Random, data: bytearray, material: Material) -> None:
    at = chance.randint(0, len(data))
    data[at:at] = chance.choice(material.words)


def _replace_by_word(chance: random.Random, data: bytearray, material: Material) -> None:
    start, end = _range(chance, data)
    data[start:end] = chance.choice(material.words)


def _delete(chance: random.Random, data: bytearray, material: Material) -> None:
    start, end = _range(chance, data)
    del data[start:end]


def _repeat(chance: random.Random, data: bytearray, material: Material) -> None:
    start, end = _range(chance, data)
    data[end:end] = data[start:end] * chance.choice((1, 1, 2, 16))


def _splice(chance: random.Random, data: bytearray, material: Material) -> None:
    other = chance.choice(material.inputs)
    data[chance.randint(0, len(data)) :] = other[chance.randint(0, len(other)) :]


def _append(chance: random.Random, data: bytearray, material: Material) -> None:
    data += chance.choice(material.inputs)


def _range(chance: random.Random, data: bytearray) -> tuple[int, int]:
    start = chance.randint(0, len(data))
    return start, min(len(data), start + chance.choice((1, 1, 2, 4, 16, 64)))


_CHANGES: Final[tuple[Change, ...]] = (
    _flip,
    _overwrite,
    _insert_byte,
    _insert_word,
    _replace_by_word,
    _delete,
    _repeat,
    _splice,
    _append,
)
