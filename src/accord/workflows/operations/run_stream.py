"""A stream of a run's events as server-sent events: `GET /runs/{id}/events`.

The id of an event is its number in the run's history, so `Last-Event-ID` resumes after that event.
The stream ends when the run has ended; a client that reconnects then gets status 204.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import aclosing
from functools import partial
from typing import Any, Final

import msgspec

from accord.jsonrpc.protocol.framing import KEEP_ALIVE, encode_event
from accord.operations.adapters.openapi import failure, headers
from accord.operations.adapters.rest_messages import (
    Further,
    RequestWords,
    RestHead,
    RestResponse,
    read_query,
)
from accord.operations.arguments import convert
from accord.operations.auth.authentication import RequestAuthenticator
from accord.operations.auth.credentials import RequestCredentials
from accord.operations.auth.storage import find_revoked
from accord.operations.context import Caller
from accord.operations.errors import InvalidError
from accord.operations.runner import Runner
from accord.transports.http.web_app import Stream
from accord.workflows.core.state import FINAL
from accord.workflows.operations.run_views import shown_event
from accord.workflows.watching import LAST_PLACE, RunWatch

PATH: Final = "/runs/{id}/events"
AFTER: Final = "after"

_EVENT_STREAM: Final = b"content-type: text/event-stream\r\nx-accel-buffering: no\r\n"
_PLACE: Final = re.compile(r"[0-9]{1,15}")
_RETRY: Final = 1_000
"""The delay in milliseconds after which a disconnected client reconnects."""
_AT_ONCE: Final = 262_144
_PAUSE: Final = 0.02
"""The pause in seconds after `_AT_ONCE` bytes, so that slow clients can read them meanwhile."""
_EVENT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "The number of the event in the run's history."},
        "event": {"type": "string", "description": "What happened."},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": "#/components/schemas/RunEvent"},
        },
    },
    "required": ["id", "event", "data"],
}
_DESCRIBED: Final[dict[str, Any]] = {
    "operationId": "watch_run",
    "summary": "Watch a run",
    "description": "What happens in a run, as server-sent events, until the run has ended.",
    "tags": ["runs"],
    "parameters": [
        {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
        {
            "name": "Last-Event-ID",
            "in": "header",
            "required": False,
            "description": "The id of the last event that was seen.",
            "schema": {"type": "string", "pattern": "^[0-9]{1,15}$"},
        },
        {
            "name": "after",
            "in": "query",
            "required": False,
            "description": "The same, for who opens the stream for the first time.",
            "schema": {"type": "string", "pattern": "^[0-9]{1,15}$"},
        },
    ],
    "responses": {
        "200": {
            "description": "The events. The schema is that of each of them.",
            "headers": headers("X-Correlation-Id"),
            "content": {"text/event-stream": {"schema": _EVENT}},
        },
        "204": {"description": "The run has ended, and all was seen."},
        **{str(each): failure(each) for each in (400, 401, 403, 404, 415, 422, 429, 500, 503)},
    },
}


def watch_run(runner: Runner, watch: RunWatch) -> Further:
    """Return the stream of a run's events as a route for the REST adapter."""
    return Further("GET", PATH, partial(RunStream, runner, watch), _DESCRIBED)


class RunStream:
    """The REST handler (`Target`) that streams the events of a run."""

    is_private = True
    takes_body = False
    texts = ()
    writes = False

    def __init__(
        self, runner: Runner, watch: RunWatch, authenticator: RequestAuthenticator
    ) -> None:
        self._runner = runner
        self._watch = watch
        self._authenticator = authenticator
        self._get_run = runner.registry["get_run"]

    def read_words(self, values: tuple[str, ...], query: str) -> RequestWords:
        parameters = read_query(query, known=frozenset({AFTER}), lists=frozenset())
        return {"id": values[0], **parameters}

    async def answer(
        self, head: RestHead, credentials: RequestCredentials, body: bytes
    ) -> RestResponse:
        caller = await self._authenticator.caller(credentials)
        words = dict(self.read_words(head.values, head.request.query))
        after = _place(str(words.pop(AFTER, "")), AFTER)
        # Watching is authorized, rate limited and audited as the operation `get_run`.
        outcome = await self._runner.run(
            self._get_run, lambda: convert(self._get_run, words), caller
        )
        place = _place(head.request.fields.get("last-event-id", ""), "Last-Event-ID") or after
        run = outcome.result
        if place and run.state in FINAL and await self._has_seen(run.id, place):
            return RestResponse(204)
        return RestResponse(
            200, _EVENT_STREAM, pour=lambda stream: self._pour(stream, run.id, place, caller)
        )

    async def _has_seen(self, run_id: str, place: int) -> bool:
        return await self._watch.last(run_id) <= place

    async def _pour(self, stream: Stream, run_id: str, place: int, caller: Caller) -> None:
        stream.write(b"retry: %d\n\n" % _RETRY)
        async with aclosing(self._watch.follow(run_id, place)) as following:
            async for events in following:
                if not events:
                    if caller in await self._runner.store.read(
                        lambda db: find_revoked(db, [caller])
                    ):
                        return
                    stream.write(KEEP_ALIVE)
                unread = 0
                for number, event in events:
                    view = shown_event(number, event)
                    data = msgspec.json.encode(view)
                    stream.write(encode_event(data, id=str(number), event=view.type))
                    unread += len(data)
                    if unread > _AT_ONCE:
                        unread = 0
                        await asyncio.sleep(_PAUSE)


def _place(text: str, name: str) -> int:
    """Parse the number of the client's last event; return 0 for an empty text.

    Raise InvalidError if the text is not a number.
    """
    if text and not _PLACE.fullmatch(text):
        raise InvalidError(name, "is the id of an event of this stream")
    return min(int(text or 0), LAST_PLACE)
