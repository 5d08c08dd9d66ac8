"""These tests run on both event loops, each of which has transports of its own."""

from __future__ import annotations

from tests.garbage import set_aside
from tests.transports.conftest import pytest_asyncio_loop_factories

__all__ = ["pytest_asyncio_loop_factories", "set_aside"]
