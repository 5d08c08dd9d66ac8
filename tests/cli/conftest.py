"""Certificates for TLS, a file with an MCP server, and a home for settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.mcp_server_files import WEATHER
from tests.transports.conftest import (
    certificate as certificate,
    client_tls as client_tls,
    server_tls as server_tls,
)


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
