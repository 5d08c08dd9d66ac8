"""Workflows as they are defined: all of them, one with its graph, two versions beside each other,
and how runs are started."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from msgspec import UNSET

from accord.operations.errors import ServiceError
from accord.web.answers import Answer
from accord.web.drawing.svg import draw
from accord.web.pages.workflows.inputs import fields_of, filled, value_of
from accord.web.pages.workflows.outline import outline, plain_node, read
from accord.web.pages.workflows.source import as_json, as_yaml, without_version
from accord.web.pages.workflows.values import Shown
from accord.web.redline import redline
from accord.web.routing import Pages
from accord.web.turn import Turn

SECTION: Final = "/workflows"
RECENT: Final = 8
MAX_SOURCE: Final = 600_000
"""More than the largest definition."""

pages: Final = Pages()


@pages.get("/workflows")
async def listed(turn: Turn) -> Answer:
    found = await turn.do("list_workflows", limit=50, cursor=turn.query["cursor"] or UNSET)
    return await turn.page("workflows/list.html", found=found)


@pages.get("/workflows/{name}")
async def definition(turn: Turn) -> Answer:
    return await _page(turn)


@pages.post("/workflows/{name}/runs")
async def start(turn: Turn) -> Answer:
    name = turn.values["name"]
    try:
        workflow = await turn.do("get_workflow", name=name)
        run = await turn.do("run_workflow", name=name, input=value_of(workflow.input, turn.form))
    except ServiceError as error:
        return await _page(turn, error=error)
    return turn.go(f"/runs/{quote(run.id)}")


@pages.post("/workflows/{name}/active")
async def set_active(turn: Turn) -> Answer:
    """Let runs be started, or not."""
    name, active = turn.values["name"], turn.form["active"] == "true"
    await turn.do("update_workflow", name=name, active=active)
    said = "Runs can be started again." if active else "No more runs can be started."
    return turn.go(f"/workflows/{quote(name)}", said)


@pages.get("/workflows/{name}/compare")
async def compare(turn: Turn) -> Answer:
    """What changed between two versions."""
    name = turn.values["name"].partition("@")[0]
    versions = await turn.do("list_workflow_versions", name=name, limit=100)
    numbers = [str(each.version) for each in versions.items]
    later = turn.query["to"] or numbers[0]
    earlier = turn.query["from"] or (numbers[1] if len(numbers) > 1 else numbers[0])
    before = await turn.do("get_workflow", name=f"{name}@{earlier}")
    after = await turn.do("get_workflow", name=f"{name}@{later}")
    texts = [as_yaml(without_version(each.definition)) for each in (before, after)]
    return await turn.page(
        "workflows/compare.html",
        section=SECTION,
        name=name,
        numbers=numbers,
        before=before,
        after=after,
        is_same=texts[0] == texts[1],
        changes=redline(texts[0], texts[1]),
    )


async def _page(turn: Turn, error: ServiceError | None = None) -> Answer:
    workflow = await turn.do("get_workflow", name=turn.values["name"])
    versions = await turn.do("list_workflow_versions", name=workflow.name, limit=10)
    runs = await turn.do("list_runs", workflow=workflow.name, limit=RECENT)
    fields = fields_of(workflow.input)
    return await turn.page(
        "workflows/definition.html",
        status=200 if error is None else error.kind.status,
        section=SECTION,
        workflow=workflow,
        newest=versions.items[0].version,
        versions=versions,
        runs=runs,
        picture=picture(workflow.definition),
        source=_source(workflow.definition, turn.query["as"]),
        fields=filled(fields, turn.form),
        error=error,
    )


def picture(definition: dict[str, Any]) -> Any:
    """A definition, drawn."""
    found = read(definition)
    steps = len(outline(found).boxes)
    label = f"The workflow {found.name}: {steps} {'step' if steps == 1 else 'steps'}"
    return draw(outline(found).graph(plain_node), label)


def _source(definition: dict[str, Any], form: str) -> Shown:
    plain = without_version(definition)
    text = as_json(plain) if form == "json" else as_yaml(plain)
    return Shown(text[:MAX_SOURCE], len(text))
