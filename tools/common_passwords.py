"""Writes the digests of passwords that are guessed first, from lists of them with one in each line.

    python -m tools.common_passwords list.txt another.txt

Such lists are published with every larger leak: those in use come from the 100,000 that the
British NCSC published and as many of Pwdb and xato.net, all in SecLists. Only digests are kept:
nobody wants to read the words.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from accord.operations.auth.users import (
    COMMON_PASSWORDS_FILE,
    DIGEST_SIZE,
    MIN_PASSWORD,
    password_digest,
)

PLACE: Final = Path(__file__).parent.parent / "src/accord/operations/auth" / COMMON_PASSWORDS_FILE


def digests(passwords: Iterable[str]) -> bytes:
    """The file: digests of one size in order, of those that are long enough to be chosen."""
    found = {password_digest(each) for each in passwords if len(each) >= MIN_PASSWORD}
    return b"".join(sorted(found))


if __name__ == "__main__":
    lines = (line for name in sys.argv[1:] for line in Path(name).read_text("utf-8").splitlines())
    PLACE.write_bytes(digests(lines))
    sys.stdout.write(f"{PLACE.stat().st_size // DIGEST_SIZE:,} passwords\n")
