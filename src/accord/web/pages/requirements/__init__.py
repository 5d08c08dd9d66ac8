"""The tree of epics, stories, criteria and requirements, and what is done with many of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from accord.web.pages.requirements import changing, creating, exchanging, tree
from accord.web.routing import Pages

PAGES: Final[Sequence[Pages]] = (
    tree.pages,
    changing.pages,
    creating.pages,
    exchanging.pages,
)
