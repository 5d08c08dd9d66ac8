"""Records of the audit trail: their fields, targets and authentication. Pure.

A record carries the HMAC of its own fields, so nobody can forge one without the key. A seal gives
it a number and chains it to the record before it. The head is the newest seal, with an HMAC of its
own, so it can be stored anywhere.

If no effect names the target of a record, the target is taken from the arguments and the result of
the call. Targets are ids and names that the system issued, never texts of a caller: an argument
that is not spelled like an id is left out, as it may be a misplaced secret.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from hmac import compare_digest
from itertools import islice
from typing import Any, ClassVar, Final, Literal, Protocol, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, astuple, replace

Result: TypeAlias = Literal[
    "done", "dry_run", "refused", "denied", "failed", "cancelled", "unauthenticated"
]
"""The result of a call: done, or the reason why it was not done.

A call with the result `dry_run` changed nothing; if it has an error, a real call would have the
same. A `cancelled` write is one whose caller left: it may still complete, and then another record
reports that.
"""


class Record(Struct, frozen=True, kw_only=True):
    """The audit record of one call.

    It contains no secrets; of stored texts it contains only hashes.
    """

    id: str
    time: str
    actor_id: str
    actor: str
    via: str
    face: str
    token_id: str = ""
    client: str = ""
    address: str = ""
    operation: str
    target: str = ""
    """The reference id, name or id of the subject; several are separated by commas."""
    change_id: str = ""
    before_hash: str = ""
    after_hash: str = ""
    outcome: Result = "done"
    error: str = ""
    """The code of the error."""
    correlation_id: str = ""
    states: str = ""
    """The number of row states stored with the record; see `audit.states`."""


class AuditSink(Protocol):
    """The destination of audit records."""

    async def write(self, transaction: Any, record: Record) -> None:
        """Write a record in the transaction that it describes."""

    def enqueue(self, record: Record) -> None:
        """Queue a record of a call that changed nothing; never blocks.

        It is written within a second.
        """


def hash_of_values(values: Sequence[Mapping[str, Any] | None]) -> str:
    """Return the hash of the entities before or after a call; empty without any."""
    if not any(value is not None for value in values):
        return ""
    return sha256(msgspec.json.encode(values, order="deterministic")).hexdigest()


MAX_TARGETS: Final = 20

_ARGUMENT: Final = re.compile(r"(?:.+_)?(?:id|run)|[ab]")
_ID: Final = re.compile(
    r"[A-Za-z]{2,10}-[0-9]{1,10}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
)
_NAMES: Final = ("reference_id", "username", "id", "name")
"""Fields that name an entity; the first one present is the name that people use."""


def target_of(arguments: Mapping[str, Any], result: Any = None) -> str:
    """Return the target of a call: ids and names, separated by commas.

    They are the ids in the arguments, and the name of the result or the names of its items.
    An id in the arguments is left out if the result has a better name for the same entity.
    """
    found = dict.fromkeys(_named_by_arguments(arguments))
    names = list(_names(result))
    if names:
        known = {name.casefold() for name in names}
        found = {each: None for each in found if each.casefold() not in known}
        found[names[0]] = None
    else:
        items = _items(result)[:MAX_TARGETS]
        found |= {name: None for item in items for name in islice(_names(item), 1)}
    return ", ".join(list(found)[:MAX_TARGETS])


def _named_by_arguments(arguments: Mapping[str, Any]) -> Iterator[str]:
    for name, value in arguments.items():
        if isinstance(value, str) and _ID.fullmatch(value) and _ARGUMENT.fullmatch(name):
            yield value


def _items(result: Any) -> Sequence[Any]:
    items = getattr(result, "items", None)
    return items if isinstance(items, Sequence) else ()


def _names(thing: Any) -> Iterator[str]:
    # Nearly all results are structs, and checking for a Mapping is expensive.
    is_mapping = not isinstance(thing, Struct) and isinstance(thing, Mapping)
    for name in _NAMES:
        value = thing.get(name) if is_mapping else getattr(thing, name, None)
        if isinstance(value, str) and value:
            yield value


MAX_FIELD: Final = 1000
"""Maximum length of one field of a record; longer fields are cut."""
_NUL: Final = b"\\u0000"


class Seal(Struct, frozen=True):
    """The number of one record in the chain, with the hashes that link it."""

    sequence: int
    record_id: str
    previous_hash: str
    hash: str


class ChainHead(Struct, frozen=True):
    """The end of the chain."""

    __schema_name__: ClassVar[str] = "Head"

    sequence: int
    hash: str

    def __str__(self) -> str:
        return f"{self.sequence}:{self.hash}"


class _SignedChainHead(Struct, frozen=True):
    sequence: int
    hash: str
    mac: str


BEGINNING: Final = ChainHead(0, "")
"""The head of a trail without seals."""


class Chain:
    """A signer that makes and checks the MACs and seals of audit records.

    Nobody can forge a MAC or a seal without the key.
    """

    def __init__(self, key: bytes) -> None:
        self._keyed = hmac.new(key, digestmod="sha256")

    def mac(self, record: Record) -> str:
        # Empty fields are left out, so that later releases can add fields to records.
        data = {name: value for name, value in asdict(record).items() if value}
        return self._mac(b"record", msgspec.json.encode(data))

    def is_genuine(self, record: Record, mac: object) -> bool:
        """Return True for an unchanged record that was written with the key."""
        # JSON encodes bytes as text, and a tampered database may hold bytes in place of text.
        if not all(type(value) is str for value in astuple(record)):
            return False
        try:
            return isinstance(mac, str) and compare_digest(mac.encode(), self.mac(record).encode())
        except UnicodeEncodeError:
            return False

    def seal(self, head: ChainHead, record_id: str, mac: str) -> Seal:
        """Return the seal of the next record."""
        return self.seal_at(head.sequence + 1, record_id, mac, head.hash)

    def seal_at(self, sequence: int, record_id: str, mac: str, previous_hash: str) -> Seal:
        data = msgspec.json.encode((sequence, record_id, mac, previous_hash))
        return Seal(sequence, record_id, previous_hash, self._mac(b"seal", data))

    def state_mac(self, state: Struct) -> str:
        """Return the MAC of a stored row state."""
        return self._mac(b"state", msgspec.json.encode(astuple(state)))

    def digest(self, data: object) -> str:
        """Return a keyed digest of a value, which cannot be guessed without the key."""
        return self._mac(b"value", msgspec.json.encode(data))[:32]

    def signed(self, head: ChainHead) -> str:
        """Encode a head with its HMAC as JSON; `head` decodes it."""
        return msgspec.json.encode(
            _SignedChainHead(head.sequence, head.hash, self._head_mac(head))
        ).decode()

    def head(self, text: str | bytes) -> ChainHead | None:
        """Decode a head from JSON; return None if it was not signed with this key."""
        try:
            found = msgspec.json.decode(text, type=_SignedChainHead)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        head = ChainHead(found.sequence, found.hash)
        genuine = compare_digest(found.mac.encode(), self._head_mac(head).encode())
        return head if genuine else None

    def _head_mac(self, head: ChainHead) -> str:
        return self._mac(b"head", msgspec.json.encode(head))

    def _mac(self, what: bytes, data: bytes) -> str:
        made = self._keyed.copy()
        made.update(what + b"\n" + data)
        return made.hexdigest()


def storable(record: Record) -> Record:
    """Return a record that every database accepts.

    Callers may send NUL characters and lone surrogates, which are removed, and fields of any
    length, which are cut.
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
