"""Who may do what, as a table. Pure.

Effective right is role and scope: a token does what its owner may do, and of that what its scopes
name. What only the owner of a thing may do is asked by the operation that knows whose it is.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

Role: TypeAlias = Literal["Administrator", "User", "Commenter"]
Scope: TypeAlias = Literal["read", "comment", "write", "propose", "run", "approve", "admin"]
Right: TypeAlias = Literal[
    "read", "comment", "write", "propose", "delete", "run", "approve", "admin", "session"
]

ROLES: Final[tuple[Role, ...]] = ("Administrator", "User", "Commenter")
SCOPES: Final[tuple[Scope, ...]] = (
    *("read", "comment", "write", "propose", "run", "approve", "admin"),
)

_EVERYBODY: Final = frozenset(ROLES)
_WRITERS: Final = frozenset[Role]({"Administrator", "User"})
_ADMINISTRATORS: Final = frozenset[Role]({"Administrator"})


class Rule(Struct, frozen=True):
    """What one right needs."""

    roles: frozenset[Role]
    scope: Scope | None
    """What a token needs; None for what no token can do, only somebody who signed in."""


RULES: Final[dict[Right, Rule]] = {
    "read": Rule(_EVERYBODY, "read"),
    "comment": Rule(_EVERYBODY, "comment"),
    "write": Rule(_WRITERS, "write"),
    "propose": Rule(_WRITERS, "propose"),
    "delete": Rule(_WRITERS, "write"),
    "run": Rule(_WRITERS, "run"),
    "approve": Rule(_WRITERS, "approve"),
    "admin": Rule(_ADMINISTRATORS, "admin"),
    "session": Rule(_EVERYBODY, None),
}


def default_scopes(role: Role) -> frozenset[Scope]:
    """What a token has whose maker named none: all that the role allows, but for `approve`, which
    is given on purpose only."""
    return frozenset(
        rule.scope
        for rule in RULES.values()
        if role in rule.roles and rule.scope is not None and rule.scope != "approve"
    )
