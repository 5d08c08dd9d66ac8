"""Dead letters of the bus: stored, announced in a topic, and published again on replay."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Final
from uuid import UUID, uuid5

from msgspec import Struct

from accord.store.store import Transaction
from accord.workflows.bus import outbox
from accord.workflows.bus.bus import ReplayError
from accord.workflows.bus.envelope import DeadLetterNotice
from accord.workflows.bus.outbox import OutboxMessage, outbox_message
from accord.workflows.bus.topics import MAX_MESSAGE_BYTES
from accord.workflows.storage.dead_letters import ONE_MESSAGE, NewDeadLetter, insert_dead_letter

MAX_NOTICE_BODY: Final = 100_000
"""Characters of a message in the topic of dead letters; the table has the whole message."""
MAX_BODY: Final = 3_500
"""Characters of the description of a dead letter, without the position of its message."""

_NAMESPACE: Final = UUID("6d2b9a53-62a5-5a0e-9a3e-5f0e7c1b0d11")
_BINARY: Final = "base64:"
_CUT: Final = "cut:"


class TopicRecord(Struct, frozen=True):
    """A message as it was read from a topic."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes
    value: bytes
    row: int | None = None
    """The id of its row in the outbox, from the header, if there is one."""

    @property
    def place(self) -> str:
        """The position of the message; a recreated topic counts from the beginning."""
        return f"{self.topic}/{self.partition}/{self.offset}/{self.timestamp}"


class RejectedMessage(Struct, frozen=True):
    """A rejected message, with the reason."""

    record: TopicRecord
    code: str
    message: str
    attempts: int = 1

    @property
    def id(self) -> str:
        return str(uuid5(_NAMESPACE, self.record.place))


async def store_rejected(
    db: Transaction, topic: str, letters: Sequence[RejectedMessage], at: float
) -> None:
    """Store dead letters, and announce them in `topic`; existing ones stay."""
    for each in letters:
        body = _text(each.record.value)
        run_id = _run_id(each.record.key)
        reason = f"{each.message[:MAX_BODY]} ({each.record.place})"
        letter = NewDeadLetter(
            id=each.id,
            kind="message",
            topic=each.record.topic,
            run_id=run_id,
            code=each.code,
            message=reason,
            body=body,
            attempts=each.attempts,
            at=at,
        )
        if await insert_dead_letter(db, letter):
            told = DeadLetterNotice(
                message_id=each.id,
                run_id=run_id,
                topic=each.record.topic,
                code=each.code,
                message=reason,
                body=body[:MAX_NOTICE_BODY],
                created_at=at,
            )
            await outbox.put_messages(db, [outbox_message(topic, told)])


async def republish(db: Transaction, id: str) -> None:
    """Publish a dead letter of kind message again, in its topic. Raise ReplayError."""
    rows = await db.fetch(ONE_MESSAGE, id)
    if not rows:
        raise ReplayError(f"there is no dead letter {id[:80]!r} of a message")
    [row] = rows
    if not row["topic"]:
        raise ReplayError("the message did not come from a topic")
    if row["body"].startswith((_BINARY, _CUT)):
        raise ReplayError("the message was too large, or not text, and cannot be published again")
    await outbox.put_messages(db, [OutboxMessage(row["topic"], row["run_id"], id, row["body"])])


def _text(value: bytes) -> str:
    if len(value) > MAX_MESSAGE_BYTES:
        return _CUT + value[:MAX_BODY].decode("latin-1").replace("\0", "")
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return _BINARY + b64encode(value).decode()
    return _BINARY + b64encode(value).decode() if "\0" in text else text


def _run_id(key: bytes) -> str:
    """Return the key, if it may be the id of a run."""
    text = key[:100].decode("ascii", "replace")
    return text if text.isprintable() and text.isascii() else ""
