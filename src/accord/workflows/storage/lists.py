"""Lists as one parameter of a statement: JSON on both engines, so that there is one statement for
lists of any length."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import json

from accord.store.store import Engine

IN_TEXTS: Final[dict[Engine, str]] = {
    "sqlite": "IN (SELECT value FROM json_each({}))",
    "postgresql": "= ANY (ARRAY(SELECT json_array_elements_text({}::json)))",
}
"""SQL to be filled with the name of a parameter: is one of these texts."""
IN_NUMBERS: Final[dict[Engine, str]] = {
    "sqlite": "IN (SELECT value FROM json_each({}))",
    "postgresql": "= ANY (ARRAY(SELECT json_array_elements_text({}::json)::bigint))",
}
"""The same for whole numbers."""


def as_parameter(values: Iterable[str] | Iterable[int]) -> str:
    """What the parameter is given."""
    return json.encode(list(values)).decode()
