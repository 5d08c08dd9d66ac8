"""The pages of single items: reading, editing, facts, relationships, comments, history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from accord.web.pages.items import (
    deleting,
    detail,
    editing,
    fields,
    history,
    linking,
    linting,
    steering,
    talking,
)
from accord.web.routing import Pages

PAGES: Final[Sequence[Pages]] = (
    deleting.pages,
    detail.pages,
    editing.pages,
    fields.pages,
    history.pages,
    linking.pages,
    linting.pages,
    steering.pages,
    talking.pages,
)
