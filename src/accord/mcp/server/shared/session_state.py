"""What is kept of a session, as a value, and how changes by two workers become one."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from accord.mcp.protocol.capabilities import ClientCapabilities
from accord.mcp.protocol.definitions import Implementation
from accord.mcp.protocol.params import LogLevel
from accord.mcp.server.session import Phase, Session


class SessionState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of a session that any worker needs to serve it."""

    phase: Phase
    key: str
    version: str
    client_info: Implementation | None
    capabilities: ClientCapabilities
    log_level: LogLevel | None
    subscriptions: frozenset[str]


encode: Final = msgspec.json.Encoder().encode
decode: Final = msgspec.json.Decoder(SessionState).decode


def state_of(session: Session) -> SessionState:
    return SessionState(
        phase=session.phase,
        key=session.key,
        version=session.version,
        client_info=session.client_info,
        capabilities=session.capabilities,
        log_level=session.log_level,
        subscriptions=frozenset(session.subscriptions),
    )


def restore(session: Session, state: SessionState) -> None:
    """Set a session to `state`."""
    session.phase = state.phase
    session.key = state.key
    session.version = state.version
    session.client_info = state.client_info
    session.capabilities = state.capabilities
    session.log_level = state.log_level
    session.subscriptions = set(state.subscriptions)


def merge(base: SessionState, ours: SessionState, theirs: SessionState) -> SessionState:
    """Return the merged state of two concurrent changes of `base`, theirs first."""
    added = ours.subscriptions - base.subscriptions
    removed = base.subscriptions - ours.subscriptions
    return replace(
        theirs,
        phase=ours.phase if theirs.phase is base.phase else theirs.phase,
        log_level=theirs.log_level if ours.log_level == base.log_level else ours.log_level,
        subscriptions=(theirs.subscriptions | added) - removed,
    )
