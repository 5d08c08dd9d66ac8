"""The states of a connection and the moves between them.

connecting   no connection yet, or again: it was lost and is being made anew
connected    messages flow
closing      no new work; what is under way may finish
closed       the end; nothing leaves it
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class State(StrEnum):
    CONNECTING = "connecting"
    CONNECTED = "connected"
    CLOSING = "closing"
    CLOSED = "closed"


MOVES: Final[dict[State, frozenset[State]]] = {
    State.CONNECTING: frozenset({State.CONNECTED, State.CLOSING, State.CLOSED}),
    State.CONNECTED: frozenset({State.CONNECTING, State.CLOSING, State.CLOSED}),
    State.CLOSING: frozenset({State.CLOSED}),
    State.CLOSED: frozenset(),
}
