"""No module of the foundation escapes the decision whether it is pure."""

from __future__ import annotations

from tests.purity import ROOT, pure_files

DRIVING = {
    "__init__.py",
    "call.py",
    "dispatcher.py",
    "endpoint.py",
    "outgoing_batch.py",
    "peer.py",
    "threads.py",
}
"""The modules of `accord.jsonrpc` that drive the pure ones: they have a loop, a clock, a log."""


def test_every_module_of_jsonrpc_is_listed_as_pure_or_known_to_drive() -> None:
    folder = ROOT / "src" / "accord" / "jsonrpc"
    modules = {file for file in folder.rglob("*.py") if file.name not in DRIVING}
    assert modules == set(pure_files())
