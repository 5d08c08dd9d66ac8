"""Shut an HTTP listener down: no new connections, running requests may finish."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final

from accord.transports.listener import Listener

LAST_WORDS_SECONDS: Final = 1.0
"""Time in seconds that clients get to read their last responses."""


async def close_listener(listener: Listener, finish: Awaitable[None]) -> None:
    """Stop listening, wait for `finish` (running calls are answered), and cut the rest off."""
    closing = asyncio.ensure_future(listener.close())
    await finish
    _, late = await asyncio.wait([closing], timeout=LAST_WORDS_SECONDS)
    if late:
        closing.cancel()
        await asyncio.wait([closing])
