"""A router that answers with what it is given."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from accord import Router


class Echo(Router):
    """A router whose methods answer with the first of their params, and note what arrived."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.seen: list[Any] = []
        for name in names:
            self.add(self._answer, name)

    def _answer(self, *args: Raw, **kwargs: Raw) -> Raw | None:
        params: Any = kwargs or list(args)
        self.seen.append(msgspec.json.decode(msgspec.json.encode(params)))
        return next(iter(args or kwargs.values()), None)
