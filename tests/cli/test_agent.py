"""`accord agent check`, `accord agent demo` and `accord agent migration`, as users have them."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from accord.store import open_store
from tests.cli.command import COMMAND, PATIENCE, accord, environment


@contextmanager
def demo_agent(*flags: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    process = subprocess.Popen(
        [*COMMAND, "agent", "demo", "--port", "0", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        url = lines[0].split()[4]
        assert lines == [
            f"Agent demo listening on {url} (press Ctrl-C to stop)\n",
            f"Its card is at {url}.well-known/agent-card.json\n",
            f"Register it: accord agent add demo {url} --allow-agents 127.0.0.1\n",
        ]
        yield url, process
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=PATIENCE)


@pytest.mark.req("W-13")
def test_the_demo_passes_the_check() -> None:
    with demo_agent() as (url, process):
        checked = accord("agent", "check", url, "--long", "slow 60")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    assert (checked.code, checked.err) == (0, "")
    assert checked.out.startswith(f"demo 1.0.0 at {url}\n\ncard\n  pass     card-found")
    assert checked.out.endswith(
        "62 passed, 0 failed, 0 warnings, 5 skipped: the agent keeps every rule that must hold\n"
    )


def test_a_failed_check_says_how_to_fix_it_and_exits_with_1() -> None:
    with demo_agent() as (url, _):
        checked = accord("agent", "check", url, "--wire", "a2a-0.3", "--text", "fail badly")
    assert checked.code == 1
    assert (
        "  fail     send-completed     the task comes to its end, and is completed\n"
        "           task_failed: badly\n"
        "           fix: Put a task that worked into the state completed" in checked.out
    )
    assert ": the agent does not keep the rules\n" in checked.out


def test_warnings_fail_where_that_is_asked_for() -> None:
    with demo_agent() as (url, _):
        flags = ("agent", "check", url, "--wire", "a2a-1.0", "--token", "nobody-asked")
        assert accord(*flags).code == 0
        strict = accord(*flags, "--strict")
    assert strict.code == 1
    assert "  warn     auth-needed " in strict.out


def test_a_check_tells_programs_everything() -> None:
    with demo_agent("--token", "secret", "--wire", "a2a-0.3") as (url, _):
        env = environment(ACCORD_AGENT_TOKEN="secret")
        checked = accord("agent", "check", url, "--json", env=env)
    told = json.loads(checked.out)
    assert (checked.code, told["passed"], told["agent"], told["wires"]) == (
        0,
        True,
        "demo 1.0.0",
        ["0.3"],
    )
    assert sum(told["counts"].values()) == len(told["findings"])
    assert told["findings"][0] == {
        "rule": "card-found",
        "wire": "",
        "outcome": "pass",
        "holds": "the card is at /.well-known/agent-card.json",
        "detail": "",
        "fix": "",
    }
    assert "secret" not in checked.out + checked.err


def test_nobody_there_is_no_connection() -> None:
    checked = accord("agent", "check", "http://127.0.0.1:1/")
    assert (checked.code, checked.out) == (3, "")
    assert checked.err.startswith("error: cannot connect to http://127.0.0.1:1/")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "a URL is missing, such as http://127.0.0.1:9000/"),
        (["http://127.0.0.1/", "--wire", "soap"], "argument --wire: invalid choice"),
        (["http://127.0.0.1/", "--timeout", "-1"], "argument --timeout: must be a number"),
        (["http://127.0.0.1/", "--header", "x"], "--header 'x' is not of the form"),
    ],
)
def test_wrong_usage_of_the_check_is_told(arguments: list[str], said: str) -> None:
    checked = accord("agent", "check", *arguments)
    assert checked.code == 2
    assert checked.err.startswith(f"error: {said}")


# Who has not moved


async def _register(url: str, *agents: tuple[str, str]) -> None:
    async with open_store(url) as store:
        for name, wire in agents:
            await store.execute(
                "INSERT INTO agents (id, name, url, wire, created_at, updated_at) "
                "VALUES ($1, $1, $2, $3, '', '')",
                name,
                f"https://{name}.example.com/",
                wire,
            )


@pytest.mark.req("W-14")
def test_agents_that_have_not_moved_are_listed(migrated_url: str) -> None:
    command = ("agent", "migration", "--database", migrated_url)
    asyncio.run(_register(migrated_url, ("new", "a2a-1.0"), ("any", "auto")))
    moved = accord(*command)
    assert (moved.code, moved.out) == (
        0,
        "None of 2 agents uses the plain format: it can be turned off\n",
    )
    asyncio.run(_register(migrated_url, ("old", "plain"), ("older", "plain")))
    left = accord(*command)
    assert (left.code, left.out) == (
        1,
        "agent  url                         active\n"
        "old    https://old.example.com/    yes\n"
        "older  https://older.example.com/  yes\n"
        "2 of 4 agents still use the plain format\n",
    )
    told = json.loads(accord(*command, "--json").out)
    assert (told["agents"], [each["name"] for each in told["plain"]]) == (4, ["old", "older"])


def test_an_installation_that_is_not_there_has_no_agents(tmp_path: Path) -> None:
    for word in ("agent", "agents"):  # as it was spelled before
        told = accord(word, "migration", "--data", str(tmp_path))
        assert (told.code, told.err) == (
            2,
            f"error: there is no installation in {tmp_path}; "
            "accord serve makes one, or say with --data where it is\n",
        )
