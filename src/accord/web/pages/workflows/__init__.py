"""The pages of workflows: definitions, agents, runs as they happen, approvals, dead letters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from accord.web.pages.workflows import (
    agents,
    approvals,
    dead_letters,
    definitions,
    editor,
    run,
    run_acts,
    runs,
)
from accord.web.routing import Pages

PAGES: Final[Sequence[Pages]] = (
    agents.pages,
    approvals.pages,
    dead_letters.pages,
    definitions.pages,
    editor.pages,
    run.pages,
    run_acts.pages,
    runs.pages,
)
