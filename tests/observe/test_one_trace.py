"""One trace: from a tool called over MCP through a run and Kafka to an agent, and back as a comment."""

from __future__ import annotations

from opentelemetry.sdk.trace import ReadableSpan

from tests.observe.scene import PARENT, TEXT, TRACE, Observed
from tools.trace_picture import draw


def spans_of(observed: Observed) -> dict[str, ReadableSpan]:
    """The spans of the trace by what they are called, without the names of topics of a test."""
    found = {}
    for span in observed.spans:
        assert span.context is not None
        if f"{span.context.trace_id:032x}" == TRACE:
            words = span.name.split(".")
            found[f"process {words[-1]}" if span.name.startswith("process ") else span.name] = span
    return found


def parents(observed: Observed) -> dict[str, str]:
    """Below what each span of the trace stands."""
    spans = spans_of(observed)
    names = {f"{span.context.span_id:016x}": name for name, span in spans.items() if span.context}
    return {
        name: names.get(f"{span.parent.span_id:016x}", f"{span.parent.span_id:016x}")
        for name, span in spans.items()
        if span.parent
    }


def test_a_call_over_mcp_is_followed_to_the_agent_and_back(observed: Observed) -> None:
    assert observed.comments == [f"{len(TEXT)} characters are fine"]
    assert parents(observed) == {
        "tools/call": PARENT.split("-")[2],
        "create_requirement": "tools/call",
        "process tasks": "tools/call",
        "agent reviewer": "tools/call",
        "POST": "agent reviewer",  # that of the agent itself
        "process results": "tools/call",
        "operation add_comment": "tools/call",
        "add_comment": "operation add_comment",
        "run review": "tools/call",
    }
    services = {
        name: str(span.resource.attributes["service.name"])
        for name, span in spans_of(observed).items()
    }
    assert {name for name, service in services.items() if service != "accord"} == {"POST"}


def test_the_run_covers_what_was_done_in_it(observed: Observed) -> None:
    spans = spans_of(observed)
    run = spans["run review"]
    assert run.start_time is not None
    assert run.end_time is not None
    for name in ("agent reviewer", "operation add_comment"):
        start, end = spans[name].start_time, spans[name].end_time
        assert start is not None
        assert end is not None
        assert run.start_time <= start <= end <= run.end_time


def test_requests_over_rest_have_spans_by_route_with_their_operation_below(
    observed: Observed,
) -> None:
    ids = {span.context.span_id: span for span in observed.spans if span.context}
    [epic] = [span for span in observed.spans if span.name == "create_epic"]
    assert epic.parent is not None
    above = ids[epic.parent.span_id]
    assert above.name == "POST /api/v1/epics"
    assert dict(above.attributes or {})["http.response.status_code"] == 201


def test_the_picture_shows_every_span_of_the_trace(observed: Observed) -> None:
    picture = draw(list(spans_of(observed).values()))
    for name in ("tools/call", "run review", "agent reviewer", "operation add_comment"):
        assert f">{name}<" in picture
