"""These tests measure memory."""

from __future__ import annotations

from tests.garbage import set_aside

__all__ = ["set_aside"]
