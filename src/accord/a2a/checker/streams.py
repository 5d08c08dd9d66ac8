"""The checks of streams: the type, each event, and the end."""

from __future__ import annotations

from typing import Any, Final
from uuid import uuid4

import msgspec

from accord.a2a.checker.answers import read_whole
from accord.a2a.checker.conversation import Conversation
from accord.a2a.checker.envelope import Fault, Result, read, read_value, value_faults
from accord.a2a.checker.probe import Seen, Unseen
from accord.a2a.protocol.card import AgentCard
from accord.a2a.protocol.formats import FORMATS, UNREADABLE
from accord.a2a.protocol.message import Message
from accord.a2a.protocol.params import Send
from accord.a2a.protocol.requests import message_of
from accord.a2a.protocol.states import RESTING
from accord.a2a.protocol.task import ArtifactUpdate, Event
from accord.a2a.protocol.versions import METHODS, Verb, Wire
from accord.jsonrpc.nesting import decode_json

EVENTS: Final = "text/event-stream"
_RULES: Final = ("stream-type", "stream-events", "stream-end")
_REFUSALS: Final = (-32004, -32601)


async def check_stream(talk: Conversation, text: str, card: AgentCard | None) -> None:
    """Whether there are streams, as the card says or not."""
    if card is None:
        for rule in (*_RULES, "stream-refused"):
            talk.skipped(rule, "there is no card that says whether there are streams")
        return
    id = talk.new_id()
    message = message_of(text, message_id=str(uuid4()))
    params = FORMATS[talk.wire].send_params(Send(message=message))
    method = METHODS[talk.wire][Verb.STREAM]
    request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    seen = await talk.look(msgspec.json.encode(request), {"accept": EVENTS})
    if card.streaming:
        talk.skipped("stream-refused", "the card says that there are streams")
        _check_promised(talk, seen, id)
    else:
        for rule in _RULES:
            talk.skipped(rule, "the card does not say that there are streams")
        _check_refused(talk, seen)


def _check_refused(talk: Conversation, seen: Seen | Unseen) -> None:
    said = read(seen)
    if isinstance(said, Fault) and said.code in _REFUSALS:
        talk.passed("stream-refused")
    else:
        what = said if isinstance(said, Fault) else "something else"
        talk.failed("stream-refused", f"it was {what}")


def _check_promised(talk: Conversation, seen: Seen | Unseen, id: str) -> None:
    if isinstance(seen, Unseen) or seen.content_type != EVENTS:
        why = seen.why if isinstance(seen, Unseen) else f"the type is {seen.content_type[:80]!r}"
        said = read(seen)
        talk.failed("stream-type", f"it was {said}" if isinstance(said, Fault) else why)
        for rule in _RULES[1:]:
            talk.skipped(rule, "there was no stream")
        return
    talk.passed("stream-type")
    last = _check_events(talk, seen, id)
    if last is None:
        talk.skipped("stream-end", "there is no last event")
    else:
        _check_end(talk, seen, last)


def _check_events(talk: Conversation, seen: Seen, id: str) -> Event | None:
    """The last event, where all of them are what they should be."""
    last: Event | None = None
    for data in seen.events:
        value = _decoded(data)
        said = read_value(value, seen)
        problems = value_faults(value, id)
        if problems or not isinstance(said, Result):
            talk.failed("stream-events", problems[0][1] if problems else f"it was {said}")
            return None
        try:
            last = read_whole(talk.wire, said)
        except UNREADABLE as error:
            talk.failed("stream-events", str(error))
            return None
    if last is None:
        talk.failed("stream-events", "there was none")
    else:
        talk.passed("stream-events", f"{len(seen.events):,} events")
    return last


def _check_end(talk: Conversation, seen: Seen, last: Event) -> None:
    if not seen.ended:
        talk.failed("stream-end", "the stream was still open when patience was over")
    elif not isinstance(last, Message) and (
        isinstance(last, ArtifactUpdate) or last.status.state not in RESTING
    ):
        talk.failed("stream-end", "it ended, and the last event told of no end")
    elif talk.wire is Wire.V03 and not _is_final(_decoded(seen.events[-1])):
        talk.failed("stream-end", 'the last status has no "final": true')
    else:
        talk.passed("stream-end")


def _is_final(value: Any) -> bool:
    result = value["result"]
    return result.get("kind") != "status-update" or result.get("final") is True


def _decoded(data: bytes) -> Any:
    try:
        return decode_json(data)
    except msgspec.DecodeError:
        return None
