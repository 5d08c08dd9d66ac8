"""What a backup says about itself: its first member, `manifest.json`.

Its `seal` is a hash of all the rest of it, and its bytes are exactly those that writing it again
would give, so that no byte of it can change unseen. It does not say who wrote it: whoever can write
to a backup can write another one. Knows nothing of files.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from accord.app.keeping.errors import DamagedError, KeepingError
from accord.jsonrpc.msgspec_types import REFUSALS
from accord.store.store import Engine

FORMAT: Final = 1
NAME: Final = "manifest.json"
MAX_BYTES: Final = 1024 * 1024

DATABASE: Final[dict[Engine, str]] = {"sqlite": "accord.db", "postgresql": "accord.dump"}
KEY: Final = "key"
SETTINGS: Final = "accord.toml"
HEAD: Final = "audit-head"
RUNS: Final = "archive/"
"""What the names of files with archived runs begin with."""

_NAMES: Final = re.compile(
    r"accord\.db|accord\.dump|key|accord\.toml|audit-head|archive/runs-\d{4}-\d{2}\.jsonl"
)


class Member(Struct, frozen=True, forbid_unknown_fields=True):
    """A file in a backup."""

    name: str
    size: int
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that is said."""

    format: int
    release: str
    created_at: str
    engine: Engine
    engine_version: int
    """The major version of PostgreSQL; 3 for SQLite."""
    schema: str
    """Of PostgreSQL, in which the tables are; empty for SQLite."""
    key_fingerprint: str
    """Of the server key that the database belongs to."""
    migrations: dict[str, dict[int, str]]
    """The numbers and names of those that each part had run."""
    members: tuple[Member, ...]
    seal: str = ""

    def has(self, name: str) -> bool:
        return any(each.name == name for each in self.members)

    @property
    def size(self) -> int:
        """Of all members together, in bytes."""
        return sum(each.size for each in self.members)


class _Format(Struct):
    format: int
    release: str


def encode(manifest: Manifest) -> bytes:
    """The bytes of a manifest, sealed."""
    sealed = replace(manifest, seal=_seal(manifest))
    return msgspec.json.format(msgspec.json.encode(sealed), indent=2) + b"\n"


def decode(data: bytes) -> Manifest:
    """Raises DamagedError for what is none, KeepingError for one of a later format."""
    try:
        about = msgspec.json.decode(data, type=_Format)
        if about.format > FORMAT:
            raise KeepingError(
                f"this backup was taken by release {about.release[:40]!r}, in format "
                f"{about.format}; this release reads format {FORMAT}: use that release, or a newer "
                "one"
            )
        manifest = msgspec.json.decode(data, type=Manifest)
    except REFUSALS:
        raise DamagedError(f"its {NAME} cannot be read") from None
    if encode(manifest) != data:
        raise DamagedError(f"its {NAME} was changed")
    _check(manifest)
    return manifest


def _check(manifest: Manifest) -> None:
    """Refuse what no backup of ours has: anything else in it would be somebody's plan."""
    names = [each.name for each in manifest.members]
    wrong = [name for name in names if not _NAMES.fullmatch(name)]
    if wrong:
        raise DamagedError(f"it has a member {wrong[0][:80]!r}, which no backup has")
    if len(set(names)) != len(names):
        raise DamagedError("it has a member twice")
    if not manifest.has(DATABASE[manifest.engine]):
        raise DamagedError("it has no database")
    if any(each.size < 0 for each in manifest.members):
        raise DamagedError("it has a member of less than nothing")


def _seal(manifest: Manifest) -> str:
    return sha256(msgspec.json.encode(replace(manifest, seal=""))).hexdigest()
