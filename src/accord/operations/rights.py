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
    "read",
    "comment",
    "write",
    "propose",
    "delete",
    "run",
    "approve",
    "admin",
    "accounts",
    "session",
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
    """What a token needs; None for what no token and no workflow run can do, only somebody who
    signed in."""


RULES: Final[dict[Right, Rule]] = {
    "read": Rule(_EVERYBODY, "read"),
    "comment": Rule(_EVERYBODY, "comment"),
    "write": Rule(_WRITERS, "write"),
    "propose": Rule(_WRITERS, "propose"),
    "delete": Rule(_WRITERS, "write"),
    "run": Rule(_WRITERS, "run"),
    "approve": Rule(_WRITERS, "approve"),
    "admin": Rule(_ADMINISTRATORS, "admin"),
    # Whoever sets passwords and roles can have every scope: that takes a login session.
    "accounts": Rule(_ADMINISTRATORS, None),
    "session": Rule(_EVERYBODY, None),
}

IN_PERSON: Final = frozenset[Right](right for right, rule in RULES.items() if rule.scope is None)
"""Rights that no token has."""

ASSISTANT_SCOPES: Final = frozenset[Scope]({"read", "propose"})
"""Of a token for a program that is not trusted to change things by itself."""


def default_scopes(role: Role) -> frozenset[Scope]:
    """What a token has whose maker named none: all that the role allows, but for `approve`, which
    is given on purpose only."""
    return frozenset(
        rule.scope
        for rule in RULES.values()
        if role in rule.roles and rule.scope is not None and rule.scope != "approve"
    )
