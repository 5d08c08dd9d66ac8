"""How an answer says that what it answers could not be read at all."""

from __future__ import annotations


class Refused(bytes):
    """The answer to a payload that is no message (-32700, or a single -32600).

    A transport with statuses of its own tells so with it: HTTP answers 400.
    """

    __slots__ = ()
