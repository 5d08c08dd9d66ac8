"""Where an agent tells of what happens to a task. What it tells there is a hint, no more."""

from __future__ import annotations

from msgspec import Struct


class PushConfig(Struct, frozen=True, kw_only=True):
    """A webhook, and how the agent shows there who it is."""

    url: str
    id: str = ""
    token: str = ""
    """Sent along, for whoever receives it to compare."""
    scheme: str = ""
    """Of the Authorization header, such as `Bearer`."""
    credentials: str = ""
