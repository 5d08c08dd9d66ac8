"""Commands that run one operation: what they print, to the last character."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from accord.app.composition import all_operations
from accord.cli import main
from accord.cli.operations import OPERATIONS

NAP = (
    '{"name": "nap", "description": "Sleeps.", "steps": [{"name": "a", "type": "wait", "for": 1}]}'
)
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z?")
DAY = re.compile(r"\d{4}-\d\d-\d\d")


class Shell:
    """Runs commands on one installation."""

    def __init__(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._data = data
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """Return what a command prints, on stdout and then on stderr."""
        assert main([*arguments, "--data", str(self._data)]) == code
        out, err = self._capsys.readouterr()
        return out + err

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json"))


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    shell = Shell(tmp_path / "data", capsys)
    shell("user", "create", "ada", "--role", "Administrator")
    return shell


def plain(text: str) -> str:
    """Replace ids and instants, which differ each time."""
    return DAY.sub("DAY", INSTANT.sub("INSTANT", ID.sub("ID", text)))


@pytest.mark.parametrize("command", OPERATIONS)
def test_a_command_sets_parameters_that_its_operation_has(command: str) -> None:
    spec = OPERATIONS[command]
    parameters = {each.name: each for each in all_operations()[spec.operation].parameters}
    given = {each.parameter for each in spec.arguments if each.parameter}
    assert given <= parameters.keys()
    assert {name for name, each in parameters.items() if each.required} <= given


def test_a_person_is_created_and_listed(shell: Shell) -> None:
    said = shell("user", "create", "bob", "--role", "user", "--email", "bob@example.org")
    assert plain(said) == "bob is now User (ID)\n"
    made = shell.json("user", "create", "cleo", "--role", "commenter")
    assert (made["username"], made["role"], made["email"]) == ("cleo", "Commenter", "")
    assert shell("user", "list") == (
        "name  role           email            active\n"
        "ada   Administrator                   yes\n"
        "bob   User           bob@example.org  yes\n"
        "cleo  Commenter                       yes\n"
    )
    assert [each["username"] for each in shell.json("user", "list")] == ["ada", "bob", "cleo"]


def test_a_token_is_created_listed_and_revoked(shell: Shell) -> None:
    create = ("token", "create", "--user", "ada", "--name")
    token = shell(*create, "ci", "--scope", "read", "--scope", "comment", "--expires", "30")
    assert re.fullmatch(r"accord_pat_[0-9A-Za-z]{36}\n", token)
    other = shell.json(*create, "laptop", "--scope", "read")
    length = len(other["prefix"])
    shown = [f"{each[:length]}…{each[-4:]}" for each in (token.strip(), other["token"])]
    head, *rows = plain(shell("token", "list", "--user", "ada")).splitlines()
    assert [head, *sorted(rows)] == [
        f"name    {'token':<{length + 5}}  scopes        until       last used  revoked",
        f"ci      {shown[0]}  read comment  DAY  never      no",
        f"laptop  {shown[1]}  read          DAY  never      no",
    ]
    assert shell("token", "revoke", "ci", "--user", "ada") == "ada's token ci is revoked\n"
    [revoked] = [
        row for row in shell("token", "list", "--user", "ada").splitlines() if "ci  " in row
    ]
    assert plain(revoked).endswith("  never      DAY")
    assert shell.json("token", "revoke", "laptop", "--user", "ada")["name"] == "laptop"


def test_an_agent_is_added_with_notes_and_listed(shell: Shell) -> None:
    allowed = ("--allow-agents", "127.0.0.1")
    key = ("--api-key", "env:ACCORD_SECRET_KEY_OF_A", "--header", "X-Key", "--wire", "plain")
    said = shell("agent", "add", "a", "http://127.0.0.1:9/", *key, *allowed, "--json")
    assert json.loads(said)["auth"] == {
        "type": "api_key",
        "secret": "env:ACCORD_SECRET_KEY_OF_A",
        "header": "X-Key",
    }
    assert shell("agent", "add", "b", "http://127.0.0.1:9/b", *allowed, "--timeout", "5") == (
        "b is at http://127.0.0.1:9/b\n"
    )
    assert shell("agent", "list") == (
        "name  url                   wire   active  health\n"
        "a     http://127.0.0.1:9/   plain  yes     unknown\n"
        "b     http://127.0.0.1:9/b  auto   yes     unknown\n"
    )
    assert [each["name"] for each in shell.json("agent", "list")] == ["a", "b"]
    assert shell("agent", "add", "c", "http://c.invalid/") == (
        "c is at http://c.invalid/\nnote: its host has no address at the moment\n"
    )
    assert shell("agent", "add", "c", code=2) == (
        "error: a NAME and a URL are needed; see accord agent add --help\n"
    )
    assert shell("agent", "add", "c", "http://h/", "--bearer", "a", "--api-key", "b", code=2) == (
        "error: either --bearer or --api-key; see accord agent add --help\n"
    )


def test_runs_are_listed_cancelled_and_retried(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "nap.json"
    file.write_text(NAP)
    assert shell("workflow", "save", str(file)) == "nap@1 is saved\n"
    run = shell("workflow", "run", "nap").split()[0]
    assert plain(shell("workflow", "list")) == (
        "workflow  active  since       description\nnap@1     yes     DAY  Sleeps.\n"
    )
    assert [each["id"] for each in shell.json("workflow", "list")] == ["nap@1"]
    assert plain(shell("workflow", "list", "--runs", "--state", "PENDING")) == (
        "run                                   workflow  state    by   since\n"
        "ID  nap@1     pending  ada  INSTANT\n"
    )
    assert shell("workflow", "cancel", run, "--reason", "why not") == f"{run} is to be cancelled\n"
    shown = shell.json("workflow", "cancel", run, "--as", "ada")
    assert (shown["id"], shown["state"]) == (run, "pending")
    assert shell("workflow", "retry", run, code=1) == (
        "error: a run that is pending has nothing to retry\n"
    )
    assert shell("workflow", "cancel", run, "--as", "nobody", code=1) == (
        "error: there is no user 'nobody'; there are ada; "
        "accord workflow list --runs shows which there are\n"
    )
