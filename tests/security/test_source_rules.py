"""What the source of the package must not have in it, whoever writes it."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "accord"

JITTER = {
    "mcp/client/subscriptions.py",
    "transports/reconnect.py",
    "workflows/bridge/outcomes.py",
}
"""Where numbers are random so that not all come back at the same time, and nobody may guess them."""
BY_STANDARD = {
    "a2a/protocol/model.py": "sha1",
    "operations/ratelimit/redis.py": "sha1",
    "transports/websocket/handshake.py": "sha1",
}
"""Hashes that a standard or a protocol names, and that protect nothing: UUIDs of version 5, the
name of a script in Redis, the handshake of WebSocket."""


@cache
def modules() -> dict[str, ast.Module]:
    return {
        str(path.relative_to(SOURCE)): ast.parse(path.read_bytes()) for path in SOURCE.rglob("*.py")
    }


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def called(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            yield (
                function.attr
                if isinstance(function, ast.Attribute)
                else getattr(function, "id", ""),
                node,
            )


def test_tokens_and_keys_are_made_by_known_libraries() -> None:
    random = {name for name, tree in modules().items() if "random" in imported(tree)}
    assert random == JITTER
    weak = {
        name: what
        for name, tree in modules().items()
        for what, _ in called(tree)
        if what in ("md5", "sha1", "md4", "crypt")
    }
    assert weak == BY_STANDARD


def test_nothing_is_read_that_could_run_code() -> None:
    banned = {"pickle", "marshal", "shelve", "dill", "xml.etree.ElementTree", "xml.dom.minidom"}
    found = {name: banned & set(imported(tree)) for name, tree in modules().items()}
    assert {name: each for name, each in found.items() if each} == {}
    by_name = {
        (name, what)
        for name, tree in modules().items()
        for what, node in called(tree)
        if what in ("eval", "exec", "compile") and isinstance(node.func, ast.Name)
    }
    assert by_name == set()


def test_no_program_is_started_by_a_shell() -> None:
    shells = {
        name
        for name, tree in modules().items()
        for what, node in called(tree)
        if what in ("popen", "create_subprocess_shell")
        or (what == "system" and ast.unparse(node.func) == "os.system")
        or any(each.arg == "shell" for each in node.keywords)
    }
    assert shells == set()


def test_what_is_installed_has_no_tests() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["src/accord"]
    assert [name for name in modules() if "test" in Path(name).parts or "/test_" in name] == []
