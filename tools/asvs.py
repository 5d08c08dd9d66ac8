"""How the system stands to OWASP's ASVS 5.0.0: docs/security/asvs.toml as values."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

FILE: Final = Path(__file__).parent.parent / "docs" / "security" / "asvs.toml"

State: TypeAlias = Literal["met", "partly met", "not met", "does not apply"]


class Requirement(Struct, frozen=True, forbid_unknown_fields=True):
    """One of the standard's, in our words. What shows it are tests and documents."""

    id: str
    level: Literal[1, 2]
    about: str
    tests: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    note: str = ""
    missing: str = ""
    """What is not, or not all of it, met."""
    why_not: str = ""
    """Why it does not apply."""

    @property
    def state(self) -> State:
        if self.why_not:
            return "does not apply"
        if self.missing:
            return "partly met" if self.tests or self.documents else "not met"
        return "met"

    @property
    def chapter(self) -> int:
        return int(self.id.partition(".")[0])


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    requirement: tuple[Requirement, ...]


def requirements() -> tuple[Requirement, ...]:
    """All of them, in the order of the standard."""
    return msgspec.toml.decode(FILE.read_bytes(), type=_File).requirement
