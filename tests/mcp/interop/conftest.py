"""What tests with others' clients and servers share: their packages, and the Node they need."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.programs import serving
from tests.mcp.conformance import suite
from tests.mcp.interop.commands import OURS
from tests.node_packages import node_packages

CONFORMANCE = Path(suite.__file__).parent


@pytest.fixture(scope="session")
def packages() -> Path:
    """The folder `node_modules` with what package-lock.json pins."""
    return node_packages(Path(__file__).parent)


@pytest.fixture(scope="session")
def node() -> str:
    """A Node that is new enough for all of them."""
    return str(suite.node(node_packages(CONFORMANCE)))


@pytest.fixture(scope="module")
def ours() -> Iterator[str]:
    """The URL of our server."""
    with serving([*OURS, "http"]) as url:
        yield url
