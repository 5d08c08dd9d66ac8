"""The coverage-guided engine, as a program: `python -m fuzz.guided TARGET ARGUMENTS…`.

Runs in an environment with Atheris, which instruments what the target imports. The arguments
are libFuzzer's, which ends the process by itself.
"""

from __future__ import annotations

import logging
import sys

import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]

from fuzz import targets


def main() -> None:
    name, arguments = sys.argv[1], sys.argv[2:]
    logging.disable()  # a failing handler is logged, which is right and not of interest here
    with atheris.instrument_imports(include=["accord"]):
        opened = targets.load(name)
    with opened as check:
        atheris.Setup([sys.argv[0], *arguments], check)
        atheris.Fuzz()


main()
