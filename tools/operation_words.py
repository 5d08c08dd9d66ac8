"""What pages of several protocols say of an operation in the same words. Pure."""

from __future__ import annotations

from accord.operations.context import ROLES, RULES, SCOPES, Rule
from accord.operations.operation import Operation

WRITES = """\
What changes something takes two fields more: `dry_run` only says what would change, and a second
call with the same `idempotency_key` does nothing and is answered as the first was. They are left
out below. Names in **bold** are required.
"""


def needs(operation: Operation) -> str:
    """Who may do it."""
    rule = RULES[operation.right]
    if rule.scope is None:
        return "Only for somebody who signed in, not for tokens."
    return f"Needs the scope `{rule.scope}`{_roles(rule)}."


def scopes() -> str:
    """All scopes, and whose tokens can have them."""
    rows = [(scope, [each for each in RULES.values() if each.scope == scope]) for scope in SCOPES]
    lines = [f"| `{scope}` | {', '.join(_allowed(rules))} |\n" for scope, rules in rows]
    return "| scope | roles |\n|---|---|\n" + "".join(lines)


def heading(tag: str) -> str:
    """A tag of the documents, as people write it."""
    return tag.replace("_", " ").capitalize()


def _roles(rule: Rule) -> str:
    if len(rule.roles) == len(ROLES):
        return ""
    return f" and the role {' or '.join(each for each in ROLES if each in rule.roles)}"


def _allowed(rules: list[Rule]) -> list[str]:
    return [role for role in ROLES if any(role in rule.roles for rule in rules)]
