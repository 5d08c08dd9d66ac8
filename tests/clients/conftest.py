"""What tests of generated clients share: the TypeScript compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.node_packages import node_packages


@pytest.fixture(scope="session")
def packages() -> Path:
    """The folder `node_modules` with the compiler."""
    return node_packages(Path(__file__).parent)
