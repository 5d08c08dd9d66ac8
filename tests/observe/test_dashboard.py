"""The dashboard and the alerts ask for what there is, with labels that it has."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
import pytest
import yaml

from accord.app.composition import all_operations
from tests.observe import documented, seen
from tests.observe.documented import ROOT, Metric
from tests.observe.scene import Observed

FOLDER: Final = ROOT / "deploy" / "grafana"
ROWS: Final = [
    *("Traffic", "Latency", "Errors", "Hub", "Store", "Workflows", "Bridge", "Kafka", "Process"),
]
OF_PROMETHEUS: Final = {"job", "instance", "le", "worker"}
"""Labels that every sample may have beside its own."""
_METRIC: Final = re.compile(r"\b((?:accord|process)_[a-z_]+|up)\b(?:\{([^}]*)\})?")
_MATCHER: Final = re.compile(r'([a-z_]+)\s*(?:=~|!~|!=|=)\s*"')
_BY: Final = re.compile(r"\b(?:by|without)\s*\(([^)]*)\)")
_STRING: Final = re.compile(r'"[^"]*"')


def dashboard() -> Any:
    return msgspec.json.decode((FOLDER / "accord.json").read_bytes())


def rules() -> list[dict[str, Any]]:
    [group] = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def panels() -> list[dict[str, Any]]:
    return [each for each in dashboard()["panels"] if each["type"] != "row"]


EXPRESSIONS: Final = [
    *(target["expr"] for panel in panels() for target in panel["targets"]),
    *(rule["expr"] for rule in rules()),
]


@pytest.fixture(scope="module")
def there(observed: Observed) -> dict[str, Metric]:
    found = {**documented.metrics(), **seen.metrics(observed.metrics), **seen.of_buses()}
    return {**found, "up": Metric("gauge", frozenset())}


def family(name: str, there: dict[str, Metric]) -> Metric | None:
    """The metric of a name; parts of histograms are theirs."""
    base = re.sub(r"_(?:bucket|sum|count)$", "", name)
    if base != name and base in there and there[base].kind == "histogram":
        return there[base]
    return there.get(name)


def test_every_expression_asks_for_metrics_and_labels_that_there_are(
    there: dict[str, Metric],
) -> None:
    wrong: list[str] = []
    for expression in EXPRESSIONS:
        used: set[str] = set()
        for name, matchers in _METRIC.findall(expression):
            metric = family(name, there)
            if metric is None:
                wrong.append(f"{name}: {expression}")
                continue
            used |= metric.labels
            if not set(_MATCHER.findall(matchers)) <= metric.labels | OF_PROMETHEUS:
                wrong.append(f"{matchers}: {expression}")
        plain = _STRING.sub('""', expression)
        by = {label.strip() for group in _BY.findall(plain) for label in group.split(",")}
        if not by <= used | OF_PROMETHEUS:
            wrong.append(f"by {by}: {expression}")
    assert wrong == []


def test_operations_that_are_asked_for_exist() -> None:
    named = {name for each in EXPRESSIONS for name in re.findall(r'operation="(\w+)"', each)}
    assert named == {"search_global"}
    assert named <= {operation.name for operation in all_operations()}


def test_counters_are_asked_for_by_their_rate(there: dict[str, Metric]) -> None:
    bare = [
        (name, expression)
        for expression in EXPRESSIONS
        for name, _ in _METRIC.findall(expression)
        if (metric := family(name, there)) is not None
        and metric.kind != "gauge"
        and not re.search(rf"(?:rate|increase)\({name}\b", expression)
    ]
    assert bare == []


def test_every_metric_but_a_few_is_on_the_dashboard(there: dict[str, Metric]) -> None:
    asked = {
        re.sub(r"_(?:bucket|sum|count)$", "", name)
        for expression in EXPRESSIONS
        for name, _ in _METRIC.findall(expression)
    }
    assert set(there) - asked == {
        "accord_audit_failures_total",
        "accord_batch_messages",
        "accord_calls_in_flight",
        "process_virtual_memory_bytes",
    }


def test_the_dashboard_has_its_rows_and_takes_any_source_of_data() -> None:
    made = dashboard()
    assert [each["title"] for each in made["panels"] if each["type"] == "row"] == ROWS
    assert made["schemaVersion"] >= 39
    ids = [each["id"] for each in made["panels"]]
    assert len(set(ids)) == len(ids)
    sources = {each["datasource"]["uid"] for each in panels()}
    assert (sources, made["templating"]["list"][0]["type"]) == ({"${datasource}"}, "datasource")


def test_legends_name_labels_that_their_expressions_keep() -> None:
    wrong = [
        (target["legendFormat"], target["expr"])
        for panel in panels()
        for target in panel["targets"]
        if _BY.search(target["expr"])
        for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])
        if label not in _BY.findall(target["expr"])[-1]
    ]
    assert wrong == []


def test_panels_stand_side_by_side_and_nowhere_twice() -> None:
    places: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & places, panel["title"]
        places |= cells


def test_every_alert_says_how_bad_it_is_and_for_whom() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert "{{ $labels." in rule["annotations"]["summary"]
