"""The code in README and docs is run, and its output compared.

Python blocks run as programs of their own. Console blocks run in a shell, in a folder of
their own that holds the files which `<!-- file: name -->` named before on the page; ports are
replaced by free ones. `<!-- session: goes on -->` has a console block go on where the one before
it on the page ended. `<!-- not executed: reason -->` leaves a block out.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.markdown import Block, read_blocks
from tests.patience import PATIENCE as PATIENCE
from tests.terminal import matches, play

ROOT = Path(__file__).parent.parent
MOST_UNEXECUTED = 8
"""How many blocks may be left out before somebody has to think again."""


def _sessions(blocks: Iterable[Block]) -> list[Block]:
    """The blocks, each with those that go on from it: one session, at the place of its last."""
    sessions: list[Block] = []
    for block in blocks:
        before = sessions.pop() if block.kind == "session" else None
        assert before is None or before.page == block.page, f"{block.place} goes on from nothing"
        sessions.append(replace(block, code=before.code + block.code) if before else block)
    return sessions


BLOCKS = [
    block
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for block in read_blocks(str(path.relative_to(ROOT)), path)
]
UNEXECUTED = [block for block in BLOCKS if block.kind == "not executed"]
EXECUTED = [block for block in BLOCKS if block.kind != "not executed"]
PROGRAMS = [block for block in EXECUTED if block.language == "python" and block.kind != "file"]
SESSIONS = _sessions(block for block in EXECUTED if block.language == "console")
FILES = [block for block in EXECUTED if block.kind == "file"]


@pytest.fixture
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which `python` and `accord` are the ones under test."""
    folder = tmp_path_factory.mktemp("bin")
    for name, arguments in (("python", ""), ("accord", " -m accord")):
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}"{arguments} "$@"\n')
        program.chmod(0o755)
    plain = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    return {**plain, "PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.mark.parametrize("block", PROGRAMS, ids=lambda block: block.place)
def test_python_runs(block: Block, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(block.code)
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


@pytest.mark.parametrize("block", SESSIONS, ids=lambda block: block.place)
def test_console_shows_what_is_printed(block: Block, tmp_path: Path, env: dict[str, str]) -> None:
    for file in _files_before(block):
        (tmp_path / file.text).write_text(file.code)
    for step, printed in play(block.code, tmp_path, env):
        assert matches(step.expected, printed), f"$ {step.command}\n{printed}"


@pytest.mark.parametrize("block", FILES, ids=lambda block: block.place)
def test_files_are_used_by_a_session(block: Block) -> None:
    sessions = [session for session in SESSIONS if block in _files_before(session)]
    others = [file for file in FILES if file.page == block.page and file != block]
    assert any(block.text in other.code for other in sessions + others)


def test_every_shell_block_is_a_session_or_says_why_not() -> None:
    shells = [block.place for block in EXECUTED if block.language in ("sh", "bash", "shell")]
    assert shells == []


def test_few_blocks_are_not_executed() -> None:
    assert len(UNEXECUTED) <= MOST_UNEXECUTED


def _files_before(block: Block) -> list[Block]:
    return [file for file in FILES if file.page == block.page and file.line < block.line]
