"""How a client shows an agent who it is. Secrets do not appear when these are printed."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct


class Bearer(Struct, frozen=True):
    """A token in the Authorization header."""

    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}

    def __repr__(self) -> str:
        return "Bearer(…)"


class ApiKey(Struct, frozen=True):
    """A key in a header of the agent's choice."""

    key: str
    header: str = "x-api-key"

    @property
    def headers(self) -> dict[str, str]:
        return {self.header.lower(): self.key}

    def __repr__(self) -> str:
        return f"ApiKey(…, header={self.header!r})"


Auth: TypeAlias = Bearer | ApiKey
