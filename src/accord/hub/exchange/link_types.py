"""Relation types of other tools, and the relationship types that mean the same here. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from msgspec import Struct

from accord.hub.domain.folding import fold

UNDIRECTED: Final = "relates_to"
"""The type of relations without an equivalent in the hub."""
SUFFIXES: Final = ("_relationship", "_relation", "_link", "_requirement", "_req")
SYNONYMS: Final[dict[str, tuple[str, bool]]] = {
    **dict.fromkeys(
        ("parent", "derive", "derives", "derived", "derived_from", "is_derived_from", "derivereq"),
        ("derives_from", False),
    ),
    **dict.fromkeys(("child", "source_of", "derives_to"), ("derives_from", True)),
    **dict.fromkeys(("refine", "refinement"), ("refines", False)),
    "refined_by": ("refines", True),
    **dict.fromkeys(("satisfy", "satisfaction"), ("satisfies", False)),
    "satisfied_by": ("satisfies", True),
    **dict.fromkeys(("verify", "verification"), ("verifies", False)),
    "verified_by": ("verifies", True),
    **dict.fromkeys(("depends", "depend", "dependency"), ("depends_on", False)),
    "block": ("blocks", False),
    "blocked_by": ("blocks", True),
    "duplicate": ("duplicates", False),
    **dict.fromkeys(("conflict", "conflicts"), ("conflicts_with", False)),
    **dict.fromkeys(("relates", "related", "related_to"), (UNDIRECTED, False)),
}
"""By the name in other tools: the type here, and whether source and target are swapped.

A `Parent` relation of StrictDoc goes from the child to the parent."""


class Meaning(Struct, frozen=True):
    """A relationship type, and whether source and target are swapped."""

    type: str
    is_reversed: bool = False


def meaning_of(name: str, types: Collection[str], inverses: Mapping[str, str]) -> Meaning | None:
    """Return the equivalent of a relation of another tool; None if there is none.

    `types` are the names of the hub's types, `inverses` their names from the other end.
    """
    key = fold(name).replace(" ", "_").replace("-", "_")
    while True:
        if key in types:
            return Meaning(key)
        if key in inverses:
            return Meaning(inverses[key], is_reversed=True)
        if key in SYNONYMS and SYNONYMS[key][0] in types:
            return Meaning(*SYNONYMS[key])
        suffix = next((each for each in SUFFIXES if key.endswith(each)), None)
        if suffix is None:
            return None
        key = key.removesuffix(suffix)
