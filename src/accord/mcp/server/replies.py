"""Results as a client of each era expects them."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Raw
from msgspec.structs import replace

from accord.jsonrpc.codec import encode
from accord.mcp.protocol.codes import Profile
from accord.mcp.protocol.definitions import Implementation
from accord.mcp.protocol.meta import SERVER_INFO
from accord.mcp.protocol.results import Result
from accord.mcp.protocol.versioned import result_in
from accord.mcp.protocol.versions import Era
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.result_size import size_of, too_large

_COMPLETE: Final = b'"resultType":"complete",'


class Replies:
    """Finishes the results of one server."""

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

    def finish(self, result: Result, incoming: Incoming) -> Any:
        """What is sent as the result of this request. Raises RpcError if it is too large."""
        if incoming.unfinished:
            return result
        most = self._max_bytes
        if most is not None and (size := size_of(result)) > most:
            result = too_large(result, size, most, incoming, self._profile)
        result = result_in(incoming.version, result)
        return result if incoming.era is Era.HANDSHAKE else Raw(self.stateless(result))

    def stateless(self, result: Result) -> bytes:
        """A result that tells its type and its server (2026-07-28, overview)."""
        if result.meta is not None:
            result = replace(result, meta={SERVER_INFO: self._info, **result.meta})
            body = encode(result)
            return b"{" + (_COMPLETE if result.result_type == "complete" else b"") + body[1:]
        body = encode(result)
        start = self._start if result.result_type == "complete" else b"{" + self._meta
        return start + (b"}" if body == b"{}" else b"," + body[1:])

    def finish_list(self, body: bytes) -> bytes:
        """An encoded object with members, finished in the same way."""
        return self._start + b"," + body[1:]
