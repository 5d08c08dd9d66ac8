"""How long tests wait for what must happen: longer than a loaded machine ever takes."""

from __future__ import annotations

from typing import Final

PATIENCE: Final = 120.0
"""Seconds. Nothing waits as long as this unless it is broken."""
