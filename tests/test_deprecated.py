"""Names that were published keep their old import paths for one release."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from accord import deprecated
from tools.tree_figures import PROJECT, read_modules

SOURCE = PROJECT / "src"

PUBLISHED = (Path(__file__).parent / "published_names.txt").read_text().split()
"""Every module and `module:name` that programs could import at commit 4943a8b."""

WITHDRAWN = frozenset(
    {
        # Parts of the head of a request, which accord.transports.http.request reads as one.
        "accord.transports.asgi.scope:asked_in",
        "accord.transports.http.admission:Asked",
        "accord.transports.http.heads:RequestHead",
        "accord.transports.http.heads:sift",
        "accord.transports.web.rules:WebHead",
        "accord.transports.web.rules:place_below",
    }
)
"""Names without a successor: no page, example or plugin ever used them."""


def test_every_published_name_can_be_imported_from_its_old_path() -> None:
    missing = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for entry in sorted(set(PUBLISHED) - WITHDRAWN):
            module, _, name = entry.partition(":")
            try:
                found = import_module(module)
            except ImportError:
                missing.append(entry)
                continue
            if name and not hasattr(found, name) and f"{module}.{name}" not in sys.modules:
                missing.append(entry)
    assert missing == []


def test_a_moved_name_is_the_new_one_and_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deprecated, "MOVED", {"accord.attic.peers": "accord.jsonrpc.runtime.peer"})
    monkeypatch.setattr(
        deprecated,
        "RENAMED",
        {"accord.attic.peers:Wire": "accord.jsonrpc.protocol.channel:Channel"},
    )
    for name in ("accord.attic", "accord.attic.peers"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    old = import_module("accord.attic.peers")
    with pytest.warns(
        DeprecationWarning, match=r"peers\.Peer is accord\.jsonrpc\.runtime\.peer\.Peer now"
    ):
        assert old.Peer is import_module("accord.jsonrpc.runtime.peer").Peer
    with pytest.warns(
        DeprecationWarning, match=r"peers\.Wire is accord\.jsonrpc\.protocol\.channel\.Channel"
    ):
        assert old.Wire is import_module("accord.jsonrpc.protocol.channel").Channel
    with pytest.warns(DeprecationWarning, match="Nothing"), pytest.raises(AttributeError):
        getattr(old, "Nothing")  # noqa: B009 - the access is what is tested
    assert "Peer" in dir(old)
    with pytest.raises(ModuleNotFoundError):
        import_module("accord.attic.nothing")
    for name in ("accord.attic", "accord.attic.peers"):
        sys.modules.pop(name, None)


def test_no_module_of_accord_uses_an_old_path() -> None:
    users = [
        f"{module.name}: {path}"
        for module in read_modules(SOURCE)
        if module.name != deprecated.__name__
        for path in imports_of(module.tree)
        if path in deprecated.MOVED
    ]
    assert users == []


def imports_of(tree: ast.Module) -> Iterator[str]:
    """Yield the dotted path of each module that may be imported somewhere in a syntax tree."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=str() as module, names=names):
                yield module
                yield from (f"{module}.{each.name}" for each in names)


@pytest.mark.parametrize(
    "line", ["import a.b as c", "from a.b import c", "from a import b", "def later(): import a.b"]
)
def test_every_form_of_import_is_found(line: str) -> None:
    assert "a.b" in imports_of(ast.parse(line))


def test_the_page_of_moved_modules_has_every_old_path_and_no_new_one_that_is_gone() -> None:
    page = (SOURCE.parent / "docs/operate/moved-modules.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w.]+)` \| (?:`([\w.]+)`|–) \| (✓?) *\|$", page, re.MULTILINE)
    assert rows
    assert {old: new for old, new, works in rows if works} == deprecated.MOVED
    today = {module.name for module in read_modules(SOURCE)}
    assert [new for _, new, _ in rows if new and new not in today] == []
