"""What is kept between runs of a program."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from accord.mcp.client.auth import AuthorizationError, FileStorage, MemoryStorage, Storage
from tests.mcp.client.auth.conftest import World


@pytest.fixture(params=["memory", "file"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    return MemoryStorage() if request.param == "memory" else FileStorage(tmp_path / "d" / "tokens")


async def test_what_is_set_can_be_got_until_it_is_deleted(storage: Storage) -> None:
    assert await storage.get("a") is None
    await storage.set("a", b"\x00\xff")
    await storage.set("b", b"")
    assert (await storage.get("a"), await storage.get("b")) == (b"\x00\xff", b"")
    await storage.delete("a")
    await storage.delete("never there")
    assert (await storage.get("a"), await storage.get("b")) == (None, b"")


async def test_a_file_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "tokens.json"
    await FileStorage(path).set("a", b"secret")
    assert [oct(each.stat().st_mode & 0o777) for each in (path, path.parent)] == ["0o600", "0o700"]
    assert oct(path.with_name("tokens.json.lock").stat().st_mode & 0o777) == "0o600"


async def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    await FileStorage(path).set("a", b"secret")
    path.chmod(0o640)
    with pytest.raises(PermissionError, match="others can read it"):
        await FileStorage(path).get("a")


async def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    path.write_text("precious")
    path.chmod(0o600)
    with pytest.raises(ValueError, match="not a file of tokens"):
        await FileStorage(path).set("a", b"secret")
    assert path.read_text() == "precious"
    assert sorted(os.listdir(tmp_path)) == ["tokens.json", "tokens.json.lock"]


async def test_programs_that_share_a_file_do_not_lose_anything(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    await asyncio.gather(*(FileStorage(path).set(str(n), b"%d" % n) for n in range(50)))
    assert [await FileStorage(path).get(str(n)) for n in range(50)] == [
        b"%d" % n for n in range(50)
    ]


async def test_a_user_is_asked_once_for_all_runs(world: World, tmp_path: Path) -> None:
    for _ in range(3):
        async with world.client(world.oauth(storage=FileStorage(tmp_path / "tokens"))):
            pass
    assert len(world.browser.visited) == 1


async def test_a_storage_that_fails_is_reported(world: World, tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text("{}")
    path.chmod(0o644)
    with pytest.raises(AuthorizationError, match="others can read it"):
        async with world.client(world.oauth(storage=FileStorage(path))):
            pass
    assert world.service.asked == []
