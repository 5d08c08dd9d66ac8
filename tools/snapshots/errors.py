"""Every error that programs may look at: its code, its name and its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator

from accord.a2a.protocol.errors import ERROR_KINDS
from accord.jsonrpc.protocol.catalogue import BUILT_IN, CATALOGUE, Entry
from accord.mcp.protocol.messages import CASES
from accord.operations.errors import KINDS
from tools.snapshots import source

_CODE = re.compile(r"[a-z][a-z_]+")
_WITH_CODE = ("Failure", "Failed", "Error", "stop", "Letter")


def errors() -> str:
    """All of them, by the protocol that they belong to."""
    sections = {
        "JSON-RPC: code, name and aliases, category, severity, message": map(_entry, BUILT_IN),
        "MCP: reason, code in the handshake era, the stateless era, the extended profile, status": (
            f"{name} {each.handshake} {each.stateless} {each.extended} {each.status}"
            for name, each in sorted(CASES.items())
        ),
        "Operations: kind, status of HTTP, code of JSON-RPC, title": (
            f"{kind.code} {kind.status} {kind.rpc} {kind.title}" for kind in KINDS.values()
        ),
        "A2A: code, reason, message": (
            f"{each.code} {each.reason} {each.message}" for each in ERROR_KINDS.values()
        ),
        "Workflows: codes of failures": sorted(set(_failures())),
    }
    return "\n".join(
        f"{title}\n" + "".join(f"  {line}\n" for line in lines) for title, lines in sections.items()
    )


def _entry(entry: Entry) -> str:
    names = "|".join((entry.name, *CATALOGUE.aliases(entry)))
    return f"{entry.code} {names} {entry.category} {entry.severity} {entry.message}"


def _failures() -> Iterator[str]:
    for name, call in source.calls("workflows"):
        if not name.endswith(_WITH_CODE) or name == "InvalidError":  # which names a field
            continue
        named = [each.value for each in call.keywords if each.arg == "code"]
        for given in (*call.args[:1], *named):
            code = source.text(given)
            if code is not None and _CODE.fullmatch(code):
                yield code
