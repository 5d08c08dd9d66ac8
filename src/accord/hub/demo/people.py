"""Who works on the sample project. None of them can sign in."""

from __future__ import annotations

from typing import Final

from accord.operations.rights import Role

PEOPLE: Final[dict[str, Role]] = {
    "mara": "User",
    "jonas": "User",
    "aylin": "User",
    "pieter": "User",
    "ines": "User",
    "sven": "Commenter",
}
OWNER: Final = "mara"
"""The creator of everything that has no creator of its own."""
COLOURS: Final = {
    "accessibility": "#7c3aed",
    "crew": "#0e7490",
    "harbour": "#1d4ed8",
    "offline": "#b45309",
    "payments": "#15803d",
    "privacy": "#be185d",
    "reporting": "#4b5563",
    "safety": "#b91c1c",
}
"""By label."""
