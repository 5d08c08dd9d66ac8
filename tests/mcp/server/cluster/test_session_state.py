"""What two workers change of a session at the same time comes to one state."""

from __future__ import annotations

from msgspec.structs import replace

from accord.mcp.protocol.definitions import ClientCapabilities, Implementation
from accord.mcp.server.cluster.sessions import (
    SessionState,
    decode_state,
    encode_state,
    merge_states,
    restore_state,
    state_of,
)
from accord.mcp.server.session import Phase, Session

BASE = SessionState(
    phase=Phase.INITIALIZING,
    key="key",
    version="2025-11-25",
    client_info=Implementation(name="tests", version="1"),
    capabilities=ClientCapabilities(),
    log_level=None,
    subscriptions=frozenset({"a", "b"}),
)


def test_a_state_is_written_and_read() -> None:
    session = Session()
    restore_state(session, decode_state(encode_state(BASE)))
    assert state_of(session) == BASE


def test_subscriptions_of_both_count() -> None:
    ours = replace(BASE, subscriptions=frozenset({"a", "ours"}))
    theirs = replace(BASE, subscriptions=frozenset({"b", "theirs"}))
    assert merge_states(BASE, ours, theirs).subscriptions == {"ours", "theirs"}


def test_what_only_one_has_changed_counts() -> None:
    ready = replace(BASE, phase=Phase.READY)
    level = replace(BASE, log_level="debug")
    both = replace(BASE, phase=Phase.READY, log_level="debug")
    assert merge_states(BASE, ready, level) == merge_states(BASE, level, ready) == both
    assert merge_states(BASE, BASE, ready) == merge_states(BASE, ready, BASE) == ready


def test_the_later_level_counts() -> None:
    ours, theirs = replace(BASE, log_level="error"), replace(BASE, log_level="debug")
    assert merge_states(BASE, ours, theirs).log_level == "error"
