"""The server key, from which every secret is derived.

With SQLite it is the file `key` in the data directory, with PostgreSQL it comes from the
environment, since several machines need the same key. The database keeps its fingerprint: with
another key no token would be valid and the audit trail could not be verified, so nothing starts.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from accord.operations.context import Database
from accord.operations.storage import FIND_SETTING, INSERT_SETTING
from accord.store.store import Store, Transaction

KEY_FILE: Final = "key"
KEY_VARIABLE: Final = "ACCORD_SECRET_KEY"
KEY_BYTES: Final = 32
MIN_TEXT: Final = 32
"""Minimum number of characters of a server key in the environment."""
MAX_TEXT: Final = 4096

SETTING: Final = "server_key_fingerprint"


class ServerKeyError(Exception):
    """The key is missing, unreadable or does not belong to the database.

    The message says what to do next.
    """


class ServerKey:
    """A key from which others are derived (HKDF).

    It knows neither where it was loaded from nor what the derived keys are for.
    """

    __slots__ = ("_derived", "_root")

    def __init__(self, secret: bytes) -> None:
        # RFC 5869, section 2.2: extract
        self._root = hmac.digest(b"accord server key", secret, sha256)
        self._derived: dict[str, bytes] = {}

    def __repr__(self) -> str:
        return f"ServerKey({self.fingerprint})"

    def derive(self, purpose: str) -> bytes:
        """Derive 32 bytes for one purpose, which reveal nothing about other derived keys."""
        found = self._derived.get(purpose)
        if found is None:
            # RFC 5869, section 2.3: expand; one block is enough
            found = hmac.digest(self._root, purpose.encode() + b"\x01", sha256)
            self._derived[purpose] = found
        return found

    @property
    def fingerprint(self) -> str:
        """A digest that identifies the key and reveals nothing."""
        return self.derive("fingerprint")[:8].hex()

    async def check(self, store: Store) -> None:
        """Check that the database belongs to this key; bind a new database to it.

        Raises ServerKeyError if the database belongs to another key.
        """

        async def work(transaction: Transaction) -> str:
            found = await stored_fingerprint(transaction)
            if found is not None:
                return found
            await transaction.execute(INSERT_SETTING, SETTING, self.fingerprint)
            return self.fingerprint

        known = await store.transact(work)
        if not hmac.compare_digest(known, self.fingerprint):
            raise ServerKeyError(
                f"the database belongs to another server key (fingerprint {known}, this one is "
                f"{self.fingerprint}): restore the file {KEY_FILE!r} of its data directory, or set "
                f"{KEY_VARIABLE} as it was"
            )


async def stored_fingerprint(db: Database) -> str | None:
    """Return the fingerprint of the key that a database belongs to; None for a new database."""
    rows = await db.fetch(FIND_SETTING, SETTING)
    return str(rows[0]["value"]) if rows else None


def load_key(data: Path | None, environ: Mapping[str, str]) -> ServerKey:
    """Load the server key from the directory `data`, or create it there.

    If `data` is None, load the key from the environment. Raises ServerKeyError if the environment
    has no key or an unusable one, or if the key file cannot be read.
    """
    return _from_environment(environ) if data is None else _from_file(data / KEY_FILE)


def _from_environment(environ: Mapping[str, str]) -> ServerKey:
    text = environ.get(KEY_VARIABLE, "")
    if not text:
        raise ServerKeyError(
            f"with PostgreSQL the server key is in {KEY_VARIABLE}, which is not set; make one "
            "with: openssl rand -hex 32"
        )
    if not MIN_TEXT <= len(text) <= MAX_TEXT:
        raise ServerKeyError(
            f"{KEY_VARIABLE} has {len(text):,} characters, and needs {MIN_TEXT} to {MAX_TEXT:,}"
        )
    return ServerKey(text.encode())


def _from_file(path: Path) -> ServerKey:
    try:
        if not path.exists():
            _make(path)
        mode = path.stat().st_mode & 0o777
        text = path.read_text(encoding="ascii").strip()
        secret = bytes.fromhex(text)
    except OSError as error:
        raise ServerKeyError(f"cannot read {path}: {error.strerror}") from None
    except ValueError:
        secret, mode = b"", 0
    if mode & 0o077:
        raise ServerKeyError(
            f"others can read {path} (mode {mode:04o}), which holds the server key: "
            f"chmod 600 {path}"
        )
    if len(secret) != KEY_BYTES:
        raise ServerKeyError(f"{path} holds no server key: restore it from a backup")
    return ServerKey(secret)


def _make(path: Path) -> None:
    """Create the key file atomically, unless another process has created it first."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(fd, "w", encoding="ascii") as file:
            file.write(f"{secrets.token_hex(KEY_BYTES)}\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
