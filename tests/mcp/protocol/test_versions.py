"""The versions of the protocol and their order."""

from __future__ import annotations

import pytest

from accord.mcp.protocol.versions import VERSIONS, Era, era, negotiate


@pytest.mark.req("M-01")
@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2024-11-05", Era.HANDSHAKE),
        ("2025-11-25", Era.HANDSHAKE),
        ("2025-12-31", Era.STATELESS),
        ("2026-07-28", Era.STATELESS),
        ("2030-01-01", Era.STATELESS),
    ],
)
def test_what_is_newer_than_all_handshakes_is_stateless(version: str, expected: Era) -> None:
    assert era(version) is expected


@pytest.mark.req("M-03")
@pytest.mark.parametrize(
    ("requested", "answered"),
    [
        *((version, version) for version in VERSIONS[:-1]),
        ("2026-07-28", "2025-11-25"),
        ("1.0", "2025-11-25"),
        ("", "2025-11-25"),
    ],
)
def test_a_handshake_settles_on_what_both_know(requested: str, answered: str) -> None:
    assert negotiate(requested) == answered
