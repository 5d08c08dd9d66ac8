"""`accord mcp install`, in a home of its own."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from accord.cli import main
from accord.mcp.hosts import HOSTS
from tests.cli.command import Completed

URL = "https://example.org/mcp"


@pytest.fixture(autouse=True)
def linux(monkeypatch: pytest.MonkeyPatch, home: Path, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def install(capfdbinary: pytest.CaptureFixture[bytes]) -> Any:
    def run(*arguments: str) -> Completed:
        capfdbinary.readouterr()
        code = main(["mcp", "install", *arguments])
        out, err = capfdbinary.readouterr()
        return Completed(code, out.decode(), err.decode())

    return run


def own_command(weather: Path) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-m", "accord", "mcp", "run", str(weather)]}


STARTED = {
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers", {}),
    "claude-code": (".claude.json", "mcpServers", {"type": "stdio"}),
    "cursor": (".cursor/mcp.json", "mcpServers", {}),
    "vscode": (".config/Code/User/mcp.json", "servers", {"type": "stdio"}),
    "gemini": (".gemini/settings.json", "mcpServers", {}),
    "windsurf": (".codeium/windsurf/mcp_config.json", "mcpServers", {}),
    "codex": (".codex/config.toml", "mcp_servers", {}),
}
AT_A_URL = {
    "claude-desktop": {
        "command": "npx",
        "args": ["-y", "mcp-remote", URL, "--header", "Authorization:${HEADER_1}"],
        "env": {"HEADER_1": "Bearer t"},
    },
    "claude-code": {"type": "http", "url": URL, "headers": {"Authorization": "Bearer t"}},
    "cursor": {"url": URL, "headers": {"Authorization": "Bearer t"}},
    "vscode": {"type": "http", "url": URL, "headers": {"Authorization": "Bearer t"}},
    "gemini": {"httpUrl": URL, "headers": {"Authorization": "Bearer t"}},
    "windsurf": {"serverUrl": URL, "headers": {"Authorization": "Bearer t"}},
    "codex": {"url": URL, "http_headers": {"Authorization": "Bearer t"}},
}


def read(file: Path) -> Any:
    text = file.read_text()
    return tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)


@pytest.mark.parametrize("client", HOSTS)
def test_each_client_is_told_in_its_own_words(
    install: Any, home: Path, weather: Path, client: str
) -> None:
    place, table, further = STARTED[client]
    shown = install(str(weather), "--client", client)
    assert (shown.code, shown.err) == (0, "running the file\n")
    assert shown.out.startswith(f"{home / place} has now:\n")
    assert shown.out.endswith(f"{HOSTS[client].afterwards}\n")
    assert read(home / place) == {table: {"weather": {**further, **own_command(weather)}}}


@pytest.mark.parametrize("client", HOSTS)
def test_each_client_is_told_of_a_url(install: Any, home: Path, client: str) -> None:
    place, table, _ = STARTED[client]
    assert install(URL, "--client", client, "--token", "t").code == 0
    assert read(home / place) == {table: {"example-org": AT_A_URL[client]}}


@pytest.mark.parametrize("client", [name for name, it in HOSTS.items() if it.project])
def test_a_project_has_settings_of_its_own(
    install: Any, tmp_path: Path, home: Path, client: str
) -> None:
    shown = install(URL, "--client", client, "--scope", "project", "--name", "there")
    assert shown.code == 0
    project = HOSTS[client].project
    assert project is not None
    assert list(read(tmp_path / project)[STARTED[client][1]]) == ["there"]
    assert list(home.iterdir()) == []


def test_everything_else_stays_as_it_is(install: Any, home: Path, weather: Path) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    before = '{"other": [1.10, 12345678901234567890123], "mcpServers": {"mine": {"url": "x"}}}'
    file.write_text(before)
    file.chmod(0o640)
    shown = install(str(weather), "--client", "cursor", "--env", "KEY=a=b")
    assert f"The file as it was: {file}.bak\n" in shown.out
    assert (file.parent / "mcp.json.bak").read_text() == before
    text = file.read_text()
    assert '"other": [\n    1.10,\n    12345678901234567890123\n  ]' in text
    assert json.loads(text)["mcpServers"] == {
        "mine": {"url": "x"},
        "weather": {**own_command(weather), "env": {"KEY": "a=b"}},
    }
    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(file.parent)) == ["mcp.json", "mcp.json.bak"]


def test_toml_is_added_to(install: Any, home: Path, weather: Path) -> None:
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text('# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y"\n')
    assert install(str(weather), "--client", "codex", "--env", "K=v").code == 0
    assert file.read_text().startswith('# mine\nmodel = "x"\n')
    assert read(file)["mcp_servers"] == {
        "other": {"command": "y"},
        "weather": {**own_command(weather), "env": {"K": "v"}},
    }
    again = install(str(weather), "--client", "codex", "--replace")
    assert again.code == 2
    assert "accord does not rewrite TOML" in again.err


def test_a_link_is_followed(install: Any, home: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    (home / ".claude.json").symlink_to(real)
    assert install(URL, "--client", "claude-code").code == 0
    assert (home / ".claude.json").is_symlink()
    assert list(read(real)["mcpServers"]) == ["example-org"]


def test_nothing_is_written_in_a_dry_run(install: Any, home: Path) -> None:
    shown = install(URL, "--client", "vscode", "--dry-run")
    assert shown == Completed(
        0,
        f"{home}/.config/Code/User/mcp.json would have:\n"
        '{\n  "servers": {\n    "example-org": {\n      "type": "http",\n'
        f'      "url": "{URL}"\n    }}\n  }}\n}}\n',
    )
    assert list(home.iterdir()) == []


def test_the_same_again_changes_nothing(install: Any, home: Path) -> None:
    install(URL, "--client", "cursor")
    shown = install(URL, "--client", "cursor")
    assert shown == Completed(0, f"{home}/.cursor/mcp.json has example-org already, exactly so\n")
    assert not (home / ".cursor" / "mcp.json.bak").exists()


def test_another_server_of_the_same_name_is_replaced_only_on_request(
    install: Any, home: Path
) -> None:
    install(URL, "--client", "cursor")
    other = f"{URL}/2"
    refused = install(other, "--client", "cursor")
    assert refused.code == 2
    assert "has another server called example-org; --replace replaces it" in refused.err
    assert install(other, "--client", "cursor", "--replace").code == 0
    assert read(home / ".cursor/mcp.json")["mcpServers"]["example-org"]["url"] == other


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".cursor/mcp.json", "{\n  // a comment\n}"),
        (".cursor/mcp.json", "[]"),
        (".cursor/mcp.json", '{"mcpServers": 5}'),
        (".codex/config.toml", "nonsense"),
        (".codex/config.toml", "mcp_servers = { a = { command = 'x' } }"),
    ],
)
def test_what_cannot_be_read_is_not_touched(install: Any, home: Path, name: str, text: str) -> None:
    file = home / name
    file.parent.mkdir()
    file.write_text(text)
    shown = install(URL, "--client", "codex" if name.endswith("toml") else "cursor")
    assert (shown.code, shown.out) == (2, "")
    assert f"{file} is left as it is" in shown.err
    assert file.read_text() == text
    assert os.listdir(file.parent) == [file.name]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((URL,), "say which program by --client"),
        (("--client", "cursor"), "a FILE is missing"),
        (("ws://example.org", "--client", "cursor"), "only http and https URLs"),
        ((URL, "--client", "cursor", "--env", "A=b"), "--env is for a file"),
        ((URL, "--client", "windsurf", "--scope", "project"), "has no settings for a project"),
        ((URL, "--client", "cursor", "--name", "a b"), "letters, digits, - and _"),
        (("{file}", "--client", "cursor", "--token", "t"), "are for a URL"),
        (("{file}", "--client", "cursor", "--env", "A"), "is not of the form NAME=VALUE"),
    ],
)
def test_wrong_usage_is_said(
    install: Any, weather: Path, arguments: tuple[str, ...], message: str
) -> None:
    shown = install(*(word.format(file=weather) for word in arguments))
    assert (shown.code, shown.out) == (2, "")
    assert message in shown.err


def test_a_folder_that_cannot_be_written_is_said(install: Any, home: Path) -> None:
    (home / ".cursor").write_text("a file in its place")
    shown = install(URL, "--client", "cursor")
    assert shown.code == 2
    assert ".cursor" in shown.err


@pytest.mark.parametrize(
    ("platform", "place"),
    [
        ("darwin", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("linux", ".config/Claude/claude_desktop_config.json"),
    ],
)
def test_settings_are_where_the_system_has_them(
    home: Path, monkeypatch: pytest.MonkeyPatch, platform: str, place: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert HOSTS["claude-desktop"].file("user") == home / place
