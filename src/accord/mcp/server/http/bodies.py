"""What the body of a POST says, as far as it must be known before the request is served. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from accord.jsonrpc.msgspec_types import REFUSALS
from accord.mcp.protocol.headers import NAME_MEMBERS
from accord.mcp.protocol.meta import PROTOCOL_VERSION


class _Meta(Struct, gc=False):
    version: Raw | UnsetType = field(name=PROTOCOL_VERSION, default=UNSET)


class Mirrored(Struct, gc=False):
    """The members of params that headers repeat, or that show the era."""

    meta: _Meta | UnsetType = field(name="_meta", default=UNSET)
    name: Raw | UnsetType = UNSET
    uri: Raw | UnsetType = UNSET
    task_id: Raw | UnsetType = field(name="taskId", default=UNSET)
    arguments: Raw | UnsetType = UNSET

    @property
    def is_modern(self) -> bool:
        """True if the request states its version, as only the stateless era does."""
        return self.meta is not UNSET and self.meta.version is not UNSET

    @property
    def version(self) -> str | None:
        return None if self.meta is UNSET else _text(self.meta.version)

    def name_for(self, method: str) -> str | None:
        """Return the expected `Mcp-Name` for a request of `method`."""
        match NAME_MEMBERS.get(method):
            case "name":
                return _text(self.name)
            case "uri":
                return _text(self.uri)
            case "taskId":
                return _text(self.task_id)
            case _:
                return None


NOTHING_MIRRORED: Final = Mirrored()
_decode: Callable[[Any], Mirrored] = msgspec.json.Decoder(Mirrored).decode
_decode_text = msgspec.json.Decoder(str).decode


def mirrored(params: Any) -> Mirrored:
    """Return the mirrored members of params; none for malformed params.

    The error is reported later.
    """
    if params is UNSET:
        return NOTHING_MIRRORED
    try:
        return _decode(params)
    except REFUSALS:
        return NOTHING_MIRRORED


def _text(raw: Raw | UnsetType) -> str | None:
    if raw is UNSET:
        return None
    try:
        return _decode_text(raw)
    except REFUSALS:
        return None
