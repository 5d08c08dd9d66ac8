"""The JavaScript of docs/interop.md runs, and prints what its comments say.

The page's Python and console sessions are run by tests/test_docs.py.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interop.conftest import Demo
from tests.interop.programs import PATIENCE, environment
from tests.markdown import Block, read_blocks

PAGE = Path(__file__).parent.parent.parent / "docs" / "interop.md"
BLOCKS = [block for block in read_blocks(PAGE.name, PAGE) if block.language == "js"]
PRINTED = re.compile(r"^ *console\.log\(.*\);  +// (.+)$", re.MULTILINE)


@pytest.mark.req("F-12", "F-19")
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_javascript_prints_what_its_comments_say(
    block: Block, demo: Demo, packages: Path, tmp_path: Path
) -> None:
    accord = tmp_path / "accord"
    accord.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m accord "$@"\n')
    accord.chmod(0o755)
    code = re.sub(
        r"(http|ws)://127\.0\.0\.1:8000/rpc",
        lambda url: demo(f"{url[1]}://127.0.0.1:0/rpc"),
        block.code,
    )
    done = subprocess.run(
        ["node", "-"],
        # Browsers have it; Node has it from 22 on.
        input=f"globalThis.WebSocket ??= require('ws');\n{code}",
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment(packages) | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == PRINTED.findall(block.code)
