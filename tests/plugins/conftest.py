"""The packages of the examples, installed once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import environment
from tests.plugins.packages import install_examples


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which all four are installed."""
    target = tmp_path_factory.mktemp("packages")
    install_examples(target)
    return environment(PYTHONPATH=str(target))


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A folder for packages."""
    folder = tmp_path / "packages"
    folder.mkdir()
    return folder
