"""A folder with a file that holds a server, and a home of its own for settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mcp.cli.files import WEATHER


@pytest.fixture
def weather(tmp_path: Path) -> Path:
    file = tmp_path / "weather.py"
    file.write_text(WEATHER)
    return file


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder
