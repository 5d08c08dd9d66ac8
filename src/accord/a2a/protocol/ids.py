"""Ids of messages: the same work asked for again has the same one, so that agents can tell."""

from __future__ import annotations

from typing import Final
from uuid import UUID, uuid5

import msgspec

_NAMESPACE: Final = UUID("6f2a1c0e-9d5b-5b0e-8f43-2a7f4a0c51d7")


def message_id(run: str, step: str, iteration: str, attempt_group: str) -> str:
    """The id of the message that asks an agent for this step of this run.

    While an outcome is unknown the attempt group stays, and so does the id.
    """
    # as JSON, so that no two lists of names run together
    name = msgspec.json.encode((run, step, iteration, attempt_group)).decode()
    return str(uuid5(_NAMESPACE, name))
