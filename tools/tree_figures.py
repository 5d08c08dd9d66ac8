"""Print figures of the source tree of any commit: sizes, names, cycles, docstrings, traces.

    python -m tools.tree_figures                    the working tree
    python -m tools.tree_figures 4943a8b HEAD       two commits, side by side
    python -m tools.tree_figures --traces HEAD      also follow three calls through the code

`--list NAME` prints what one figure counts, for example `--list "participle classes"`.
"""

from __future__ import annotations

import argparse
import ast
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Final

from msgspec import Struct

from tools.call_traces import CALLS, trace

PROJECT: Final = Path(__file__).parents[1]
MAX_LINES: Final = 600
WH_WORDS: Final = re.compile(r"\W*(what|who|whose|whom|whether|where|how|which)\b", re.IGNORECASE)
PARTICIPLE: Final = re.compile(
    r"[A-Z][a-z]*(?:ed|ing)$|(?:Told|Given|Held|Taken|Kept|Found|Known|Made|Sent|Done|Begun|Said|Seen|Shown"
    r"|Heard|Left|Lost|Met|Read|Put|Set|Built|Bound|Brought|Chosen|Drawn|Driven|Gone|Laid|Run|Spent|Split"
    r"|Spoken|Stood|Thrown|Understood|Written|Proven|Meant|Paid|Won|Lent|Cut|Hidden|Undone)$"
)


class Module(Struct, frozen=True):
    """A source file and its syntax tree."""

    name: str
    lines: int
    comments: int
    tree: ast.Module
    is_package: bool


class Figures(Struct, frozen=True):
    """The figures of a tree by name, and what each of them counts."""

    values: dict[str, str]
    lists: dict[str, list[str]]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("commits", nargs="*", help="commits; without any, the working tree")
    parser.add_argument("--traces", action="store_true", help="follow three calls; takes a minute")
    parser.add_argument("--list", metavar="NAME", help="print what this figure counts")
    options = parser.parse_args()
    columns: dict[str, Figures] = {}
    for commit in options.commits or [""]:
        with commit_source(commit) as root:
            columns[commit or "working tree"] = measure(root, traces=options.traces)
    if options.list:
        for title, figures in columns.items():
            if options.list not in figures.lists:
                print(f"no such list; there are: {', '.join(figures.lists)}", file=sys.stderr)
                return 2
            print(f"{title}:", *figures.lists[options.list], sep="\n  ")
        return 0
    print(_table(columns))
    return 0


def measure(root: Path, *, traces: bool = False) -> Figures:
    """Return the figures of the package below `root`/src."""
    modules = list(read_modules(root / "src"))
    files = [module for module in modules if not module.is_package]
    sizes = [module.lines for module in modules]
    per_package = Counter(module.name.rpartition(".")[0] for module in files)
    classes = _public_classes(modules)
    shared = sorted(name for name, places in classes.items() if len(places) > 1)
    participles = [
        f"{module.name}: {node.name}"
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and PARTICIPLE.match(node.name.lstrip("_"))
    ]
    docstrings = [text for module in modules for text in _docstrings(module.tree)]
    wh_docstrings = [text for text in docstrings if WH_WORDS.match(text)]
    run_time = cycles(import_graph(modules, every=False))
    every = cycles(import_graph(modules, every=True))
    large = sorted(f"{m.name} {m.lines}" for m in modules if m.lines > MAX_LINES)
    full = sorted(f"{name} {count}" for name, count in per_package.items() if count > 15)
    lists = {
        f"files above {MAX_LINES} lines": large,
        "packages above 15 modules": full,
        "import cycles": [", ".join(cycle) for cycle in run_time],
        "import cycles with TYPE_CHECKING and functions": [", ".join(cycle) for cycle in every],
        "shared class names": [f"{name}: {', '.join(classes[name])}" for name in shared],
        "participle classes": participles,
        "docstrings opening with a wh-word": [text.partition("\n")[0] for text in wh_docstrings],
    }
    values = {
        "files": str(len(modules)),
        "lines": f"{sum(sizes):,}",
        "median lines of a file": f"{statistics.median(sizes):.0f}",
        "median lines without __init__": f"{statistics.median(m.lines for m in files):.0f}",
        "most modules in a package": "{1} ({0})".format(*per_package.most_common(1)[0]),
        **{name: str(len(found)) for name, found in lists.items()},
        "classes with a shared name": str(sum(len(classes[name]) for name in shared)),
        "docstrings": f"{len(docstrings):,}",
        "docstrings opening with a wh-word, %": f"{100 * len(wh_docstrings) / len(docstrings):.1f}",
        "statements": f"{sum(_statements(module.tree) for module in modules):,}",
        "comment lines, %": f"{100 * sum(m.comments for m in modules) / sum(sizes):.2f}",
    }
    if traces:
        for call in CALLS:
            found = trace(call, root)
            values[f"{call.title}: files"] = str(len(found.files))
            values[f"{call.title}: changes of file"] = str(found.changes)
            lists[f"{call.title}: files"] = list(found.files)
    return Figures(values, lists)


def read_modules(source: Path) -> Iterator[Module]:
    """Yield each Python file below a folder."""
    for path in sorted(source.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        parts = path.relative_to(source).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        yield Module(
            ".".join(parts[:-1] if is_package else parts),
            text.count("\n"),
            sum(line.lstrip().startswith("#") for line in text.splitlines()),
            ast.parse(text),
            is_package,
        )


def import_graph(modules: list[Module], *, every: bool) -> dict[str, set[str]]:
    """Return which module imports which; with `every`, also inside functions and TYPE_CHECKING."""
    names = {module.name for module in modules}
    graph: dict[str, set[str]] = {module.name: set() for module in modules}
    for module in modules:
        nodes = ast.walk(module.tree) if every else iter(_run_at_import(module.tree.body))
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found = {f"{node.module}.{each.name}" for each in node.names}
                targets = {each if each in names else node.module for each in found}
            elif isinstance(node, ast.Import):
                targets = {each.name for each in node.names}
            else:
                continue
            graph[module.name] |= (targets & names) - {module.name}
    return graph


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected groups of more than one module (Tarjan)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            at = stack.index(name)
            group = sorted(stack[at:])
            del stack[at:]
            if len(group) > 1:
                found.append(group)

    sys.setrecursionlimit(10_000)
    for name in graph:
        if name not in order:
            visit(name)
    return found


def _run_at_import(body: list[ast.stmt]) -> Iterator[ast.AST]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield from ast.walk(node)


def _public_classes(modules: list[Module]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module.name)
    return found


def _docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield text


def _statements(tree: ast.Module) -> int:
    """Count statements without imports and docstrings."""
    return sum(
        isinstance(node, ast.stmt)
        and not isinstance(node, ast.Import | ast.ImportFrom)
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in ast.walk(tree)
    )


@contextmanager
def commit_source(commit: str) -> Iterator[Path]:
    """Provide a folder with the source of a commit."""
    if not commit:
        yield PROJECT
        return
    archive = subprocess.run(
        ["git", "archive", commit, "src"], cwd=PROJECT, capture_output=True, check=True
    ).stdout
    with tempfile.TemporaryDirectory(prefix="accord-tree-") as folder:
        with tarfile.open(fileobj=BytesIO(archive)) as tar:
            tar.extractall(folder, filter="data")
        yield Path(folder)


def _table(columns: Mapping[str, Figures]) -> str:
    names = list(next(iter(columns.values())).values)
    widths = [max(map(len, names)), *(max(12, len(title)) for title in columns)]
    rows = [["", *columns]]
    rows += [[name, *(each.values[name] for each in columns.values())] for name in names]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


if __name__ == "__main__":
    sys.exit(main())
