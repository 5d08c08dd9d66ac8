"""What differs is told, also where it is found outside of test modules."""

from __future__ import annotations

import pytest

for name in ("agreement", "machine"):
    pytest.register_assert_rewrite(f"tests.hub.stateful.{name}")
