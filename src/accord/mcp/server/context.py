"""What a handler can know and do while it serves a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any

from msgspec import UNSET

from accord.mcp.protocol.capabilities import ClientCapabilities
from accord.mcp.protocol.definitions import Implementation
from accord.mcp.protocol.params import LogLevel, LogParams, ProgressParams
from accord.mcp.protocol.versions import Era
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.log_levels import is_wanted
from accord.mcp.server.principal import Principal


class Done:
    """Something that has been done already; awaiting it costs nothing."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield


DONE = Done()


class Context:
    """One request being served. A handler gets it by annotating a parameter with `Context`.

    What sends something (`progress`, `log`) has done so when it returns; awaiting it is
    possible and needless.
    """

    __slots__ = ("_incoming", "_progress", "lifespan")

    def __init__(self, incoming: Incoming, lifespan: Any) -> None:
        self._incoming = incoming
        self._progress = float("-inf")
        self.lifespan = lifespan
        """What the server's lifespan gave."""

    @property
    def version(self) -> str:
        """The version of the protocol that this request follows."""
        return self._incoming.version

    @property
    def client(self) -> Implementation | None:
        """The client's name and version, as it says."""
        return self._incoming.client_info

    @property
    def client_capabilities(self) -> ClientCapabilities:
        return self._incoming.capabilities

    @property
    def principal(self) -> Principal | None:
        """On whose behalf the client calls."""
        return self._incoming.link.principal

    def in_thread(self, function: Callable[[], Any]) -> Awaitable[Any]:
        """Run what blocks: `await context.in_thread(partial(read, path))`."""
        return self._incoming.context.in_thread(function)

    def progress(self, progress: float, total: float | None = None, message: str = "") -> Done:
        """Tell the client how far this request is, if it wants to know.

        Progress only grows: a value that is not above the last one is not sent.
        """
        token = self._incoming.meta.progress_token
        if token is not UNSET and progress > self._progress:
            self._progress = progress
            params = ProgressParams(
                progress_token=token, progress=progress, total=total, message=message
            )
            self._incoming.link.notify("notifications/progress", params)
        return DONE

    def log(self, level: LogLevel, data: Any, *, logger: str = "") -> Done:
        """Send the client a log message, if it wants messages of this level."""
        incoming = self._incoming
        if incoming.era is Era.STATELESS:
            least = incoming.meta.log_level
            wanted = least is not UNSET and is_wanted(level, least)
        else:
            session = incoming.link.session
            wanted = session is not None and is_wanted(level, session.log_level or "debug")
        if wanted:
            params = LogParams(level=level, data=data, logger=logger)
            incoming.link.notify("notifications/message", params)
        return DONE

    def close_stream(self) -> None:
        """Let go of the HTTP connection that waits for the answer: the client comes back for
        it. Saves a connection while something takes long; does nothing where that cannot be."""
        self._incoming.link.close_stream()

    def debug(self, data: Any) -> Done:
        return self.log("debug", data)

    def info(self, data: Any) -> Done:
        return self.log("info", data)

    def warning(self, data: Any) -> Done:
        return self.log("warning", data)

    def error(self, data: Any) -> Done:
        return self.log("error", data)
