"""docs/operate/observing.md lists what there is: no more, no less."""

from __future__ import annotations

from typing import get_args

import pytest
import yaml

from accord.app.health import HEALTH_PATHS, WORKER_UP
from accord.workflows.storage.tasks import Kind
from tests.observe import documented, seen
from tests.observe.documented import ROOT, Metric
from tests.observe.scene import Observed

WITH_WORKERS = {WORKER_UP: Metric("gauge", frozenset({"worker"}))}
"""What is there only where several processes share a port."""
CONTEXT = {"correlation_id", "operation", "actor", "face", "trace_id"}
"""What lines have that are logged while a call is served."""
ALERTS = ROOT / "deploy" / "grafana" / "alerts.yaml"


def test_every_metric_is_listed_with_its_type_and_labels_and_none_else(observed: Observed) -> None:
    there = seen.metrics(observed.metrics)
    assert set(seen.of_buses()) <= set(there)
    assert documented.metrics() == {**there, **seen.of_buses(), **WITH_WORKERS}


def test_metrics_that_stand_in_the_source_are_listed() -> None:
    listed = {*documented.metrics(), "accord_migrations"}
    assert seen.spelt_metrics() - listed == set()


def test_every_field_of_the_log_is_listed_and_none_else(observed: Observed) -> None:
    there = {name for line in observed.lines for name in line}
    there |= seen.spelt_fields() | CONTEXT | set(get_args(Kind))
    assert documented.names("field") == there | {"exception", "body", "worker"}


def test_every_logger_is_listed_and_none_else() -> None:
    assert documented.names("logger") == seen.loggers()


def test_every_probe_is_listed_and_none_else() -> None:
    assert documented.names("probe") == {f"/{place}" for place in HEALTH_PATHS}


def test_every_alert_has_something_to_do_and_nothing_else_has() -> None:
    [group] = yaml.safe_load(ALERTS.read_text())["groups"]
    assert documented.names("alert") == {rule["alert"] for rule in group["rules"]}


def test_every_attribute_of_a_span_is_listed(observed: Observed) -> None:
    listed = {name for row in documented.tables("span") for name in documented.codes(row[3])}
    assert {name for span in observed.spans for name in span.attributes or {}} <= listed


def test_the_log_of_a_call_says_who_what_and_how(observed: Observed) -> None:
    [line] = [
        line
        for line in observed.lines
        if line["logger"] == "accord.calls" and line["operation"] == "create_requirement"
    ]
    assert (line["level"], line["outcome"], line["face"]) == ("info", "done", "mcp")
    assert {"user", "client", "address", "milliseconds", "correlation_id", "trace_id"} <= set(line)


@pytest.mark.parametrize(
    "sample",
    [
        'accord_http_requests_total{face="web",status="303"}',
        'accord_authentication_failures_total{operation="sign_in",reason="wrong_password"}',
        'accord_authentication_failures_total{operation="authenticate",reason="malformed"}',
        "accord_sign_ins_total",
        'accord_runs_finished_total{state="completed"}',
        'accord_runs_finished_total{state="failed"}',
        'accord_task_breakers{kind="agent",target="nobody",state="open"}',
        'accord_tasks_ended_total{kind="agent",outcome="error"}',
        'accord_dead_letters_kept{kind="task"}',
        'accord_members{kind="executor"}',
    ],
)
def test_what_happened_is_counted(observed: Observed, sample: str) -> None:
    [value] = [
        line.rpartition(" ")[2]
        for line in observed.metrics.splitlines()
        if line.startswith(f"{sample} ")
    ]
    assert float(value) >= 1
