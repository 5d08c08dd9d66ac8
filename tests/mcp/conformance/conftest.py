"""What tests with the conformance suite share: the suite itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.node_packages import node_packages


@pytest.fixture(scope="session")
def packages() -> Path:
    """The folder `node_modules` with what package-lock.json pins."""
    return node_packages(Path(__file__).parent)
