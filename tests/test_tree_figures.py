"""The figures of a source tree count what they name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.call_traces import CALLS, trace
from tools.tree_figures import PROJECT, Figures, measure

FILES = {
    "__init__.py": '"""A package."""\n',
    "a.py": '"""Where it begins."""\nfrom small.b import Told\n\nclass Name: ...\n\nX = 1\n',
    "b.py": '"""A module."""\n\n# A comment.\nclass Told:\n    """Told."""\n\ndef later():\n'
    "    from small import a\n    return a\n\nclass Name: ...\n",
}


@pytest.fixture
def figures(tmp_path: Path) -> Figures:
    for name, text in FILES.items():
        path = tmp_path / "src" / "small" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return measure(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("files", "3"),
        ("median lines of a file", "6"),
        ("most modules in a package", "2 (small)"),
        ("import cycles", "0"),
        ("import cycles with TYPE_CHECKING and functions", "1"),
        ("shared class names", "1"),
        ("classes with a shared name", "2"),
        ("participle classes", "1"),
        ("docstrings", "4"),
        ("docstrings opening with a wh-word", "1"),
        ("statements", "6"),
    ],
)
def test_each_figure_counts_what_it_names(figures: Figures, name: str, value: str) -> None:
    assert figures.values[name] == value


def test_lists_show_what_is_counted(figures: Figures) -> None:
    assert figures.lists["shared class names"] == ["Name: small.a, small.b"]
    assert figures.lists["participle classes"] == ["small.b: Told"]


def test_a_call_is_followed_through_the_files_that_it_runs_through() -> None:
    found = trace(CALLS[0], PROJECT)
    assert any(file.startswith("accord/transports/http/") for file in found.files)
    assert any(file.startswith("accord/mcp/server/") for file in found.files)
    assert len(found.files) <= found.changes + 1


CEILINGS = {
    "files above 600 lines": 0,
    "import cycles": 0,
    "import cycles with TYPE_CHECKING and functions": 0,
    "packages above 15 modules": 1,
}
PARTICIPLES = {
    # Public classes, and classes that signatures of public ones show.
    *("Changed", "Connecting", "Exposed", "Extracted", "Fixed", "Framed", "Incoming", "Known"),
    *("Listening", "Misplaced", "Mixed", "Numbered", "Reached", "Served", "Serving", "Tracing"),
    *("Unrecognized", "Watched", "_Blocking", "_Called", "_Timed"),
    # Terms of MCP and of WebSocket, nouns, and names in OpenAPI documents.
    *("Accepted", "Cancelled", "Declined", "Done", "Ping", "Run"),
}
SHARED = {
    # Public classes: each keeps its name in the package that publishes it.
    *("Binary", "Body", "Call", "Caller", "Client", "Context", "Entry", "Exchange", "Failure"),
    *("Link", "Message", "Operation", "Owner", "Page", "RefusedError", "Reply", "Request"),
    *("Response", "Sample", "Select", "Server", "State", "Task", "Token", "serve"),
    # A session of JSON-RPC, and one of MCP: both specifications say session.
    "Session",
}
MAX_WH_SHARE = 0.02
"""The share of docstrings that may open with a wh-word: texts of documents and schemas do."""


@pytest.fixture(scope="module")
def source_tree() -> Figures:
    return measure(PROJECT)


@pytest.mark.parametrize("name", CEILINGS)
def test_the_source_tree_stays_below_its_ceilings(source_tree: Figures, name: str) -> None:
    found = source_tree.lists[name]
    assert len(found) <= CEILINGS[name], "\n".join(found)


def test_no_package_has_more_than_twenty_modules(source_tree: Figures) -> None:
    most = source_tree.values["most modules in a package"]
    assert int(most.partition(" ")[0]) <= 20, most


@pytest.mark.parametrize(
    ("name", "allowed", "place"),
    [("participle classes", PARTICIPLES, 1), ("shared class names", SHARED, 0)],
)
def test_classes_have_names_of_their_own_that_are_nouns(
    source_tree: Figures, name: str, allowed: set[str], place: int
) -> None:
    assert {line.split(": ")[place] for line in source_tree.lists[name]} == allowed


def test_docstrings_open_with_the_noun(source_tree: Figures) -> None:
    found = source_tree.lists["docstrings opening with a wh-word"]
    every = int(source_tree.values["docstrings"].replace(",", ""))
    assert len(found) <= MAX_WH_SHARE * every, "\n".join(found)
