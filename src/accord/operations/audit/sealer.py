"""Seals records: numbers them and chains them, inside of a transaction in the lane `audit`, which
one process at a time has.

The head that the database holds is believed only as far as its HMAC and what this process knows
go. Where it was turned back, sealing goes on behind what is known, and leaves the gap for all to
see; where it is gone and nothing is known, nothing is sealed, since a new head would hide that.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from accord.operations.audit.chain import BEGINNING, Chain, Head, Seal
from accord.operations.audit.storage import (
    DELETE_PENDING,
    INSERT_SEALS,
    LAST_SEAL,
    PENDING_RECORDS,
    READ_HEAD,
    WRITE_HEAD,
)
from accord.store.store import Engine, Transaction

HEAD: Final = "audit_head"
"""The name of the head in the table of settings."""
MAX_SEALED: Final = 1000
"""Records sealed in one transaction."""


class Sealed(Struct, frozen=True):
    """The result of sealing."""

    head: Head | None
    """None if the head cannot be known."""
    count: int = 0
    problem: str = ""
    """A description of tampering, if any was detected."""


async def seal(
    transaction: Transaction, chain: Chain, engine: Engine, known: Head | None
) -> Sealed:
    """Seal pending records.

    `known` is the newest head known to this process.
    """
    trusted = await _trusted(transaction, chain, known)
    if trusted.head is None:
        return trusted
    rows = await transaction.fetch(PENDING_RECORDS, MAX_SEALED)
    head, problem = trusted.head, trusted.problem
    seals: list[Seal] = []
    for row in rows:
        made = chain.seal(head, row["id"], row["mac"])
        seals.append(made)
        head = Head(made.sequence, made.hash)
    if seals:
        await transaction.execute(INSERT_SEALS[engine], msgspec.json.encode(seals).decode())
        await transaction.execute(DELETE_PENDING, trusted.head.sequence)
    if seals or problem or known is None:
        await transaction.execute(WRITE_HEAD, chain.signed(head))
    return Sealed(head, len(seals), problem)


async def _trusted(transaction: Transaction, chain: Chain, known: Head | None) -> Sealed:
    """Return the head to continue from."""
    rows = await transaction.fetch(READ_HEAD)
    stored = chain.head(rows[0]["value"]) if rows else None
    last = await _last(transaction)
    problem = ""
    if stored is None:
        if known is None and (rows or last):
            return Sealed(None, problem="its head is gone or not genuine: nothing is sealed")
        if known is not None:
            problem = "its head is gone or not genuine"
    elif known is not None and stored.sequence < known.sequence:
        problem = f"its head was turned back from {known} to {stored}"
    # Continue from the newest head of all: sealing from a rolled-back one would reuse its numbers
    # and cover up the removed records.
    head = max((each for each in (stored, known, BEGINNING) if each), key=_sequence)
    if last > head.sequence:
        problem = problem or f"it has seals behind its head, {head.sequence}"
        head = Head(last, head.hash)
    return Sealed(head, problem=problem)


def _sequence(head: Head) -> int:
    return head.sequence


async def _last(transaction: Transaction) -> int:
    rows = await transaction.fetch(LAST_SEAL)
    return int(rows[0]["sequence"]) if rows else 0
