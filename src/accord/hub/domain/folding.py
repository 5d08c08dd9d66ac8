"""When two names are the same: letter case, spaces, and what only looks different do not count."""

from __future__ import annotations

import unicodedata


def fold(name: str) -> str:
    """The key by which a name is found, equal for names that look alike."""
    # Compatibility forms may hide in what casefolding gives, so that it is composed twice.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    visible = "".join(each for each in folded if unicodedata.category(each) != "Cf")
    return " ".join(visible.split())
