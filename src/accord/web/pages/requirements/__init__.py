"""The tree of requirements, bulk changes, import and export."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from accord.web.pages.requirements import bulk, exchange, tree
from accord.web.request import Pages

PAGES: Final[Sequence[Pages]] = (
    tree.pages,
    bulk.pages,
    exchange.pages,
)
