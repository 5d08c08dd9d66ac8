"""How an answer says that what it answers could not be read at all."""

from __future__ import annotations


class Refused(bytes):
    """An answer to a payload that is no message (-32700, or a single -32600).

    Transports with status codes recognise it by this type: HTTP sends it with status 400.
    """

    __slots__ = ()
