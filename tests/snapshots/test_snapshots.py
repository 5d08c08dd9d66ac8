"""What outsiders see is what the committed snapshots say."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.observe.scene import Observed
from tests.store.cluster import Cluster
from tools.snapshots import documents, kept, observed
from tools.snapshots.documents import Served
from tools.snapshots.interface import ALL, OF_CODE, OF_FILES, OF_POSTGRESQL, OF_SERVER, OF_USE
from tools.snapshots.kept import COMMAND, FOLDER, as_json, difference, write

pytestmark = pytest.mark.req("Q-02")


@pytest.fixture(scope="module")
def served() -> Served:
    return asyncio.run(documents.ask())


@pytest.fixture(scope="module")
def used(cluster: Cluster) -> Observed:
    return asyncio.run(observed.use(cluster.database()))


def check(file: str, now: str) -> None:
    changed = difference(file, now)
    if changed:
        pytest.fail(
            f"{changed}\n\nWhat outsiders see has changed. If that is meant, run `{COMMAND}` and "
            f"commit tests/snapshots/{file} with the change; else undo it.",
            pytrace=False,
        )


@pytest.mark.parametrize("file", sorted(OF_CODE))
def test_what_the_code_offers_is_what_was_committed(file: str) -> None:
    check(file, OF_CODE[file]())


@pytest.mark.parametrize("file", sorted(OF_SERVER))
def test_what_a_server_says_is_what_was_committed(file: str, served: Served) -> None:
    check(file, OF_SERVER[file](served))


@pytest.mark.parametrize("file", sorted(OF_USE))
def test_what_operators_see_is_what_was_committed(file: str, used: Observed) -> None:
    check(file, OF_USE[file](used))


@pytest.mark.parametrize("file", sorted(OF_FILES))
async def test_what_is_stored_is_what_was_committed(file: str) -> None:
    check(file, await OF_FILES[file]())


@pytest.mark.parametrize("file", sorted(OF_POSTGRESQL))
async def test_what_postgresql_stores_is_what_was_committed(file: str, cluster: Cluster) -> None:
    check(file, await OF_POSTGRESQL[file](cluster.database()))


def test_every_snapshot_is_compared() -> None:
    committed = {path.name for path in FOLDER.iterdir() if path.suffix not in ("", ".py")}
    assert committed == ALL


def test_a_change_is_shown_as_a_diff_with_the_command_that_accepts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "FOLDER", tmp_path)
    assert write("names.txt", "one\ntwo\n")
    assert not write("names.txt", "one\ntwo\n")
    check("names.txt", "one\ntwo\n")
    with pytest.raises(pytest.fail.Exception) as caught:
        check("names.txt", "one\nthree\n")
    told = str(caught.value)
    assert "-two\n+three\n" in told
    assert "run `make snapshots` and commit tests/snapshots/names.txt" in told
    assert "+new" in difference("new.txt", "new\n")


def test_json_has_a_line_for_each_value_that_fits_on_one() -> None:
    long = "x" * 90
    value = {"short": {"a": [1, None]}, "long": [{"b": long}, {}], "version": "1"}
    assert as_json(value) == (
        "{\n"
        '  "short": {"a": [1, null]},\n'
        '  "long": [\n'
        "    {\n"
        f'      "b": "{long}"\n'
        "    },\n"
        "    {}\n"
        "  ],\n"
        '  "version": "1"\n'
        "}\n"
    )
