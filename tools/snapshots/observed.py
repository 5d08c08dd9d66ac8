"""What operators see: metrics, spans and loggers."""

from __future__ import annotations

import ast
from tempfile import TemporaryDirectory
from typing import get_args

from opentelemetry.sdk.trace import ReadableSpan

from accord.app.health import WORKER_UP
from accord.app.settings import Settings
from accord.workflows.storage.tasks import Kind
from tests.observe import seen
from tests.observe.documented import Metric
from tests.observe.scene import Observed, observe
from tools.snapshots import source

OF_WORKERS = {WORKER_UP: Metric("gauge", frozenset({"worker"}))}
"""What is there only where several processes share a port."""


async def use(database: str) -> Observed:
    """Use a system on an empty PostgreSQL in every way, and look at it."""
    with TemporaryDirectory() as data:
        settings = Settings(
            data=data,
            database=database,
            secret_key="k" * 64,
            port=0,
            tracing=True,
            allow_private_agents=True,
            plugins=[],
        )
        return await observe(settings)


def metrics(observed: Observed) -> str:
    """Each metric with its type and labels, of a system that was used in every way."""
    there = {**seen.metrics(observed.metrics), **seen.of_buses(), **OF_WORKERS}
    return "".join(f"{name} {each.kind}{_labels(each)}\n" for name, each in sorted(there.items()))


def _labels(metric: Metric) -> str:
    return f" {{{', '.join(sorted(metric.labels))}}}" if metric.labels else ""


def spans(observed: Observed) -> str:
    """Each span of a system that was used in every way, with its kind and attributes; then those
    that are made when something has ended, as the source names them: some need Kafka."""
    attributes: dict[str, set[str]] = {}
    for span in observed.spans:
        attributes.setdefault(_span(span), set()).update(span.attributes or {})
    attributes.update(_past_spans())
    return "".join(
        f"{name}\n" + "".join(f"  {each}\n" for each in sorted(attributes[name]))
        for name in sorted(attributes)
    )


def _span(span: ReadableSpan) -> str:
    return f"{span.kind.name.lower()} {span.name}"


def _past_spans() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for called, call in source.calls():
        given = {each.arg: each.value for each in call.keywords}
        if called == "tell" and "began" in given and isinstance(given["attributes"], ast.Dict):
            place = source.text(given.get("place")) or "internal"
            names = {source.text(key) or "" for key in given["attributes"].keys}
            found[f"{place} {ast.unparse(call.args[0])}"] = names
    return found


def loggers() -> str:
    """The loggers, each on a line."""
    return "".join(f"{name}\n" for name in sorted(seen.loggers()))


def log_fields(observed: Observed) -> str:
    """The fields of log lines: those that were seen, and those that the source gives to some."""
    seen_here = {name for line in observed.lines for name in line}
    names = seen_here | seen.spelt_fields() | set(get_args(Kind))
    return "".join(f"{name}\n" for name in sorted(names))
