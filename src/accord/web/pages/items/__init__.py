"""The pages of single items: reading, editing, facts, relationships, comments, history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from accord.web.pages.items import comments, detail, editing, relationships
from accord.web.request import Pages

PAGES: Final[Sequence[Pages]] = (
    editing.pages,
    detail.pages,
    relationships.pages,
    comments.pages,
)
