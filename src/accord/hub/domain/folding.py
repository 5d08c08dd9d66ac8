"""When two names are the same: letter case, spaces, and what only looks different do not count."""

from __future__ import annotations

import unicodedata


def fold(name: str) -> str:
    """Return the lookup key of a name: equal for names that look alike.

    Letter case, spaces and invisible characters do not count.
    """
    # Casefolding may produce new compatibility forms, so normalize before and after it.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    visible = "".join(each for each in folded if unicodedata.category(each) != "Cf")
    return " ".join(visible.split())
