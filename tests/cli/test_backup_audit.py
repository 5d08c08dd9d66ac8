"""`accord db` and `accord audit`, on an installation without its server."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from accord.cli import main
from tests.app.backup.first import make_sqlite


@pytest.fixture
def data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """An installation with one person."""
    folder = str(tmp_path / "data")
    assert main(["user", "create", "ada", "--role", "administrator", "--data", folder]) == 0
    capsys.readouterr()
    return folder


@pytest.mark.req("H-02")
def test_migrations_are_pending_until_they_are_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "new")
    assert main(["db", "status", "--data", folder]) == 2
    assert "there is no installation in" in capsys.readouterr().err
    assert main(["db", "migrate", "--data", folder]) == 0
    applied = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["operations", "0001_operations", "applied"] in applied
    assert main(["db", "migrate", "--data", folder]) == 0
    assert capsys.readouterr().out == "nothing is pending\n"
    with sqlite3.connect(Path(folder) / "accord.db") as connection:
        connection.execute("DELETE FROM accord_migrations WHERE part = 'hub'")
    connection.close()
    assert main(["db", "status", "--data", folder, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert {each["part"]: each["applied"] for each in found} == {
        "operations": True,
        "hub": False,
        "workflows": True,
    }


@pytest.mark.req("H-17")
def test_a_trail_is_verified_and_an_edit_found(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "verify", "--data", data]) == 0
    said = capsys.readouterr().out
    assert "2 records sealed, 0 about to be: nothing was changed" in said
    head = said.splitlines()[-1].removeprefix("head ")
    assert main(["audit", "verify", "--data", data, "--head", head]) == 0
    capsys.readouterr()
    connection = sqlite3.connect(Path(data) / "accord.db")
    connection.executescript(
        "DROP TRIGGER audit_records_no_update; UPDATE audit_records SET actor = '\x1b[31mmallory' "
        "WHERE operation = 'create_user'"
    )
    connection.close()
    assert main(["audit", "verify", "--data", data]) == 1
    said = capsys.readouterr().out
    assert "edited 2: record" in said
    assert main(["audit", "verify", "--data", data, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["findings"][0]["fault"] == "edited"


def test_a_head_that_was_kept_elsewhere_tells_what_was_cut_off(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    newer = f"7:{'0' * 64}"
    assert main(["audit", "verify", "--data", data, "--head", newer]) == 1
    assert "cut_off 3-7: a head that was kept elsewhere is newer" in capsys.readouterr().out
    assert main(["audit", "verify", "--data", data, "--head", "nonsense"]) == 2


def test_a_trail_is_exported_to_stdout_or_a_new_file(
    data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "export", "--data", data]) == 0
    out, err = capsys.readouterr()
    adopted, event, head = [json.loads(line) for line in out.splitlines()]
    assert (adopted["operation"], adopted["actor"]) == ("adopt_states", "accord")
    assert (event["operation"], event["target"]) == ("create_user", "ada")
    assert err == f"head 2:{head['head']['hash']}\n"
    file = tmp_path / "trail.csv"
    arguments = ["audit", "export", "--data", data, "--format", "csv", "--output", str(file)]
    assert main(arguments) == 0
    assert file.read_text().startswith("kind,sequence,id,time,actor,")
    assert file.stat().st_mode & 0o077 == 0
    assert main(arguments) == 2


def test_without_its_key_a_trail_cannot_be_verified(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (Path(data) / "key").unlink()
    assert main(["audit", "verify", "--data", data]) == 2
    assert "there is no server key in" in capsys.readouterr().err


@pytest.mark.req("H-34")
def test_what_was_edited_in_the_data_is_named(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["hub", "do", "create_epic", "title=Till", "--data", data]) == 0
    connection = sqlite3.connect(Path(data) / "accord.db")
    connection.executescript("UPDATE items SET title = 'Tills'; UPDATE users SET role = 'User'")
    connection.close()
    capsys.readouterr()
    assert main(["audit", "verify", "--data", data]) == 1
    said = capsys.readouterr().out
    assert "edited epic EP-001 title: is not what an operation wrote\n" in said
    assert "edited user ada role: is not what an operation wrote\n" in said
    assert main(["audit", "verify", "--data", data, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {(each["kind"], each["field"]) for each in found} == {
        ("epic", "title"),
        ("user", "role"),
    }


@pytest.mark.req("H-34")
def test_a_database_of_an_older_release_is_verified_and_exported_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_sqlite(tmp_path / "old")
    assert main(["audit", "verify", "--data", str(tmp_path / "old")]) == 0
    said = capsys.readouterr().out
    assert "not provable: accounts, tokens, agents and workflows: start this release once" in said
    assert main(["audit", "export", "--data", str(tmp_path / "old")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (len(lines), json.loads(lines[0])["states"]) == (32, "")
