"""What tests with code of others share: their packages, and our demo as a process of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.interop.programs import ACCORD, serving
from tests.node_packages import node_packages
from tests.transports.conftest import certificate as certificate

Demo = Callable[..., str]
"""Starts `accord demo` with a URL and flags, once a session; returns where it listens."""


@pytest.fixture(scope="session")
def packages() -> Path:
    """The folder `node_modules` with what package-lock.json pins."""
    return node_packages(Path(__file__).parent)


@pytest.fixture(scope="session")
def demo() -> Iterator[Demo]:
    with contextlib.ExitStack() as stack:

        @cache
        def start(url: str, *flags: str) -> str:
            return stack.enter_context(serving([*ACCORD, "demo", url, *flags]))

        yield start
