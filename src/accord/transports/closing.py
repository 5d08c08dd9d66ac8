"""The end of what listens for HTTP: no new connections, what is under way may finish."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final

from accord.transports.listener import Listener

LAST_WORDS_SECONDS: Final = 1.0
"""How long clients get to take their last answers."""


async def close_listener(listener: Listener, finish: Awaitable[None]) -> None:
    """Stop listening, wait for `finish`, which lets what runs be answered, and cut what is left."""
    closing = asyncio.ensure_future(listener.close())
    await finish
    _, late = await asyncio.wait([closing], timeout=LAST_WORDS_SECONDS)
    if late:
        closing.cancel()
        await asyncio.wait([closing])
