"""`accord doctor`: each thing that can be wrong is found, and nothing is changed on the way."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from accord import __version__
from accord.cli import main
from accord.cli.exits import EXTRAS, Extra
from tests.cli.command import COMMAND, PATIENCE, accord, environment

ROOT = Path(__file__).parents[2]


class Found(NamedTuple):
    """One finding."""

    area: str
    name: str
    state: str
    detail: str
    advice: str


class Doctor:
    """Looks at one data directory."""

    def __init__(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.data = data
        self.capsys = capsys

    def __call__(self, *flags: str, code: int = 0) -> list[Found]:
        self.capsys.readouterr()
        port = () if "--port" in flags else ("--port", "0")
        assert main(["doctor", "--data", str(self.data), *port, "--json", *flags]) == code
        told = json.loads(self.capsys.readouterr().out)
        found = [Found(**each) for each in told["findings"]]
        assert told["problems"] == sum(each.state == "problem" for each in found)
        assert told["warnings"] == sum(each.state == "warning" for each in found)
        return found

    def of(self, area: str, *flags: str, code: int = 0) -> dict[str, Found]:
        """The findings of one area, by what they are about."""
        return {each.name: each for each in self(*flags, code=code) if each.area == area}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a folder to work in, in which no program knows of anything."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(folder)
    for name in os.environ:
        if name.startswith("ACCORD_"):
            monkeypatch.delenv(name)
    return folder


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new one, to be copied."""
    data = tmp_path_factory.mktemp("installation") / "data"
    assert main(["user", "create", "ada", "--role", "administrator", "--data", str(data)]) == 0
    return data


@pytest.fixture
def doctor(
    installation: Path, tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> Doctor:
    """One that looks at a new installation."""
    return Doctor(Path(shutil.copytree(installation, tmp_path / "data")), capsys)


def test_nothing_is_wrong_with_a_new_installation(doctor: Doctor) -> None:
    found = doctor()
    assert {each.state for each in found} == {"ok", "not looked at"}
    assert list(dict.fromkeys(each.area for each in found)) == [
        *("installation", "settings", "data directory", "database", "broker", "port"),
        *("audit trail", "clients"),
    ]


def test_people_are_told_in_lines_with_what_to_do(doctor: Doctor) -> None:
    (doctor.data / "key").chmod(0o644)
    assert main(["doctor", "--data", str(doctor.data), "--port", "0"]) == 1
    shown = doctor.capsys.readouterr().out
    key = doctor.data / "key"
    assert (
        f"  problem        key: others can read {key} (mode 0644): nothing starts\n"
        f"                 → chmod 600 {key}\n"
    ) in shown
    assert shown.endswith("\n1 problem, no warnings\n")


def test_where_there_is_nothing_nothing_is_made(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    doctor = Doctor(tmp_path / "none", capsys)
    found = {each.area: each.state for each in doctor()}
    assert found["data directory"] == found["database"] == found["audit trail"] == "not looked at"
    assert not doctor.data.exists()


def test_an_installation_is_as_it_was_before(doctor: Doctor) -> None:
    def state() -> dict[str, tuple[int, bytes]]:
        files = (each for each in doctor.data.rglob("*") if each.is_file())
        return {str(each): (each.stat().st_mtime_ns, each.read_bytes()) for each in files}

    before = state()
    doctor()
    assert {name: each for name, each in state().items() if name in before} == before


def test_extras_are_those_that_can_be_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert sorted([*EXTRAS, "all"]) == sorted(project["optional-dependencies"])


def test_limits_in_redis_need_its_package(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "redis", Extra(("no_such_module",), "rate limits in Redis"))
    found = doctor.of("settings", "--rate-store", "rediss://cache", code=1)["rate_store"]
    assert (found.state, found.detail, found.advice) == (
        "problem",
        "redis is not installed",
        "pip install 'accord[redis]'",
    )


def test_variables_that_nobody_reads_are_told(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCORD_PROT", "8001")
    monkeypatch.setenv("ACCORD_ZZZ", "1")
    monkeypatch.setenv("ACCORD_SECRET_REVIEWER", "hidden")
    found = doctor.of("settings")
    assert (found["ACCORD_PROT"].state, found["ACCORD_PROT"].advice) == (
        *("warning", "did you mean ACCORD_PORT?"),
    )
    assert found["ACCORD_ZZZ"].advice == "accord config lists what there is"
    assert "ACCORD_SECRET_REVIEWER" not in found


def test_settings_that_contradict_each_other_are_told(doctor: Doctor) -> None:
    flags = ("--workers", "3", "--workflows", "elsewhere", "--secrets", "gone")
    found = doctor.of("settings", *flags, "--public-url", "http://hub.example", code=1)
    assert {name: each.state for name, each in found.items()} == {
        "given": "ok",
        "workers": "problem",
        "workflows": "problem",
        "secrets": "problem",
        "public_url": "warning",
    }


def test_settings_that_cannot_be_read_are_a_problem(doctor: Doctor) -> None:
    found = doctor("--workers", "many", code=1)
    assert [each.state for each in found if each.area == "settings"] == ["problem"]
    assert {each.area for each in found} == {"installation", "settings"}


def test_a_damaged_database_is_found(doctor: Doctor) -> None:
    (doctor.data / "accord.db").write_bytes(b"no database at all, whatever it is called")
    found = doctor("--port", "0", code=1)
    assert [(each.name, each.state) for each in found if each.area == "database"] == [
        ("file", "problem")
    ]
    assert [each.state for each in found if each.area == "audit trail"] == ["not looked at"]


def test_a_key_of_another_database_is_found(doctor: Doctor) -> None:
    (doctor.data / "key").write_text("ab" * 32)
    found = doctor(code=1)
    assert ("key", "problem", "the database belongs to another server key") in [
        (each.name, each.state, each.detail) for each in found if each.area == "database"
    ]
    assert [each.state for each in found if each.area == "audit trail"] == ["not looked at"]


def test_a_database_that_is_behind_is_told(doctor: Doctor) -> None:
    (doctor.data / "accord.db").write_bytes(b"")
    assert doctor.of("database")["migrations"].state == "warning"


def test_a_trail_that_was_cut_off_is_found(doctor: Doctor) -> None:
    before = (doctor.data / "accord.db").read_bytes(), (doctor.data / "audit-head").read_bytes()
    assert main(["user", "create", "bob", "--role", "user", "--data", str(doctor.data)]) == 0
    (doctor.data / "accord.db").write_bytes(before[0])
    found = doctor.of("audit trail", code=1)["head"]
    assert (found.state, found.advice) == ("problem", "accord audit verify tells what was changed")


def test_a_broker_that_does_not_answer_is_found(doctor: Doctor) -> None:
    pytest.importorskip("confluent_kafka", reason="only on machines with Kafka's client")
    assert doctor.of("broker", "--bus", "carrier-pigeon", code=1)["bus"].state == "problem"
    found = doctor.of("broker", "--bus", "kafka://127.0.0.1:1", code=1)["bus"]
    assert found.detail.startswith("no broker answers at 127.0.0.1:1")


def test_a_port_that_others_have_is_found(doctor: Doctor) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=1) as other:
        port = str(other.getsockname()[1])
        # It listens and never answers: whoever asks is not kept waiting for long.
        other.settimeout(0)
        found = doctor.of("port", "--port", port, code=1)["port"]
    assert found.detail == f"127.0.0.1:{port} is taken by another program"
    assert found.advice.startswith("choose another by --port")


def test_a_database_that_cannot_be_reached_is_found_without_its_password(doctor: Doctor) -> None:
    url = "postgresql://accord:hush@127.0.0.1:1/accord"
    found = doctor("--database", url, code=1)
    assert {each.name for each in found if each.state == "problem"} == {"secret_key", "database"}
    assert "hush" not in str(found)


@pytest.mark.parametrize("migrated_url", ["postgresql"], indirect=True)
def test_postgresql_is_looked_at(
    migrated_url: str, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCORD_SECRET_KEY", "k" * 32)
    found = doctor.of("database", "--database", migrated_url)
    assert {name: each.state for name, each in found.items()} == {
        "server": "ok",
        "migrations": "ok",
        "key": "ok",
    }
    assert found["server"].detail.endswith("whose clock agrees with ours")


# With a server that runs


class Served(NamedTuple):
    data: Path
    ready: dict[str, Any]

    @property
    def port(self) -> str:
        return str(self.ready["url"]).rpartition(":")[2]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`accord serve --json`, as a program starts it."""
    data = tmp_path_factory.mktemp("served") / "data"
    process = subprocess.Popen(
        [*COMMAND, "serve", "--data", str(data), "--port", "0", "--json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(),
    )
    try:
        assert process.stdout is not None
        yield Served(data, json.loads(process.stdout.readline()))
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def test_a_server_announces_itself_to_programs(served: Served) -> None:
    url = served.ready["url"]
    assert served.ready == {
        "event": "ready",
        "version": __version__,
        "url": url,
        "mcp": f"{url}/api/v1/mcp",
        "data": str(served.data),
        "first_run_file": str(served.data / "first-run.txt"),
    }
    assert (served.data / "first-run.txt").stat().st_mode & 0o777 == 0o600


def test_a_server_that_runs_is_found_at_its_port(
    served: Served, doctor: Doctor, home: Path
) -> None:
    settings = home / ".cursor" / "mcp.json"
    settings.parent.mkdir()
    token = {"Authorization": "Bearer accord_pat_hidden"}
    entries = {
        "accord": {"url": f"{served.ready['mcp']}?key=hidden", "headers": token},
        "stopped": {"url": "http://127.0.0.1:1/api/v1/mcp"},
        "moved": {"url": f"{served.ready['url']}/nowhere/api/v1/mcp"},
        "mine": {"command": "no-such/accord", "args": ["mcp", "run", "server.py"]},
        "other": {"url": "http://127.0.0.1:1/other"},
    }
    settings.write_text(json.dumps({"mcpServers": entries}))
    flags = ("--data", str(served.data), "--port", served.port)
    found = doctor(*flags, code=1)
    place = f"127.0.0.1:{served.port}"
    assert [each.detail for each in found if each.area == "port"] == [
        f"an Accord is ready at {place}"
    ]
    assert [(each.name, each.state) for each in found if each.area == "data directory"][3:] == [
        ("server", "ok"),
        ("first-run.txt", "warning"),
    ]
    assert [(each.state, each.detail) for each in found if each.area == "clients"] == [
        ("ok", f"accord: {served.ready['mcp']} answers"),
        ("warning", "stopped: http://127.0.0.1:1/api/v1/mcp does not answer (Connection refused)"),
        ("problem", f"moved: there is nothing at {served.ready['url']}/nowhere/api/v1/mcp"),
        ("problem", "mine: there is no program no-such/accord"),
    ]
    assert "hidden" not in str(found)


def test_a_server_on_other_data_is_told_from_this_one(served: Served, doctor: Doctor) -> None:
    found = doctor.of("port", "--port", served.port, code=1)["port"]
    assert found.detail.endswith("is taken by an Accord that has another data directory")


def test_a_first_start_at_a_port_that_is_taken_keeps_the_credentials(
    served: Served, tmp_path: Path
) -> None:
    data = tmp_path / "new"
    refused = accord("serve", "--data", str(data), "--port", served.port)
    file = data / "first-run.txt"
    lines = [line for line in refused.err.splitlines() if not line.startswith("{")]
    assert (refused.code, refused.out) == (3, "")
    assert lines[0] == f"The administrator's password and a first token are in {file}"
    assert lines[1].startswith(f"error: cannot listen on http://127.0.0.1:{served.port}/: ")
    assert "Choose another port by --port" in lines[1]
    assert "  password       " in file.read_text()


@pytest.mark.parametrize(
    ("command", "flag"),
    [
        (("call", "{url}/rpc", "list_epics"), "--header 'Authorization: Bearer …'"),
        (("mcp", "list", "{url}/api/v1/mcp"), "--token …"),
    ],
)
def test_who_has_no_token_is_told_where_one_comes_from(
    served: Served, command: tuple[str, ...], flag: str
) -> None:
    words = [word.format(url=served.ready["url"]) for word in command]
    refused = accord(*words)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.splitlines()[-1] == (
        f"next: give a valid token by {flag}; accord token create makes one"
    )


def test_without_extras_it_is_told_what_is_missing(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['jinja2', 'argon2', 'yaml']));"
        "from accord.cli import main; sys.exit(main(['doctor', '--json']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        cwd=tmp_path,
    )
    found = json.loads(done.stdout)["findings"]
    warned = next(each for each in found if each["state"] == "warning")
    assert warned["detail"].startswith("accord serve needs hub (passwords), web (pages)")
    assert [each["area"] for each in found][-1] == "clients", "everything else is looked at, too"
    assert done.returncode == 0
