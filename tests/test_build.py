"""What a wheel carries, built from the files of the repository alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.patience import PATIENCE

ROOT = Path(__file__).parent.parent
HTMX = "accord/web/static/vendor/htmx.min.js"

pytestmark = pytest.mark.req("Q-12")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with what is in the repository."""
    for name in ("src", "tools", "front"):
        shutil.copytree(
            ROOT / name,
            tmp_path / "checkout" / name,
            ignore=shutil.ignore_patterns("__pycache__", "vendor", "node_modules"),
        )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / "checkout")
    return tmp_path / "checkout"


def build(checkout: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", "dist", "."]
    return subprocess.run(
        command,
        cwd=checkout,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def files_of_wheel(checkout: Path) -> list[str]:
    [wheel] = (checkout / "dist").glob("*.whl")
    with ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.fixture
def path_without_npm(tmp_path: Path) -> str:
    """Programs as `sh` and `dirname`, but no npm."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "dirname", "mkdir", "cp"):
        (folder / name).symlink_to(str(shutil.which(name)))
    return str(folder)


def test_a_wheel_carries_what_the_pages_take_from_npm(checkout: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed: see tools/install-programs")
    done = build(checkout, ACCORD_BUILD_REQUIRES_ASSETS="1")
    assert done.returncode == 0, done.stderr
    assert HTMX in files_of_wheel(checkout)


def test_make_build_refuses_a_wheel_without_it(checkout: Path, path_without_npm: str) -> None:
    done = build(checkout, PATH=path_without_npm, ACCORD_BUILD_REQUIRES_ASSETS="1")
    assert done.returncode == 1
    assert "A wheel to give away needs it: install Node.js with npm" in done.stdout + done.stderr
    assert not list(checkout.glob("dist/*.whl"))


def test_an_installation_from_a_checkout_goes_without_it(
    checkout: Path, path_without_npm: str
) -> None:
    done = build(checkout, PATH=path_without_npm)
    assert done.returncode == 0, done.stderr
    assert "npm is not installed: the pages work without htmx" in done.stdout + done.stderr
    assert HTMX not in files_of_wheel(checkout)
