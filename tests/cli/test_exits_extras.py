"""A plain installation: commands run without extras, or name the one to install."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from accord.cli.commands import COMMANDS
from accord.cli.exits import EXTRAS, POSIX_MODULES
from tests.cli.command import PATIENCE, environment

ROOT = Path(__file__).parents[2]
MODULES = sorted({module for extra in EXTRAS.values() for module in extra.modules})
WITHOUT = """
import sys
from importlib.machinery import BuiltinImporter, PathFinder

def without(finder):
    class Without(finder):
        @classmethod
        def find_spec(cls, name, path=None, target=None):
            found = name.partition(".")[0] not in {modules}
            return super().find_spec(name, path, target) if found else None
    return Without

for finder in (BuiltinImporter, PathFinder):
    sys.meta_path[sys.meta_path.index(finder)] = without(finder)
"""
WITHOUT_POSIX_NAMES = """
import asyncio, http.server, multiprocessing, os, select, signal, socket, ssl, subprocess

for module, names in {
    os: ("fork", "getuid", "killpg", "register_at_fork", "statvfs", "sysconf", "O_NOFOLLOW"),
    select: ("poll",),
    signal: ("SIGCHLD", "SIGHUP", "SIGKILL", "SIGUSR1"),
    socket: ("AF_UNIX", "SO_REUSEPORT"),
}.items():
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
"""
PLAIN = f"{WITHOUT.format(modules=MODULES)}\nfrom accord.cli import main\n"

pytestmark = pytest.mark.req("Q-11")


def plain(*arguments: str) -> tuple[int, str, str]:
    """Run `accord` as if no extra were installed; return its exit code, stdout and stderr."""
    done = subprocess.run(
        [sys.executable, "-c", f"{PLAIN}sys.exit(main())", *arguments],
        check=False,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=PATIENCE,
    )
    return done.returncode, done.stdout, done.stderr


def test_every_module_of_an_extra_is_known() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(project["optional-dependencies"]) == {*EXTRAS, "all"}


def test_every_command_shows_its_help() -> None:
    program = f"""{PLAIN}
for command in {list(COMMANDS)}:
    try:
        main([*command.split(), "--help"])
    except SystemExit as exit:
        if exit.code:
            print("FAILED", command)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "FAILED" not in done.stdout
    assert done.stdout.count("usage: accord") == len(COMMANDS)


@pytest.mark.parametrize(
    "command",
    [
        *("completion bash", "completion zsh", "plugin list", "config"),
        *("db migrate", "db status", "user list", "agent list", "workflow list"),
    ],
)
def test_commands_that_need_no_extra_run_without_it(tmp_path: Path, command: str) -> None:
    data = ["--data", str(tmp_path)]
    if command not in ("completion bash", "completion zsh", "plugin list"):
        assert plain("db", "migrate", *data)[0] == 0
    else:
        data = []
    assert plain(*command.split(), *data)[0] == 0


def test_serve_names_all_extras_it_lacks_and_makes_nothing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert plain("serve", "--data", str(data)) == (
        2,
        "",
        "error: accord serve needs extras that are not installed: hub, web, workflows; "
        "pip install 'accord[hub,web,workflows]'\n",
    )
    assert not data.exists()


def test_other_commands_name_the_extra_they_lack(tmp_path: Path) -> None:
    file = tmp_path / "review.yaml"
    file.write_text("name: review")
    assert plain("workflow", "validate", str(file)) == (
        2,
        "",
        "error: accord workflow validate needs the extra workflows: yaml is not installed; "
        "pip install 'accord[workflows]'\n",
    )


@pytest.mark.parametrize("command", ["db status", "db migrate"])
def test_a_database_without_its_driver_names_the_extra(command: str) -> None:
    assert plain(*command.split(), "--database", "postgresql://127.0.0.1:1/accord") == (
        2,
        "",
        f"error: accord {command} needs the extra postgres: asyncpg is not installed; "
        "pip install 'accord[postgres]'\n",
    )


def test_limits_in_redis_name_the_extra_and_make_nothing(tmp_path: Path) -> None:
    program = f"{WITHOUT.format(modules=['redis'])}\nfrom accord.cli import main\nsys.exit(main())"
    data = tmp_path / "data"
    options = ["--data", str(data), "--rate-store", "redis://:s3cret@127.0.0.1"]
    done = subprocess.run(
        [sys.executable, "-c", program, "serve", *options],
        check=False,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "error: rate_store: Redis needs redis: pip install 'accord[redis]'"
    )
    assert "s3cret" not in done.stderr
    assert not data.exists()


def test_workflows_in_json_need_no_extra(tmp_path: Path) -> None:
    data = ["--data", str(tmp_path / "data")]
    for name, text in {
        "nap.json": '{"name": "nap", "steps": [{"name": "a", "type": "wait", "for": 1}]}',
        "nap.yaml": "name: nap",
    }.items():
        (tmp_path / name).write_text(text)
    assert plain("db", "migrate", *data)[0] == 0
    assert plain(*("user", "create", "ada", "--role", "administrator"), *data)[0] == 0
    code, out, _ = plain("workflow", "validate", str(tmp_path / "nap.json"), *data)
    assert (code, out) == (0, f"{tmp_path / 'nap.json'} is valid\n")
    code, out, _ = plain("workflow", "save", str(tmp_path / "nap.json"), *data)
    assert (code, out) == (0, "nap@1 is saved\n")
    assert plain("workflow", "save", str(tmp_path / "nap.yaml"), *data) == (
        2,
        "",
        "error: accord workflow save needs the extra workflows: yaml is not installed; "
        "pip install 'accord[workflows]'\n",
    )


def test_a_missing_extra_is_an_error_in_json_too(tmp_path: Path) -> None:
    file = tmp_path / "review.yaml"
    file.write_text("name: review")
    code, out, _ = plain("workflow", "validate", str(file), "--json")
    assert code == 2
    assert json.loads(out)["error"] == {
        "code": "extra_missing",
        "message": "accord workflow validate needs the extra workflows: yaml is not installed",
        "advice": "pip install 'accord[workflows]'",
    }


@pytest.mark.parametrize("missing", ["extras", "POSIX"])
def test_every_module_that_needs_neither_can_be_imported(missing: str) -> None:
    """What needs an extra names it in an ImportError; nothing needs POSIX to be imported."""
    modules = MODULES if missing == "extras" else sorted(POSIX_MODULES)
    names = "" if missing == "extras" else WITHOUT_POSIX_NAMES
    program = f"""{names}{WITHOUT.format(modules=modules)}
from importlib import import_module
from pkgutil import walk_packages
import accord

for module in walk_packages(accord.__path__, "accord."):
    if module.name != "accord.__main__":
        try:
            import_module(module.name)
        except ImportError as error:
            if error.name not in {MODULES} and "pip install 'accord[" not in str(error):
                print(module.name, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_system_without_posix_is_named(tmp_path: Path) -> None:
    program = f"""{WITHOUT.format(modules=sorted(POSIX_MODULES))}
from accord.cli import main
sys.exit(main(["user", "list", "--data", {str(tmp_path)!r}]))
"""
    (tmp_path / "accord.db").touch()
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        "error: accord user list needs a POSIX system, such as Linux or macOS; "
        "see docs/rough-edges.md\n",
    )
