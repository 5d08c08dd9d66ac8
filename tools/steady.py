"""Run `make test` several times in fresh clones, some under load, and log how each run ended.

    python -m tools.steady --runs 3 --loaded 1 --load 8 --log build/steady

clones the current commit for each run, so that nothing of an earlier run can help, and keeps the
whole output of each as a file in the log folder. A loaded run shares the machine with as many
busy programs as `--load` says. The exit code is 1 where a run failed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
BUSY: Final = "while True: sum(range(100_000))"
SUMMARY: Final = re.compile(r"^=+ (.*(?:passed|failed|error|no tests ran).*) =+$", re.MULTILINE)
FAILED: Final = re.compile(r"^(?:FAILED|ERROR) .*$", re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=3, help="how many runs (3)")
    parser.add_argument("--loaded", type=int, default=1, help="how many of them under load (1)")
    parser.add_argument("--load", type=int, default=8, help="busy programs beside those (8)")
    parser.add_argument("--log", type=Path, default=ROOT / "build" / "steady", help="log folder")
    given = parser.parse_args()
    given.log.mkdir(parents=True, exist_ok=True)
    commit = _output("git", "rev-parse", "--short", "HEAD")
    failed = 0
    for number in range(1, given.runs + 1):
        load = given.load if number > given.runs - given.loaded else 0
        begun = time.monotonic()
        log = given.log / f"{commit}-{number}.log"
        code = _run(log, load)
        minutes = (time.monotonic() - begun) / 60
        failed += code != 0
        line = f"{datetime.now(UTC):%Y-%m-%d %H:%M} {commit} run {number} load {load}: "
        line += (
            f"{'passed' if code == 0 else f'failed ({code})'} in {minutes:.1f} min; {_told(log)}"
        )
        print(line, flush=True)
        with (given.log / "runs.txt").open("a", encoding="utf-8") as runs:
            runs.write(f"{line}\n")
    return 1 if failed else 0


def _run(log: Path, load: int) -> int:
    """Run the tests in a fresh clone; return the exit code of make."""
    with tempfile.TemporaryDirectory(prefix="accord-steady-") as folder, _busy(load):
        clone = Path(folder) / "accord"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        subprocess.run(
            ["git", "checkout", "--quiet", "--detach", _output("git", "rev-parse", "HEAD")],
            cwd=clone,
            check=True,
        )
        with log.open("wb") as output:
            environ = {name: it for name, it in os.environ.items() if name != "VIRTUAL_ENV"}
            done = subprocess.run(
                ["make", "test"],
                cwd=clone,
                env={**environ, "CI": "true"},
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
    return done.returncode


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """Keep this many programs busy."""
    programs = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def _told(log: Path) -> str:
    """Return pytest's own summary of a run, and the tests that failed."""
    text = log.read_text(encoding="utf-8", errors="replace")
    summaries = SUMMARY.findall(text)
    failures = sorted({line[:200] for line in FAILED.findall(text)})
    return "; ".join([*(summaries[-1:] or ["pytest did not finish"]), *failures])


def _output(*command: str) -> str:
    return subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
