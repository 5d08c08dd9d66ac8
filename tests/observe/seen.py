"""What code says there is: the page for Prometheus, and names in the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from accord.telemetry.metrics import Exposition
from accord.workflows.metrics import BusMetrics
from tests.observe.documented import ROOT, Metric

SOURCE: Final = ROOT / "src" / "accord"
_LABEL: Final = re.compile(r'([a-z_]+)="')
_NAME: Final = re.compile(r"(?:accord|process)_[a-z_]+")


def metrics(page: str) -> dict[str, Metric]:
    """The families of a page, with the labels of their samples."""
    kinds: dict[str, str] = {}
    labels: dict[str, set[str]] = {}
    name = ""
    for line in page.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            kinds[name], labels[name] = kind, set()
        elif not line.startswith("#"):
            labels[name].update(set(_LABEL.findall(line.partition("{")[2])) - {"le"})
    return {name: Metric(kind, frozenset(labels[name])) for name, kind in kinds.items()}


def of_buses() -> dict[str, Metric]:
    """Those of Kafka, some of which count what happens too seldom to be seen."""
    counts = BusMetrics()
    for topics in (counts.published, counts.consumed, counts.duplicates, counts.dead_letters):
        topics["t"] = 1
    counts.lag["t"] = 1
    page = Exposition()
    counts.write(page)
    return metrics(page.encode().decode())


def spelt_metrics() -> set[str]:
    """Names of metrics that stand in the source, whether or not anybody wrote them."""
    return {
        each.value
        for path in _files()
        for each in ast.walk(_tree(path))
        if isinstance(each, ast.Constant)
        and isinstance(each.value, str)
        and _NAME.fullmatch(each.value)
        and each.value.endswith(("_total", "_seconds", "_bytes", "_info", "_up"))
    }


def spelt_fields() -> set[str]:
    """Fields of log lines that stand in the source as `extra={…}`."""
    return {
        str(key.value)
        for path in _files()
        for call in ast.walk(_tree(path))
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "extra" and isinstance(keyword.value, ast.Dict)
        for key in keyword.value.keys
        if isinstance(key, ast.Constant)
    }


def loggers() -> set[str]:
    return {
        str(call.args[0].value)
        for path in _files()
        for call in ast.walk(_tree(path))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "getLogger"
        and call.args
        and isinstance(call.args[0], ast.Constant)
        and str(call.args[0].value).startswith("accord")
    }


def _files() -> Iterator[Path]:
    return SOURCE.rglob("*.py")


_trees: dict[Path, ast.AST] = {}


def _tree(path: Path) -> ast.AST:
    if path not in _trees:
        _trees[path] = ast.parse(path.read_text())
    return _trees[path]
