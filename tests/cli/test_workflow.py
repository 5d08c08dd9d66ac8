"""`accord workflow` and `accord agent add|list`, on the machine itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from accord.cli import main

GOOD = """
name: nap
description: Sleeps for a moment.
steps:
  - {name: sleep, type: wait, for: 1}
"""


@pytest.fixture
def data(tmp_path: Path) -> str:
    folder = str(tmp_path / "data")
    assert main(["user", "create", "ada", "--role", "administrator", "--data", folder]) == 0
    return folder


@pytest.fixture
def nap(tmp_path: Path) -> str:
    file = tmp_path / "nap.yaml"
    file.write_text(GOOD)
    return str(file)


@pytest.mark.req("W-07")
def test_all_problems_are_told_with_their_places(
    data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("name: x\nsteps:\n  - {name: a, type: agent, agent: b}\n  - {name: c}\n")
    capsys.readouterr()
    assert main(["workflow", "validate", str(file), "--data", data]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "steps[1].type: 'type' is missing "
        "(there are agent, parallel, condition, loop, wait, workflow, call)",
        "steps[0].agent: there is no agent 'b' (there are none)",
        "2 problems",
    ]
    assert main(["workflow", "validate", str(file), "--data", data, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["valid"], [each["path"] for each in told["problems"]]) == (
        False,
        ["steps[1].type", "steps[0].agent"],
    )
    assert main(["workflow", "save", str(file), "--data", data]) == 1
    assert "steps[0].agent: there is no agent 'b'" in capsys.readouterr().out


def test_without_an_installation_only_the_definition_is_looked_at(
    tmp_path: Path, nap: str, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = tmp_path / "nowhere"
    assert main(["workflow", "validate", nap, "--data", str(nowhere)]) == 0
    assert capsys.readouterr().out == (
        f"{nap} is valid; agents and workflows were not looked for\n"
    )
    assert not nowhere.exists()


def test_a_workflow_is_saved_listed_and_started(
    data: str, nap: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["workflow", "save", nap, "--data", data]) == 0
    assert main(["workflow", "save", nap, "--data", data]) == 0
    assert capsys.readouterr().out == "nap@1 is saved\nnap@1 is saved\n"
    assert main(["workflow", "list", "--data", data]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:2] == ["nap@1", "yes"]
    start = ["workflow", "run", "nap", "--key", "1", "--data", data]
    assert main(start) == 0
    started = capsys.readouterr()
    assert "nobody executes runs at the moment" in started.err
    run = started.out.strip()
    assert main(start) == 0
    assert capsys.readouterr().out.strip() == run
    assert main(["workflow", "cancel", run, "--data", data]) == 0
    assert capsys.readouterr().out == f"{run} is to be cancelled\n"
    assert main(["workflow", "list", "--runs", "--of", "nap", "--json", "--data", data]) == 0
    [listed] = json.loads(capsys.readouterr().out)
    assert (listed["id"], listed["state"], listed["started_by"]) == (run, "pending", "ada")
    assert main(["workflow", "retry", run, "--data", data]) == 1
    assert "has nothing to retry" in capsys.readouterr().err


def test_nobody_waits_where_nobody_executes(
    data: str, nap: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["workflow", "save", nap, "--data", data]) == 0
    capsys.readouterr()
    assert main(["workflow", "run", "nap", "--wait", "--data", data]) == 2
    assert "start accord serve" in capsys.readouterr().err
    assert main(["workflow", "list", "--runs", "--json", "--data", data]) == 0
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run"], "a NAME is needed"),
        (["run", "nap", "--input", "{"], "the input is no JSON"),
        (["run", "nap", "--input", "@nowhere.json"], "nowhere.json cannot be read"),
        (["watch"], "a RUN is needed"),
        (["cancel"], "a RUN is needed"),
        (["retry"], "a RUN is needed"),
        (["validate"], "a FILE is needed"),
        (["save", "nowhere.yaml"], "nowhere.yaml cannot be read"),
    ],
)
def test_wrong_usage_says_what_is_missing(
    data: str, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["workflow", *arguments, "--data", data]) == 2
    assert said in capsys.readouterr().err


def test_what_is_not_there_is_not_found(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["run", "nap"], ["watch", "x"], ["cancel", "x"], ["retry", "x"]):
        assert main(["workflow", *command, "--data", data]) == 1
        assert "there is no" in capsys.readouterr().err


def test_an_agent_is_added_without_its_secret(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    add = ["agent", "add", "review", "http://127.0.0.1:9/", "--data", data]
    assert main(add) == 1
    assert "127.0.0.1 is private" in capsys.readouterr().err
    secret = ["--bearer", "env:ACCORD_SECRET_REVIEW", "--timeout", "5"]
    assert main([*add, "--allow-agents", "127.0.0.1", *secret]) == 0
    assert capsys.readouterr().out == "review is at http://127.0.0.1:9/\n"
    assert main(["agent", "list", "--json", "--data", data]) == 0
    [listed] = json.loads(capsys.readouterr().out)
    assert listed["auth"] == {"type": "bearer", "secret": "env:ACCORD_SECRET_REVIEW"}
    assert main(["agent", "list", "--data", data]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == [
        *("review", "http://127.0.0.1:9/", "auto", "yes", "unknown")
    ]
    assert main([*add, "--bearer", "a", "--api-key", "b"]) == 2
