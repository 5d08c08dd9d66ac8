"""`accord hub`: import, export, reindex and the sample project, without a server."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path

import pytest

from accord.cli import main
from tests.hub.exchange.reqif_made import reqif, spec_object

TABLE = "kind,reference_id,title,assignee\nepic,EP-001,Boarding,zoe\nepic,EP-002,Booking,zoe\n"


@pytest.fixture
def data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """An installation with one person."""
    folder = str(tmp_path / "data")
    assert main(["user", "create", "ada", "--role", "administrator", "--data", folder]) == 0
    capsys.readouterr()
    return folder


def test_a_file_is_tried_imported_and_exported_again(
    data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "epics.csv"
    file.write_text(TABLE)
    note = "row 2 and 1 others: assignee: 'zoe' is not known here\n"
    assert main(["hub", "import", str(file), "--dry-run", "--data", data]) == 0
    assert capsys.readouterr() == ("would be: 2 created, 0 updated, 0 unchanged\n", note)
    assert main(["hub", "import", str(file), "--data", data]) == 0
    assert capsys.readouterr() == ("2 created, 0 updated, 0 unchanged\n", note)
    assert main(["hub", "export", "--data", data]) == 0
    exported = json.loads(capsys.readouterr().out)
    assert [(item["title"], item["creator"]) for item in exported["items"]] == [
        *(("Boarding", "ada"), ("Booking", "ada")),
    ]
    written = tmp_path / "one.md"
    assert main(["hub", "export", "--epic", "ep-2", "-o", str(written), "--data", data]) == 0
    assert capsys.readouterr().err == f"1 items in {written}\n"
    head = re.compile("# Requirements\n\n<!-- source: [0-9a-f]{32} -->\n\n## EP-002: Booking\n")
    assert head.match(written.read_text())
    assert main(["hub", "reindex", "--data", data]) == 0
    assert capsys.readouterr().out == "2 entries\n"


def test_rows_that_cannot_be_imported_are_told(
    data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "epics.csv"
    file.write_text("kind,title\nepic,One\nepic,\nthing,Two\n")
    assert main(["hub", "import", str(file), "--data", data]) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "row 3: title: is required"
    assert said[1].startswith("row 4: there is no kind 'thing'; there are: ")
    assert said[2].startswith("error: content: 2 of 3 rows cannot be imported, so nothing was; ")
    assert main(["hub", "import", str(file), "--partial", "--data", data]) == 1
    assert capsys.readouterr().out == "1 created, 0 updated, 0 unchanged, 2 failed\n"


def test_stdin_is_imported_as_somebody_else(
    data: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["user", "create", "uma", "--role", "user", "--data", data]) == 0
    text = io.TextIOWrapper(io.BytesIO(b"## EP: Boarding\n"))
    monkeypatch.setattr("sys.stdin", text)
    assert main(["hub", "import", "-", "--format", "markdown", "--as", "uma", "--data", data]) == 0
    assert main(["hub", "export", "--data", data]) == 0
    assert '"creator": "uma"' in capsys.readouterr().out


def test_the_sample_project_is_loaded_once(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hub", "demo", "--data", data]) == 0
    assert capsys.readouterr().out == "307 things are in the hub now; begin with EP-001\n"
    assert main(["hub", "demo", "--data", data]) == 1
    assert capsys.readouterr().err == "error: the sample project is here already: see EP-001\n"


@pytest.mark.req("H-26")
def test_the_sample_project_says_where_it_begins(
    data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.md"
    file.write_text("## EP: Mine\n")
    assert main(["hub", "import", str(file), "--data", data]) == 0
    capsys.readouterr()
    assert main(["hub", "demo", "--data", data]) == 0
    assert capsys.readouterr().out == "307 things are in the hub now; begin with EP-002\n"


@pytest.mark.req("H-22", "H-23", "H-25")
def test_a_source_is_named_and_what_is_not_kept_is_told(
    data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "brake.reqifz"
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("brake.reqif", reqif(spec_object("REQ-1", "Hold.", RATIONALE="x")))
    assert main(["hub", "import", str(file), "--data", data]) == 0
    kept = "not kept: type REQUIREMENT (1 times)\nnot kept: RATIONALE (1 times)\n"
    assert capsys.readouterr() == ("3 created, 0 updated, 0 unchanged\n", kept)
    other = tmp_path / "coffee.reqif"
    other.write_bytes(reqif(spec_object("REQ-1", "Brühe."), title="C").encode("utf-16"))
    assert main(["hub", "import", str(other), "--data", data]) == 1
    assert "name the source, 'SPEC-1' if this is" in capsys.readouterr().err
    flags = ["--source", "coffee", "--json"]
    assert main(["hub", "import", str(other), *flags, "--data", data]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["created"], told["sources"]) == (3, ["coffee"])
    flags = ["--source", "SPEC-1", "--on-conflict", "update", "--dry-run"]
    assert main(["hub", "import", str(other), *flags, "--data", data]) == 0
    assert capsys.readouterr().out == "would be: 0 created, 3 updated, 0 unchanged\n"
    other.write_bytes(b"<?xml version='1.0' encoding='utf-7'?><a/>")
    assert main(["hub", "import", str(other), "--data", data]) == 2
    assert "the encoding 'utf-7' that the file declares" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "a FILE is missing"),
        (["/dev/null"], "the name '/dev/null' tells no format: give --format"),
        (["missing.csv"], "cannot read missing.csv: No such file or directory"),
    ],
)
def test_wrong_usage_is_explained(
    arguments: list[str], complaint: str, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["hub", "import", *arguments, "--data", data]) == 2
    assert complaint in capsys.readouterr().err


def test_without_a_person_nothing_can_belong_to_anybody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = str(tmp_path / "new")
    assert main(["db", "migrate", "--data", data]) == 0
    assert main(["hub", "demo", "--data", data]) == 2
    assert "accord user create NAME --role administrator" in capsys.readouterr().err


def test_every_operation_is_a_command(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hub", "do"]) == 0
    listed = capsys.readouterr().out
    assert "create_epic(title, [description], [status]" in listed
    assert "list_audit_events(" in listed
    assert main(["hub", "do", "create-epic", "--about"]) == 0
    told = capsys.readouterr().out
    assert "needs the right write\nPOST /api/v1/epics\n" in told
    assert '  title: {"type":"string"' in told


def test_an_operation_is_run_by_name(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hub", "do", "create_epic", "title=Boarding", "priority=1", "--data", data]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["reference_id"], made["priority"], made["creator"]) == ("EP-001", 1, "ada")
    assert main(["hub", "do", "list_epics", "--json", "--data", data]) == 0
    listed = capsys.readouterr().out
    assert (listed.count("\n"), json.loads(listed)["total"]) == (1, 1)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["create_epik"], 2, "there is no operation 'create_epik'; did you mean create_epic"),
        (["zzz"], 2, "there is no operation 'zzz'; accord hub do lists them all"),
        (["create_epic"], 1, "title: is required"),
        (["create_epic", "title=x", "colour=red"], 1, "colour: there is no such field"),
        (["get_epic", "id=EP-009"], 1, "EP-009"),
    ],
)
def test_what_cannot_be_run_is_one_line(
    data: str, capsys: pytest.CaptureFixture[str], words: list[str], code: int, message: str
) -> None:
    assert main(["hub", "do", *words, "--data", data]) == code
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert message in said.err
