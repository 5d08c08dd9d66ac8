"""The versions of the protocol, and their two eras.

In the handshake era a session begins with `initialize` and both ends may send requests. In
the stateless era every request carries its version and the client's capabilities, and only
clients send requests. Versions are dates, so that their order as text is their order in time.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class Era(Enum):
    """One of the two eras of the protocol, with the rules that its versions share."""

    HANDSHAKE = "handshake"
    STATELESS = "stateless"


V2024_11_05: Final = "2024-11-05"
V2025_03_26: Final = "2025-03-26"
V2025_06_18: Final = "2025-06-18"
V2025_11_25: Final = "2025-11-25"
V2026_07_28: Final = "2026-07-28"

HANDSHAKE_VERSIONS: Final = (V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25)
STATELESS_VERSIONS: Final = (V2026_07_28,)
VERSIONS: Final = HANDSHAKE_VERSIONS + STATELESS_VERSIONS
"""All supported versions, oldest first."""

LATEST_HANDSHAKE: Final = HANDSHAKE_VERSIONS[-1]
LATEST: Final = VERSIONS[-1]


def era(version: str) -> Era:
    """Return the era of a version, which need not be a supported version.

    Versions newer than all handshake versions are stateless.
    """
    return Era.STATELESS if version > LATEST_HANDSHAKE else Era.HANDSHAKE


def negotiate(requested: str) -> str:
    """Return the version with which a server answers `initialize`.

    2025-11-25, lifecycle: it is the requested version if that is supported, else another supported
    version, which should be the latest. `initialize` cannot negotiate a stateless version.
    """
    return requested if requested in HANDSHAKE_VERSIONS else LATEST_HANDSHAKE
