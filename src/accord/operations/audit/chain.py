"""The arithmetic of the trail: what makes a record, a seal and a head genuine. Pure.

A record carries the HMAC of its own fields, so that nobody without the key can write one. A seal
gives it a number and chains it to the one before it. The head is the newest seal, with an HMAC of
its own, so that it can be kept anywhere.
"""

from __future__ import annotations

import hmac
from hmac import compare_digest
from typing import Any, ClassVar, Final

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, astuple, replace

from accord.operations.audit.record import Record

MAX_FIELD: Final = 1000
"""Maximum length of one field of a record; longer fields are cut."""
_NUL: Final = b"\\u0000"


class Seal(Struct, frozen=True):
    """The position of one record in the chain."""

    sequence: int
    record_id: str
    previous_hash: str
    hash: str


class Head(Struct, frozen=True):
    """The end of the chain."""

    __schema_name__: ClassVar[str] = "Head"

    sequence: int
    hash: str

    def __str__(self) -> str:
        return f"{self.sequence}:{self.hash}"


class _SignedHead(Struct, frozen=True):
    sequence: int
    hash: str
    mac: str


BEGINNING: Final = Head(0, "")
"""The head of a trail without seals."""


class Chain:
    """Creates and checks MACs and seals, which nobody can forge without the key."""

    def __init__(self, key: bytes) -> None:
        self._keyed = hmac.new(key, digestmod="sha256")

    def mac(self, record: Record) -> str:
        # Empty fields are left out, so that later releases can add fields to records.
        told = {name: value for name, value in asdict(record).items() if value}
        return self._mac(b"record", msgspec.json.encode(told))

    def is_genuine(self, record: Record, mac: object) -> bool:
        """Return True for an unchanged record that was written with the key."""
        # JSON encodes bytes as text, and a tampered database may hold bytes in place of text.
        if not all(type(value) is str for value in astuple(record)):
            return False
        try:
            return isinstance(mac, str) and compare_digest(mac.encode(), self.mac(record).encode())
        except UnicodeEncodeError:
            return False

    def seal(self, head: Head, record_id: str, mac: str) -> Seal:
        """Return the seal of the next record."""
        return self.seal_at(head.sequence + 1, record_id, mac, head.hash)

    def seal_at(self, sequence: int, record_id: str, mac: str, previous_hash: str) -> Seal:
        told = msgspec.json.encode((sequence, record_id, mac, previous_hash))
        return Seal(sequence, record_id, previous_hash, self._mac(b"seal", told))

    def state_mac(self, state: Struct) -> str:
        """Return the MAC of a stored row state."""
        return self._mac(b"state", msgspec.json.encode(astuple(state)))

    def digest(self, told: object) -> str:
        """Return a keyed digest of a value, which cannot be guessed without the key."""
        return self._mac(b"value", msgspec.json.encode(told))[:32]

    def signed(self, head: Head) -> str:
        """Return a signed head, as text for `head`."""
        return msgspec.json.encode(
            _SignedHead(head.sequence, head.hash, self._head_mac(head))
        ).decode()

    def head(self, text: str | bytes) -> Head | None:
        """Return the head in a text; None if it was not signed with this key."""
        try:
            found = msgspec.json.decode(text, type=_SignedHead)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        head = Head(found.sequence, found.hash)
        genuine = compare_digest(found.mac.encode(), self._head_mac(head).encode())
        return head if genuine else None

    def _head_mac(self, head: Head) -> str:
        return self._mac(b"head", msgspec.json.encode(head))

    def _mac(self, what: bytes, told: bytes) -> str:
        made = self._keyed.copy()
        made.update(what + b"\n" + told)
        return made.hexdigest()


def storable(record: Record) -> Record:
    """Return a record that every database accepts.

    Callers may send NUL characters, lone surrogates and fields of any length; all are removed.
    """
    try:
        encoded = msgspec.json.encode(record)
    except UnicodeEncodeError:
        return _cleaned(record)
    return _cleaned(record) if len(encoded) > MAX_FIELD or _NUL in encoded else record


def _cleaned(record: Record) -> Record:
    fields: dict[str, Any] = asdict(record)
    return replace(record, **{name: _clean(value) for name, value in fields.items()})


def _clean(text: str) -> str:
    text = text[:MAX_FIELD].replace("\0", "\N{REPLACEMENT CHARACTER}")
    return text.encode(errors="replace").decode()
