"""Messages: what client and agent say to each other."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from accord.a2a.protocol.parts import Part, TextPart

Role: TypeAlias = Literal["user", "agent"]


class Message(Struct, frozen=True, kw_only=True):
    """One turn of a conversation."""

    message_id: str
    role: Role
    parts: tuple[Part, ...]
    context_id: str = ""
    task_id: str = ""
    metadata: dict[str, Any] = {}
    extensions: tuple[str, ...] = ()
    reference_task_ids: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text of all text parts, a line each."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))
