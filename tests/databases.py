"""Both engines, with a database for each test."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from accord.app.database import MIGRATIONS
from accord.store import open_store
from tests.store.cluster import Cluster, running_cluster

TEMPLATE = "accord_template"


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with running_cluster() as found:
        yield found


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty store."""
    if request.param == "sqlite":
        yield f"sqlite://{tmp_path}/store.db"
        return
    found: Cluster = request.getfixturevalue("cluster")
    made = found.database()
    yield made
    found.drop(made)


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with all tables, to be copied."""
    path = tmp_path_factory.mktemp("migrated") / "accord.db"
    asyncio.run(_migrate(f"sqlite://{path}"))
    return path


@pytest.fixture(scope="session")
def migrated_database(cluster: Cluster) -> str:
    """The name of a PostgreSQL database with all tables, to be copied."""
    asyncio.run(_migrate(cluster.database(TEMPLATE)))
    return TEMPLATE


@pytest.fixture(params=["sqlite", "postgresql"])
def migrated_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a store with all tables, and nothing in them."""
    given: Callable[[str], object] = request.getfixturevalue
    if request.param == "sqlite":
        shutil.copy(str(given("migrated_file")), tmp_path / "accord.db")
        yield f"sqlite://{tmp_path}/accord.db"
        return
    found = given("cluster")
    assert isinstance(found, Cluster)
    made = found.database(template=str(given("migrated_database")))
    yield made
    found.drop(made)


async def _migrate(url: str) -> None:
    async with open_store(url, durable=False) as store:
        for part, folder in MIGRATIONS.items():
            await store.migrate(part, folder)
