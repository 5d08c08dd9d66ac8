"""Run `make test` several times in fresh clones, some under load, and log how each run ended.

    python -m tools.steady --runs 10 --loaded 3 --load 8 --target test --log build/steady

clones the current commit for each run, so that nothing of an earlier run can help, and keeps the
whole output of each as a file in the log folder. The last runs, as many as `--loaded` says, share
the machine with `--load` busy programs. A run that exceeds its limit of `--minutes` is stopped and
counts as failed. One line per run, with pytest's summary and the failed tests, is printed and
appended to runs.txt in the log folder; the last line says how many runs passed, how long they
took, and which tests failed how often. The exit code is 1 if a run failed.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
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
    parser.add_argument("--target", default="test", help="what make is given (test)")
    parser.add_argument("--minutes", type=float, default=120, help="limit of each run (120)")
    parser.add_argument("--log", type=Path, default=ROOT / "build" / "steady", help="log folder")
    given = parser.parse_args()
    if not 0 <= given.loaded <= given.runs:
        parser.error("--loaded is a number from 0 to that of --runs")
    given.log.mkdir(parents=True, exist_ok=True)
    commit = _output("git", "rev-parse", "--short", "HEAD")
    took: dict[int, list[float]] = {}
    failures: Counter[str] = Counter()
    failed = 0
    for number in range(1, given.runs + 1):
        load = given.load if number > given.runs - given.loaded else 0
        begun = time.monotonic()
        log = given.log / f"{commit}-{number}.log"
        code = _run(log, given.target, load, given.minutes)
        minutes = (time.monotonic() - begun) / 60
        took.setdefault(load, []).append(minutes)
        failed += code != 0
        outcome = "passed" if code == 0 else f"failed ({code})"
        summary, names = _summary(log)
        failures.update(names)
        line = f"{commit} run {number} load {load}: {outcome} in {minutes:.1f} min"
        _note(given.log, "; ".join([line, summary, *names]))
    times = ", ".join(
        f"{min(each):.1f} to {max(each):.1f} min at load {load}" for load, each in took.items()
    )
    again = [f"{name} ({count} times)" for name, count in failures.most_common()]
    _note(
        given.log, "; ".join([f"{commit}: {failed} of {given.runs} runs failed; {times}", *again])
    )
    return 1 if failed else 0


def _note(folder: Path, line: str) -> None:
    line = f"{datetime.now(UTC):%Y-%m-%d %H:%M} {line}"
    print(line, flush=True)
    with (folder / "runs.txt").open("a", encoding="utf-8") as runs:
        runs.write(f"{line}\n")


def _run(log: Path, target: str, load: int, minutes: float) -> int:
    """Run the tests in a fresh clone; return the exit code of make, 124 if it took too long."""
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
            make = subprocess.Popen(
                ["make", target],
                cwd=clone,
                env={**environ, "CI": "true"},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                return make.wait(minutes * 60)
            except subprocess.TimeoutExpired:
                return 124
            finally:
                if make.poll() is None:
                    os.killpg(make.pid, signal.SIGKILL)
                    make.wait()


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


def _summary(log: Path) -> tuple[str, list[str]]:
    """Return pytest's own summary of a run, and the tests that failed."""
    text = log.read_text(encoding="utf-8", errors="replace")
    summaries = SUMMARY.findall(text)
    failures = sorted({line.partition(" - ")[0][:200] for line in FAILED.findall(text)})
    return (summaries[-1] if summaries else "pytest did not finish"), failures


def _output(*command: str) -> str:
    return subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
