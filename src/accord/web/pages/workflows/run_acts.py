"""What people have a run do, as forms: each says what was asked and goes back to the run."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

import msgspec
from msgspec import UNSET

from accord.jsonrpc.nesting import NestingError, decode_json
from accord.operations.arguments import check_once
from accord.operations.errors import ConflictError, InvalidError
from accord.web.answers import Answer
from accord.web.routing import Pages
from accord.web.turn import Turn

pages: Final = Pages()


@pages.post("/runs/{id}/pause")
async def pause(turn: Turn) -> Answer:
    return await _ask(turn, "pause_run", "Paused: what is under way goes on, nothing new starts.")


@pages.post("/runs/{id}/resume")
async def resume(turn: Turn) -> Answer:
    return await _ask(turn, "resume_run", "Resumed.")


@pages.post("/runs/{id}/cancel")
async def cancel(turn: Turn) -> Answer:
    return await _ask(turn, "cancel_run", "Cancelled: agents are told.", reason=turn.form["reason"])


@pages.post("/runs/{id}/retry")
async def retry(turn: Turn) -> Answer:
    step = turn.form["step"]
    said = f"Retrying from {step}." if step else "Retrying what did not complete."
    return await _ask(turn, "retry_run", said, step=step or UNSET)


@pages.post("/runs/{id}/decide")
async def decide(turn: Turn) -> Answer:
    """Approve what waits, or reject it."""
    approved = turn.form["decision"] != "reject"
    return await _ask(
        turn,
        "approve_run",
        "Approved." if approved else "Rejected.",
        step=turn.form["step"] or UNSET,
        approved=approved,
        reason=turn.form["reason"],
    )


@pages.post("/runs/{id}/signal")
async def signal(turn: Turn) -> Answer:
    """Say something that a step waits for: a text, or JSON."""
    name = turn.form["name"]
    return await _ask(
        turn, "signal_run", f"{name} is told.", name=name, payload=_payload(turn.form["payload"])
    )


async def _ask(turn: Turn, operation: str, said: str, **arguments: Any) -> Answer:
    id = turn.values["id"]
    back = f"/runs/{quote(id)}" if turn.form["back"] != "approvals" else "/approvals"
    try:
        await turn.do(operation, run=id, **arguments)
        if operation == "retry_run":  # it is over until somebody takes that up
            back = f"{back}?follow=1"
    except ConflictError as error:  # it went on meanwhile: how it is now says more than a refusal
        return turn.go(back, f"Nothing was done: {error.message}.")
    return turn.go(back, said)


def _payload(text: str) -> Any:
    """What somebody typed: what reads as JSON is meant so."""
    try:
        value = decode_json(text)
        check_once(text.encode(errors="replace"), "payload")
    except NestingError as error:
        raise InvalidError("payload", f"is {error}") from None
    except msgspec.DecodeError:
        return text
    return value
