"""`--json`: every command has it, and gives nothing else on stdout, whatever happens."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from accord.cli import main
from accord.cli.commands import COMMANDS, command_parser
from tests.cli.command import COMMAND, PATIENCE, environment

WITHOUT = {"completion": "it prints a script, for a shell"}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_json(command: str) -> None:
    parser, _ = command_parser(command)
    assert ("--json" in parser._option_string_actions) is (command not in WITHOUT)


class Told:
    """Commands that are run with --json on one installation."""

    def __init__(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.data = data
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> Any:
        assert main([*arguments, "--data", str(self.data), "--json"]) == code
        out, err = self._capsys.readouterr()
        assert (err, out.count("\n")) == ("", 1)
        return json.loads(out)


@pytest.fixture
def told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Told:
    return Told(tmp_path / "data", capsys)


def test_people_and_tokens_are_told_as_json(told: Told) -> None:
    created = told("user", "create", "ada", "--role", "administrator")
    assert (created["username"], created["role"], created["active"]) == (
        *("ada", "Administrator", True),
    )
    assert told("user", "update", "ada", "--email", "ada@example.com")["email"] == "ada@example.com"
    made = told("token", "create", "--user", "ada", "--name", "ci")
    assert made["token"].startswith(made["prefix"])
    assert [each["name"] for each in told("token", "list", "--user", "ada")] == ["ci"]
    assert told("token", "revoke", "ci", "--user", "ada")["revoked_at"] is not None


def test_requirements_are_told_as_json(told: Told, tmp_path: Path) -> None:
    told("user", "create", "ada", "--role", "administrator")
    file = tmp_path / "epics.csv"
    file.write_text("kind,title\nepic,Boarding\n")
    tried = told("hub", "import", str(file), "--dry-run")
    assert (tried["created"], tried["failed"]) == (1, 0)
    assert told("hub", "import", str(file))["created"] == 1
    assert told("hub", "reindex") == {"entries": 1}
    exported = told("hub", "export", "--format", "csv")
    assert (exported["format"], exported["items"]) == ("csv", 1)
    written = str(tmp_path / "out.csv")
    assert told("hub", "export", "-o", written) == {"format": "csv", "items": 1, "file": written}
    trail = str(tmp_path / "trail.jsonl")
    assert told("audit", "export", "--output", trail)["file"] == trail
    assert told("audit", "verify")["findings"] == []
    assert told("db", "migrate") == []
    assert told("workflow", "archive") == {"runs": 0, "done": "archived"}


def test_operations_are_described_as_json(told: Told) -> None:
    described = told("hub", "do", "create_epic", "--about")
    assert (described["name"], described["right"], described["rest"]) == (
        *("create_epic", "write", ["POST /api/v1/epics"]),
    )


@pytest.mark.parametrize(
    ("command", "scheme"),
    [
        (("demo", "tcp://127.0.0.1:0"), "tcp://"),
        (("demo", "http://127.0.0.1:0/rpc", "--workers", "2"), "http://"),
        (("agent", "demo", "--port", "0"), "http://"),
    ],
)
def test_servers_announce_themselves_in_one_line(command: tuple[str, ...], scheme: str) -> None:
    with subprocess.Popen(
        [*COMMAND, *command, "--json"], stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        process.terminate()
        rest, _ = process.communicate(timeout=PATIENCE)
    assert (ready["event"], ready["url"].startswith(scheme), rest) == ("ready", True, "")


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (
            ["sevre"],
            2,
            {
                "code": "wrong_usage",
                "message": "there is no command 'sevre'",
                "advice": "did you mean accord serve?",
            },
        ),
        (
            ["user", "create"],
            2,
            {
                "code": "wrong_usage",
                "message": "a NAME and a --role are needed",
                "advice": "see accord user create --help",
            },
        ),
        (
            ["user", "list", "--data", "nowhere"],
            2,
            {
                "code": "wrong_usage",
                "message": "there is no installation in nowhere",
                "advice": "accord serve makes one, or say with --data where it is",
            },
        ),
        (
            ["db", "status", "--database", "postgresql://127.0.0.1:1/none"],
            3,
            {
                "code": "database_unavailable",
                "message": "the database cannot be used: "
                "[Errno 111] Connect call failed ('127.0.0.1', 1)",
                "advice": "check that the database runs and that --database, or ACCORD_DATABASE, "
                "is right: accord doctor",
            },
        ),
    ],
)
def test_errors_are_json_too(
    arguments: list[str],
    code: int,
    error: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*arguments, "--json"]) == code
    out, err = capsys.readouterr()
    assert (json.loads(out), err) == ({"error": error}, "")


def test_what_an_operation_refuses_has_the_name_that_it_has_everywhere(told: Told) -> None:
    told("user", "create", "ada", "--role", "administrator")
    refused = told("token", "revoke", "none", "--user", "ada", code=1)["error"]
    assert (refused["code"], refused["advice"]) == (
        "not_found",
        "accord token list --user NAME shows which there are",
    )


def test_a_folder_that_cannot_be_used_is_no_fault_of_accord(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["user", "create", "ada", "--role", "user", "--data", "/proc/none", "--json"]
    assert main(command) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "wrong_usage"
    assert error["message"].startswith("cannot use /proc/none: ")


def test_json_behind_two_dashes_is_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", "ftp://h", "echo", "--", "--json"]) == 2
    assert capsys.readouterr().err.startswith("error: ")
