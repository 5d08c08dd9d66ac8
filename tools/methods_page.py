"""docs/reference/methods.md: every method over JSON-RPC, from the OpenRPC document."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from accord.app.system import RPC
from accord.operations.operation import Operation
from tools.described import Described
from tools.operation_words import WRITES, heading, needs
from tools.schema_words import OF_EVERY_WRITE, PREVIEW, field, table, words

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "methods.md"
UNTAGGED = "the service itself"

OPENING = f"""\
# JSON-RPC methods

<!-- Generated from the OpenRPC document by `make docs`. -->

Every method of the hub and of workflows, at `{RPC}`. Params are given by name. A server gives the
same as an OpenRPC document at `{RPC}/openrpc.json` and as the answer to `rpc.discover`, and shows
it at `{RPC}/explore`, to read and to try.

{WRITES}A `dry_run` gives {PREVIEW}.

## Errors

What a method may answer instead of its result; `data.reason` names it for programs. All codes are
in [Error codes](../errors.md).

"""


def render(described: Described) -> str:
    """The whole page."""
    methods = described.openrpc["methods"]
    tags = sorted({_tag(each) for each in methods})
    return (
        OPENING
        + _errors(described.openrpc["components"]["errors"])
        + "".join(
            f"## {heading(tag)}\n\n"
            + "".join(_section(each, described.operations) for each in methods if _tag(each) == tag)
            for tag in tags
        )
    ).rstrip() + "\n"


def _tag(method: Mapping[str, Any]) -> str:
    tags = method.get("tags", ())
    return str(tags[0]["name"]) if tags else UNTAGGED


def _errors(errors: Mapping[str, Any]) -> str:
    rows = [
        (str(each["code"]), f"`{each['data']['reason']}`", each["message"])
        for each in errors.values()
    ]
    return table(("code", "reason", "what it says"), sorted(rows))


def _section(method: Mapping[str, Any], operations: Mapping[str, Operation]) -> str:
    operation = operations.get(method["name"])
    right = f" {needs(operation)}" if operation else ""
    rows = [
        field(
            each["name"],
            each["schema"],
            required=each.get("required", False),
            about=each.get("description", ""),
        )
        for each in method["params"]
        if each["name"] not in OF_EVERY_WRITE
    ]
    gives = words(method["result"]["schema"]).removesuffix(f" or {PREVIEW}")
    return (
        f"### {method['name']}\n\n"
        f"{method.get('description') or method['summary']}{right}\n\n"
        + table(("param", "what it is", ""), rows)
        + f"Gives {gives}.\n\n"
    )
