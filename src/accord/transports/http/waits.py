"""What a connection of the server can wait for. Each wait has its own limit in seconds. Pure."""

from __future__ import annotations

from enum import Enum


class Wait(Enum):
    """What a connection waits for, and with that what happens when it waits too long."""

    FIRST_BYTE = "a new connection's first byte"
    NEXT_REQUEST = "a kept-alive connection's next request"
    HEAD = "the rest of a head"
    BODY = "the rest of a body"
    ANSWER = "a handler"
    ROOM = "a client that does not read"
    LAST_WORDS = "a refused client to stop sending"
    END = "the connection to be gone"
