"""What is kept about each target in this folder: its corpus, its regressions, its dictionary."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent

_TOKEN: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE: Final = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|(.))")


def corpus(target: str) -> Path:
    """Inputs written by hand, each with something else to find in it."""
    return FOLDER / "corpus" / target


def regressions(target: str) -> Path:
    """Inputs that once broke something."""
    return FOLDER / "regressions" / target


def dictionary(target: str) -> Path:
    """Words worth trying, in libFuzzer's format: a quoted string a line."""
    return FOLDER / "dictionaries" / f"{target}.dict"


def seeds(target: str) -> dict[str, bytes]:
    """The files of the corpus and the regressions, by name."""
    folders = (corpus(target), regressions(target))
    files = sorted(file for folder in folders if folder.is_dir() for file in folder.iterdir())
    return {f"{file.parent.parent.name}/{file.name}": file.read_bytes() for file in files}


def words(target: str) -> list[bytes]:
    """The words of the dictionary."""
    lines = dictionary(target).read_text(encoding="ascii").splitlines()
    tokens = (_TOKEN.fullmatch(line.strip()) for line in lines)
    return [_ESCAPE.sub(_unescaped, token[1].encode()) for token in tokens if token]


def _unescaped(escape: re.Match[bytes]) -> bytes:
    return bytes.fromhex(escape[1].decode()) if escape[1] else escape[2]
