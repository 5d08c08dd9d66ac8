"""The values of flags, and the flags that are made from the structs of limits."""

from __future__ import annotations

import argparse
import ast
import inspect
from collections.abc import Callable
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any, Final

from msgspec.structs import FieldInfo, fields

from accord.cli.exits import UsageError
from accord.jsonrpc.limits import Limits, ServerLimits

_GROUPS: Final[dict[str, type[Limits] | type[ServerLimits]]] = {
    "limits of each connection": Limits,
    "limits of the server": ServerLimits,
}


def duration(text: str) -> float | None:
    """Seconds above zero, None for `none`."""
    return None if text == "none" else seconds(text, "a number of seconds above 0, or none")


def seconds(text: str, wanted: str = "a number of seconds above 0") -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not isfinite(number) or number <= 0:
        raise argparse.ArgumentTypeError(f"must be {wanted}, not {text!r}")
    return number


def count(text: str, wanted: str = "a number, 0 or more") -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"must be {wanted}, not {text!r}")
    return number


def size(text: str) -> int | None:
    """A number, None for `unlimited` or 0."""
    return None if text == "unlimited" else count(text, "a number, or unlimited") or None


def add_web_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that tell how to be let in by a server, and whom to trust."""
    add = parser.add_argument
    add(
        "--header",
        metavar="'NAME: VALUE'",
        action="append",
        default=[],
        help="send this header (ws, wss, http, https); can be repeated",
    )
    add("--ca", metavar="FILE", type=Path, help="trust the certificates in this file")
    add("--insecure", action="store_true", help="trust any certificate")


def header(text: str) -> tuple[str, str]:
    """The name and the value of a header. Raises `UsageError`."""
    name, colon, content = text.partition(":")
    if not colon or not name.strip():
        raise UsageError(f"--header {text!r} is not of the form 'Name: value'")
    return name.strip(), content.strip()


_READERS: Final[dict[object, tuple[Callable[[str], Any], str]]] = {
    int: (count, "N"),
    int | None: (size, "N"),
    float: (seconds, "SECONDS"),
    float | None: (duration, "SECONDS"),
}


def add_limit_flags(parser: argparse.ArgumentParser) -> None:
    """One flag per field of `Limits` and `ServerLimits`, explained by its docstring."""
    for title, struct in _GROUPS.items():
        group = parser.add_argument_group(title)
        explained = _docstrings(struct)
        for field in fields(struct):
            read, metavar = _READERS[field.type]
            group.add_argument(
                f"--{field.name.replace('_', '-')}",
                type=read,
                metavar=metavar,
                default=argparse.SUPPRESS,
                help=_help(explained[field.name], field),
            )


def limits_from(arguments: argparse.Namespace) -> tuple[Limits, ServerLimits]:
    """The limits that were asked for, defaults elsewhere."""
    given = vars(arguments)
    connection, server = (
        struct(**{field.name: given[field.name] for field in fields(struct) if field.name in given})
        for struct in (Limits, ServerLimits)
    )
    assert isinstance(connection, Limits)
    assert isinstance(server, ServerLimits)
    return connection, server


def _help(explanation: str, field: FieldInfo) -> str:
    default = f"{field.default:g}" if isinstance(field.default, float) else f"{field.default:,}"
    unlimited = {int | None: "; or unlimited", float | None: "; or none"}.get(field.type, "")
    return f"{explanation.rstrip('.')} (default: {default}{unlimited})".replace("%", "%%")


def _docstrings(struct: type) -> dict[str, str]:
    """What the docstrings below the fields of a struct say, by field."""
    [definition] = ast.parse(inspect.getsource(struct)).body
    assert isinstance(definition, ast.ClassDef)
    explained: dict[str, str] = {}
    for field, below in pairwise(definition.body):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                explained[name] = " ".join(text.split())
    return explained
