"""Ids of messages: the same work asked for again has the same one, so that agents can tell."""

from __future__ import annotations

from hashlib import sha1
from typing import Final
from uuid import UUID

import msgspec

_NAMESPACE: Final = UUID("6f2a1c0e-9d5b-5b0e-8f43-2a7f4a0c51d7").bytes
_VARIANT: Final = "89ab89ab89ab89ab"


def message_id(run: str, step: str, iteration: str, attempt_group: str) -> str:
    """The id of the message that asks an agent for this step of this run.

    While an outcome is unknown the attempt group stays, and so does the id.
    """
    # as JSON, so that no two lists of names run together
    name = msgspec.json.encode((run, step, iteration, attempt_group))
    # RFC 9562, 5.5: a UUID of version 5, without the objects that `uuid` makes on the way
    made = sha1(_NAMESPACE + name, usedforsecurity=False).hexdigest()
    rest = f"5{made[13:16]}-{_VARIANT[int(made[16], 16)]}{made[17:20]}-{made[20:32]}"
    return f"{made[:8]}-{made[8:12]}-{rest}"
