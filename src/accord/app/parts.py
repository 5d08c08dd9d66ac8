"""The parts of the system that have tables, in the order in which they are made."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

PARTS: Final[dict[str, Traversable]] = {
    "operations": files("accord.operations") / "migrations",
    "hub": files("accord.hub") / "migrations",
    "workflows": files("accord.workflows") / "migrations",
}
"""Where the migrations of each are."""
