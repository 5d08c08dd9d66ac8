"""`python -m fuzz [TARGET]`: tries inputs until a number, a time, or one that breaks something.

Coverage-guided by Atheris, which is installed on first use, or plain mutation where that
cannot be had. Without a target each has its turn.
"""

from __future__ import annotations

import argparse
import logging
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from fuzz import environment, mutation, record, seeds, targets

DEFAULT_SECONDS: Final = 30.0
MAX_BYTES: Final = 4096

_DONE: Final = re.compile(rb"^Done (\d+) runs in \d+ second", re.MULTILINE)


def main() -> int:
    given = _arguments()
    logging.disable()  # what a handler that fails tells its log is of no interest here
    variables = _with_atheris() if given.engine != "mutation" else None
    if variables is None and given.engine == "atheris":
        return 2
    for name in [given.target] if given.target else targets.NAMES:
        commit = record.commit()
        started = time.monotonic()
        inputs = _guided(variables, name, given) if variables else _plain(name, given)
        if inputs is None:
            return 1
        engine = f"Atheris {environment.atheris_version()}" if variables else "mutation"
        seconds = time.monotonic() - started
        run = record.Run(target=name, commit=commit, engine=engine, inputs=inputs, seconds=seconds)
        print(run.row, flush=True)
        if given.record:
            record.append(run)
    return 0


def _with_atheris() -> dict[str, str] | None:
    try:
        return environment.with_atheris()
    except environment.UnavailableError as error:
        print(f"no Atheris here, plain mutation instead: {error}", file=sys.stderr)
        return None


def _guided(variables: dict[str, str], name: str, given: argparse.Namespace) -> int | None:
    """How many inputs were tried; None if one broke something."""
    found = environment.FINDINGS / name
    grown = Path(given.corpus) if given.corpus else environment.HOME / "corpus" / name
    for folder in (found, grown):
        folder.mkdir(parents=True, exist_ok=True)
    options = {
        "runs": given.runs,
        "max_total_time": None if given.seconds is None else int(given.seconds),
        "max_len": MAX_BYTES,
        "timeout": 10,
        "rss_limit_mb": 1024,
        "dict": seeds.dictionary(name),
        "artifact_prefix": f"{found}/",
        "verbosity": 1,
        "print_pcs": 0,
    }
    folders = [grown, seeds.corpus(name), seeds.regressions(name)]
    command = [
        *(sys.executable, "-m", "fuzz.guided", name),
        *(f"-{key}={value}" for key, value in options.items() if value is not None),
        *(str(folder) for folder in folders if folder.is_dir()),
    ]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, cwd=environment.ROOT, env=variables
    ) as process:
        assert process.stderr is not None
        told = bytearray()
        for line in process.stderr:
            told += line
            del told[:-65536]
            if given.verbose:
                print(line.decode(errors="replace"), end="", file=sys.stderr)
    done = _DONE.search(told)
    if process.returncode == 0 and done is not None:
        return int(done[1])
    print(told.decode(errors="replace")[-8192:], file=sys.stderr)
    _advise(name)
    return None


def _plain(name: str, given: argparse.Namespace) -> int | None:
    try:
        return mutation.run(name, runs=given.runs, seconds=given.seconds)
    except mutation.FoundError as error:
        print(f"{error.__cause__!r}\n{error}", file=sys.stderr)
        _advise(name)
        return None


def _advise(name: str) -> None:
    found = environment.FINDINGS / name
    kept = seeds.regressions(name).relative_to(environment.ROOT)
    print(
        f"inputs that broke something are in {found.relative_to(environment.ROOT)}; "
        f"keep what you fix in {kept}, under a name that says what it was",
        file=sys.stderr,
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("target", nargs="?", choices=targets.NAMES, metavar="TARGET")
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument("--runs", type=int, metavar="N", help="stop after so many inputs")
    limit.add_argument("--seconds", type=float, metavar="N", help="stop after so long")
    parser.add_argument("--corpus", metavar="DIR", help="where inputs that reach new code are kept")
    parser.add_argument("--engine", choices=("atheris", "mutation"), help="which one, or none")
    parser.add_argument("--record", action="store_true", help="add the run to docs/fuzzing.md")
    parser.add_argument("--verbose", action="store_true", help="show what libFuzzer says")
    given = parser.parse_args()
    if given.runs is None and given.seconds is None:
        given.seconds = DEFAULT_SECONDS
    return given


if __name__ == "__main__":
    sys.exit(main())
