"""The pages of workflows: definitions, agents, runs as they happen, approvals, dead letters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from accord.web.pages.workflows import agents, definitions, editor, runs
from accord.web.request import Pages

PAGES: Final[Sequence[Pages]] = (
    agents.pages,
    definitions.pages,
    editor.pages,
    runs.pages,
)
