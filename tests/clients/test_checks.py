"""Generated clients satisfy those who check code: mypy and tsc in their strictest ways, and ruff."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from accord.openrpc.clients import read_api, write_python, write_typescript
from tests.clients.collisions import collisions
from tests.clients.documents import all_documents
from tests.clients.random_documents import random_document
from tests.clients.typescript import check

DOCUMENTS = all_documents()
HOSTILE = {f"hostile_{seed}": random_document(seed) for seed in range(12)}
COLLISIONS = {
    f"collisions_{structure.replace('-', '_')}": collisions(structure)
    for structure in ("by-name", "by-position")
}
LINTS = "E,F,W,I,B,PLE,PLW,UP,SIM,C4,PIE,RET,FURB,PERF,RUF,ASYNC,N"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the clients of all documents."""
    folder = tmp_path_factory.mktemp("clients")
    for name, document in {**DOCUMENTS, **HOSTILE, **COLLISIONS}.items():
        api = read_api(document)
        write = {
            f"{name}.py": write_python(api, command="accord openrpc client"),
            f"{name}_flat.py": write_python(api, command="accord openrpc client", flat=True),
            f"{name}_sync.py": write_python(api, command="accord openrpc client", blocking=True),
            f"{name}.ts": write_typescript(api, command="accord openrpc client"),
            f"{name}_flat.ts": write_typescript(api, command="accord openrpc client", flat=True),
        }
        for file, source in write.items():
            (folder / file).write_text(source)
    return folder


@pytest.mark.req("O-14", "O-15")
def test_mypy_finds_nothing_in_strict_mode(folder: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-incremental"]
    files = sorted(map(str, folder.glob("*.py")))
    done = subprocess.run(
        [*command, *files], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.stdout == f"Success: no issues found in {len(files)} source files\n"


@pytest.mark.req("O-14", "O-15")
def test_tsc_finds_nothing_in_strict_mode(folder: Path, packages: Path) -> None:
    assert check(folder, packages) == ""


def test_ruff_finds_nothing(folder: Path) -> None:
    files = [f"{name}{kind}.py" for name in DOCUMENTS for kind in ("", "_flat", "_sync")]
    options = ["--isolated", "--target-version=py311"]
    ruff = [sys.executable, "-m", "ruff"]
    lint = [*ruff, "check", *options, f"--select={LINTS}", "--quiet", *files]
    done = subprocess.run(lint, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)
    layout = [*ruff, "format", *options, "--diff", "--quiet", *files]
    done = subprocess.run(layout, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)
