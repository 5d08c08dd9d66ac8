"""Results as a client of each era expects them."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Raw
from msgspec.structs import replace

from accord.jsonrpc.codec import encode
from accord.mcp.protocol.codes import Profile
from accord.mcp.protocol.definitions import Implementation
from accord.mcp.protocol.meta import SERVER_INFO
from accord.mcp.protocol.results import COMPLETE, Result
from accord.mcp.protocol.versioned import result_in
from accord.mcp.protocol.versions import Era
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.result_size import too_large

_COMPLETE: Final = b'"resultType":"complete",'


class Replies:
    """The encoder of one server's results."""

    def __init__(
        self,
        info: Implementation,
        *,
        max_bytes: int | None = None,
        profile: Profile = "standard",
    ) -> None:
        self._info = info
        self._max_bytes = max_bytes
        self._profile: Profile = profile
        self._meta = b'"_meta":{"%b":%b}' % (SERVER_INFO.encode(), encode(info))
        self._start = b"{" + _COMPLETE + self._meta
        self._more = self._start + b","

    def finish(self, result: Result, incoming: Incoming) -> Any:
        """Return the encoded result of this request.

        Raises RpcError if it is too large.
        """
        if incoming.unfinished:
            return result
        is_usual = incoming.era is Era.STATELESS and result.result_type is COMPLETE
        if not is_usual:
            result = result_in(incoming.version, result)
        body = encode(result)
        most = self._max_bytes
        if most is not None and len(body) > most:
            result = too_large(result, len(body), most, incoming, self._profile)
            body = encode(result)
        if is_usual and result.meta is None and body != b"{}":
            return Raw(self._more + body[1:])  # as `_stateless` does
        return Raw(body if incoming.era is Era.HANDSHAKE else self._stateless(result, body))

    def _stateless(self, result: Result, body: bytes) -> bytes:
        """Return a result with its type and its server (2026-07-28, overview)."""
        is_complete = result.result_type == COMPLETE
        if result.meta is not None:
            body = encode(replace(result, meta={SERVER_INFO: self._info, **result.meta}))
            return b"{" + (_COMPLETE if is_complete else b"") + body[1:]
        if is_complete and body != b"{}":
            return self._more + body[1:]
        start = self._start if is_complete else b"{" + self._meta
        return start + (b"}" if body == b"{}" else b"," + body[1:])

    def finish_list(self, body: bytes) -> bytes:
        """Finish an encoded object with members in the same way."""
        return self._more + body[1:]
