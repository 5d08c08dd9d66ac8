"""Completion scripts, parsed and used by the shells themselves."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from accord.cli.commands import COMMANDS
from tests.cli.command import PATIENCE, accord


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    for shell in ("bash", "zsh", "fish"):
        printed = accord("completion", shell)
        assert (printed.code, printed.err) == (0, "")
        (folder / f"accord.{shell}").write_text(printed.out)
    return folder


def in_shell(shell: str, *arguments: str) -> str:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"only on machines with {shell}")
    done = subprocess.run(
        [found, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_parses(scripts: Path, shell: str) -> None:
    assert in_shell(shell, "-n", str(scripts / f"accord.{shell}")) == ""


@pytest.mark.parametrize(
    ("line", "suggested"),
    [
        (
            "accord ",
            " ".join(dict.fromkeys(name.split()[0] for name in COMMANDS)) + " -h --help --version",
        ),
        ("accord openrpc l", "lint"),
        ("accord mcp ", "run list call read prompt inspect install"),
        ("accord mcp run server.py --ht", "--http"),
        ("accord mcp run server.py --codes ", "standard extended"),
        ("accord mcp call htt", "http:// https://"),
        ("accord mcp install server.py --client c", "claude-desktop claude-code cursor codex"),
        ("accord openrpc lint --str", "--strict"),
        ("accord openrpc lint openrpc", ""),
        ("accord de", "demo"),
        ("accord doc", "doctor"),
        ("accord doctor --js", "--json"),
        ("accord hub import notes.md --q", "--quiet"),
        ("accord agent ", "demo check add list migration"),
        ("accord completion ", "bash zsh fish"),
        ("accord call tc", "tcp://"),
        ("accord call tcp --not", "--notify"),
        ("accord call tcp --framing ", "newline content-length"),
        ("accord demo tcp --max-ba", "--max-batch-items --max-batch-response-bytes"),
        ("accord call tcp --timeout ", ""),
    ],
)
def test_bash_suggests(scripts: Path, line: str, suggested: str) -> None:
    program = f"""
        source {scripts / "accord.bash"}
        compopt() {{ :; }}  # it works only while the shell itself completes
        COMP_WORDS=({line})
        [[ "{line}" == *" " ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        _accord
        echo "${{COMPREPLY[*]}}"
    """
    assert in_shell("bash", "-c", program) == f"{suggested}\n"


def test_fish_suggests(scripts: Path) -> None:
    program = f"source {scripts / 'accord.fish'}; complete -C 'accord call tcp:// --fram'"
    assert in_shell("fish", "-c", program).split("\t")[0] == "--framing"
    program = f"source {scripts / 'accord.fish'}; complete -C 'accord de'"
    assert in_shell("fish", "-c", program).split("\t")[0] == "demo"
    program = f"source {scripts / 'accord.fish'}; complete -C 'accord openrpc li'"
    assert in_shell("fish", "-c", program).split("\t")[0] == "lint"


def test_zsh_defines_the_completion(scripts: Path) -> None:
    program = (
        "autoload -Uz compinit && compinit -D; "
        f"source {scripts / 'accord.zsh'}; print -r -- $_comps[accord]"
    )
    assert in_shell("zsh", "-f", "-c", program) == "_accord\n"


def test_an_unknown_shell_is_wrong_usage() -> None:
    shown = accord("completion", "tcsh")
    assert (shown.code, shown.out) == (2, "")
    assert shown.err.count("\n") == 1
