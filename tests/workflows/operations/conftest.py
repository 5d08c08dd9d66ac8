from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.workflows.operations.office import Office, executing, open_office


@pytest.fixture
async def office(tmp_path: Path, migrated_url: str) -> AsyncIterator[Office]:
    """An office in which nobody executes runs."""
    async with open_office(tmp_path, migrated_url) as found:
        yield found


@pytest.fixture
async def busy(office: Office) -> AsyncIterator[Office]:
    """An office in which runs are executed, with the agent demo."""
    async with executing(office):
        yield office
