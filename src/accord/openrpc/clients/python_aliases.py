"""Aliases as Python source: what type checkers see of them, and what there is at run time."""

from __future__ import annotations

from accord.openrpc.clients.python_text import STEP, WIDTH, bracketed, docstring, paragraph, string
from accord.openrpc.clients.python_types import Alias


def alias_lines(alias: Alias) -> list[str]:
    """The statements that give a type its name."""
    doc = docstring([paragraph(alias.doc, "")], "")
    if not alias.deferred:
        return [*_shown(alias, ""), *doc]
    return ["if TYPE_CHECKING:", *_shown(alias, STEP), "else:", *_stand_in(alias), *doc]


def _stand_in(alias: Alias) -> list[str]:
    """What there is of an alias at run time: types that are looked up when they are needed."""
    members = [str(piece) for piece in alias.members]
    inside = ", ".join(members) + ("," if len(members) == 1 else "")
    one = f'{STEP}{alias.name} = either("{alias.name}", lambda: ({inside}))'
    if len(one) <= WIDTH:
        return [one]
    return [
        f"{STEP}{alias.name} = either(",
        f'{STEP * 2}"{alias.name}",',
        *bracketed(STEP * 2, "lambda: (", members, "),", lonely_comma=True),
        f"{STEP})",
    ]


def _shown(alias: Alias, indent: str) -> list[str]:
    """What type checkers see of an alias."""
    before = f"{indent}{alias.name}: TypeAlias = "
    members = [str(piece) for piece in alias.members]
    text = " | ".join(members)
    if alias.recursive:
        return _quoted(before, members, indent)
    if len(before) + len(text) <= WIDTH:
        return [before + text]
    if len(members) == 1:
        piece = alias.members[0]
        many = len(piece.arguments) > 1
        arguments = [f"{indent}{STEP}{each}{',' if many else ''}" for each in piece.arguments]
        return [f"{before}{piece.head}[", *arguments, f"{indent}]"]
    if len(indent) + len(STEP) + len(text) <= WIDTH:
        return [f"{before}(", f"{indent}{STEP}{text}", f"{indent})"]
    first, *others = members
    rows = [f"{indent}{STEP}{first}", *(f"{indent}{STEP}| {each}" for each in others)]
    return [f"{before}(", *rows, f"{indent})"]


def _quoted(before: str, members: list[str], indent: str) -> list[str]:
    """A type that refers to itself, or to what follows, is written as a string."""
    one = before + string(" | ".join(members))
    if len(one) <= WIDTH:
        return [one]
    joined = [*(f"{each} | " for each in members[:-1]), members[-1]]
    return [f"{before}(", *(f"{indent}{STEP}{string(each)}" for each in joined), f"{indent})"]
