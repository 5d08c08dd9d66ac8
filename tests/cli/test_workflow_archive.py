"""`accord workflow archive`, without a server."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path

import pytest

from accord.cli import main

DAY = 86_400.0


@pytest.fixture
def data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """An installation with runs that ended 100, 50 and 10 days ago."""
    folder = tmp_path / "data"
    assert main(["user", "create", "ada", "--role", "administrator", "--data", str(folder)]) == 0
    capsys.readouterr()
    with sqlite3.connect(folder / "accord.db") as db:
        db.execute(
            "INSERT INTO workflows (name, version, definition, created_by, created_at)"
            " VALUES ('greet', 1, '{}', '', '')"
        )
        for days in (100, 50, 10):
            db.execute(
                "INSERT INTO runs (id, workflow, version, shard, created_at, finished_at)"
                " VALUES (?, 'greet', 1, 0, 0, ?)",
                (f"{days} days", time.time() - days * DAY),
            )
    db.close()
    return folder


def left(data: Path) -> list[str]:
    with sqlite3.connect(data / "accord.db") as db:
        found = [id for (id,) in db.execute("SELECT id FROM runs ORDER BY finished_at")]
    db.close()
    return found


def test_old_runs_are_moved_to_files(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workflow", "archive", "--data", str(data)]) == 0
    assert capsys.readouterr() == ("1 runs archived\n", "")
    assert left(data) == ["50 days", "10 days"]
    [file] = (data / "archive").iterdir()
    assert json.loads(file.read_text())["id"] == "100 days"


def test_or_removed(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--keep-runs-days", "30", "--old-runs", "remove", "--data", str(data)]
    assert main(["workflow", "archive", *given]) == 0
    assert capsys.readouterr() == ("2 runs removed\n", "")
    assert left(data) == ["10 days"]
    assert not (data / "archive").exists()


def test_what_cannot_be_written_stays(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "archive").write_text("a file")
    assert main(["workflow", "archive", "--data", str(data)]) == 2
    assert capsys.readouterr().err.startswith(f"error: cannot write to {data}/archive: ")
    assert len(left(data)) == 3
