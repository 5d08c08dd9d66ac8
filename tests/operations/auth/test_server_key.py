"""The server's key: made once, kept to itself, and the only one that its database takes."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

import pytest

from accord.operations.auth.server_key import ServerKey, ServerKeyError, load_key
from accord.store import open_store


def test_a_key_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    first = load_key(tmp_path, {})
    again = load_key(tmp_path, {})
    assert first.derive("tokens") == again.derive("tokens")
    assert [path.name for path in tmp_path.iterdir()] == ["key"]
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert len(bytes.fromhex((tmp_path / "key").read_text())) == 32


def test_processes_that_start_at_once_have_the_same_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        keys = list(threads.map(lambda _: load_key(tmp_path, {}).fingerprint, range(32)))
    assert len(set(keys)) == 1
    assert os.listdir(tmp_path) == ["key"]


def test_keys_for_different_purposes_have_nothing_in_common() -> None:
    key = ServerKey(bytes(32))
    assert key.derive("tokens") != key.derive("audit")
    assert len(key.derive("tokens")) == 32
    assert key.derive("tokens") != ServerKey(b"\x01" * 32).derive("tokens")


@pytest.mark.req("H-18")
def test_a_key_does_not_show_itself(tmp_path: Path) -> None:
    key = load_key(tmp_path, {})
    secret = (tmp_path / "key").read_text().strip()
    assert repr(key) == f"ServerKey({key.fingerprint})"
    assert key.fingerprint not in secret


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        (
            "00" * 32,
            0o644,
            "others can read {key} (mode 0644), which holds the server key: chmod 600 {key}",
        ),
        ("00" * 31, 0o600, "{key} holds no server key: restore it from a backup"),
        ("what?", 0o600, "{key} holds no server key: restore it from a backup"),
        ("", 0o600, "{key} holds no server key: restore it from a backup"),
    ],
)
def test_a_file_that_is_no_key_is_refused(
    tmp_path: Path, content: str, mode: int, message: str
) -> None:
    path = tmp_path / "key"
    path.write_text(content)
    path.chmod(mode)
    with pytest.raises(ServerKeyError) as refused:
        load_key(tmp_path, {})
    assert str(refused.value) == message.format(key=path)


def test_a_key_in_the_environment_is_long_enough() -> None:
    long = "k" * 32
    assert (
        load_key(None, {"ACCORD_SECRET_KEY": long}).fingerprint == ServerKey(b"k" * 32).fingerprint
    )
    with pytest.raises(ServerKeyError, match="has 31 characters, and needs 32 to 4,096"):
        load_key(None, {"ACCORD_SECRET_KEY": "k" * 31})
    with pytest.raises(ServerKeyError, match="ACCORD_SECRET_KEY, which is not set"):
        load_key(None, {})


async def test_a_database_takes_no_other_key(url: str) -> None:
    key, other = ServerKey(bytes(32)), ServerKey(b"\x01" * 32)
    async with open_store(url) as store:
        await store.migrate("operations", files("accord.operations") / "migrations")
        await key.check(store)
        await key.check(store)
        with pytest.raises(ServerKeyError) as refused:
            await other.check(store)
    assert str(refused.value) == (
        f"the database belongs to another server key (fingerprint {key.fingerprint}, this one is "
        f"{other.fingerprint}): restore the file 'key' of its data directory, or set "
        "ACCORD_SECRET_KEY as it was"
    )
