"""Property tests by others against a live server: what the document promises holds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interop.programs import serving
from tests.node_packages import node_packages
from tests.openrpc.judges import HERE, PATIENCE

SKIPPED = (
    "rpc.discover",
    # Draft 07 as OpenRPC's tools read it cannot say which item of a tuple has which type.
    *("order", "pair"),
)


@pytest.fixture
def program() -> Path:
    return node_packages(HERE / "coverage") / ".bin" / "open-rpc-test-coverage"


@pytest.mark.req("O-08")
def test_generated_calls_are_answered_as_the_document_says(program: Path) -> None:
    with serving([sys.executable, "-m", "tests.openrpc.served"]) as url:
        done = subprocess.run(
            [
                *(str(program), "-s", f"{url}openrpc.json", "-t", "http", "-r", "console"),
                f"--skip={','.join(SKIPPED)}",
            ],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("✓") > 30
    assert re.search(r"Errors:  (\x1b\[31m)?0\b", done.stdout), done.stdout
