"""One run: its graph with states, when what happened, and one step with what went in and came out.
Everything that changes while it runs is a piece of its own, so that scripts can put it in place."""

from __future__ import annotations

from collections.abc import Iterator
from time import time
from typing import Any, Final
from urllib.parse import quote

import msgspec
from msgspec import Struct

from accord.operations.errors import NotFoundError
from accord.web.answers import Answer
from accord.web.drawing.svg import draw
from accord.web.pages.workflows.happenings import told
from accord.web.pages.workflows.outline import outline, read
from accord.web.pages.workflows.run_waits import waits_for
from accord.web.pages.workflows.standing import WHOLE, Standing, link_to
from accord.web.pages.workflows.timeline import MAX_BARS, SCALE, bars
from accord.web.pages.workflows.values import MUCH, in_line, shown
from accord.web.routing import Pages
from accord.web.turn import Turn
from accord.workflows.core.definition import Definition, WaitStep, find_places, inner_lists
from accord.workflows.core.errors import CoreError
from accord.workflows.core.state import FINAL
from accord.workflows.operations.approvals import may_decide
from accord.workflows.operations.run_views import Run, Step

SECTION: Final = "/runs"
EVENTS: Final = 100
MOST_AGAIN: Final = 50
"""Steps to retry from that are shown."""
PARTS: Final = ("input", "output", "error", "prompt")

pages: Final = Pages()


@pages.get("/runs/{id}")
async def one(turn: Turn) -> Answer:
    context = await run_context(turn)
    if turn.is_partial:
        return turn.piece("workflows/_run.html", **context)
    return await turn.page("workflows/run.html", **context)


@pages.get("/runs/{id}/steps")
async def steps(turn: Turn) -> Answer:
    """All steps, where there are more than a timeline can show."""
    id = turn.values["id"]
    run = await turn.do("get_run", id=id)
    cursor = turn.query.given("cursor")
    found = await turn.do("list_run_steps", id=id, limit=100, **cursor)
    return await turn.page("workflows/steps.html", section=SECTION, run=run, found=found)


@pages.get("/runs/{id}/history")
async def history(turn: Turn) -> Answer:
    """Everything that happened, from the beginning on."""
    id = turn.values["id"]
    run = await turn.do("get_run", id=id)
    found = await turn.do("get_run_history", id=id, limit=100, **turn.query.given("after"))
    return await turn.page(
        "workflows/history.html",
        section=SECTION,
        run=run,
        found=found,
        events=[told(each, run.created_at) for each in found.items],
    )


@pages.get("/runs/{id}/value")
async def value(turn: Turn) -> Answer:
    """All of an input or output."""
    id, step, part = turn.values["id"], turn.query["step"], turn.query["of"]
    if part not in PARTS:
        raise NotFoundError(f"there is {', '.join(PARTS)}")
    run = await turn.do("get_run", id=id)
    about = run if step in ("", WHOLE) else await turn.do("get_run_step", id=id, step=step)
    return await turn.page(
        "workflows/value.html",
        section=SECTION,
        run=run,
        step="" if about is run else step,
        part=part,
        value=shown(getattr(about, part, None), MUCH),
    )


async def run_context(turn: Turn) -> dict[str, Any]:
    """All that is to be seen of a run."""
    id = turn.values["id"]
    run: Run = await turn.do("get_run", id=id)
    workflow = await turn.do("get_workflow", name=f"{run.workflow}@{run.workflow_version}")
    is_final = run.state in FINAL
    calls = () if is_final else (await turn.do("list_run_calls", id=id, open=True)).items
    events = await turn.do("get_run_history", id=id, last=True, limit=EVENTS)
    now = time()
    standing = Standing(run, calls, now)
    is_known = run.steps or run.problem is None
    chosen = turn.query["step"] if is_known else WHOLE
    chosen = chosen or standing.usual()
    step = None
    if chosen != WHOLE:
        step = await turn.do("get_run_step", id=id, step=chosen)
    definition = _definition(workflow.definition, run)
    link = link_to(id)
    return {
        "section": SECTION,
        "run": run,
        "workflow": workflow,
        "is_final": is_final,
        "picture": draw(
            standing.graph(outline(definition), chosen, link), f"The steps of run {id[-8:]}"
        ),
        "bars": bars(standing, run.steps, now),
        "most_bars": MAX_BARS,
        "scale": SCALE,
        "events": [told(each, run.created_at) for each in events.items],
        "waits": waits_for(run, now),
        "chosen": chosen,
        "whole": WHOLE,
        "step": step,
        "seconds": None if step is None else standing.seconds(step),
        "attempts": 0 if step is None else max(standing.attempts(step), len(step.calls) and 1),
        "awaits": None if step is None else _signal(definition, step),
        "link": link,
        "quote": quote,
        "again": list(_again(definition, run)) if is_final and run.state != "completed" else (),
        "most_again": MOST_AGAIN,
        "shown": shown,
        "in_line": in_line,
        **_rights(turn, run),
    }


class Again(Struct, frozen=True):
    """A step that a run may be retried from, and what is known to have been answered."""

    step: Step
    answered: Any


def _again(definition: Definition, run: Run) -> Iterator[Again]:
    """The steps that started, the last first: of those with steps inside, the inner ones."""
    places = {place.step.name: place for place in find_places(definition)}
    for step in reversed(run.steps):
        place = places.get(step.name)
        if step.started_at is None or place is None or place.path.startswith("on_error"):
            continue
        if not inner_lists(place.step):
            yield Again(step, answered_by(step))


def answered_by(step: Step) -> Any:
    """What came of a step: its output; else what was answered although it failed, or its error."""
    if step.error is None:
        return step.output
    details = step.error.details
    answered = details.get("answered") if isinstance(details, dict) else None
    return answered or f"{step.error.code}: {step.error.message}"


def _definition(definition: dict[str, Any], run: Run) -> Definition:
    """What is drawn: nothing where a newer release wrote it."""
    try:
        return read(definition)
    except (msgspec.DecodeError, CoreError):
        return Definition(name=run.workflow, steps=())


def _rights(turn: Turn, run: Run) -> dict[str, Any]:
    """What whoever looks may have the run do now."""
    caller = turn.who
    commands = caller.may("run") and (caller.is_administrator or caller.username == run.started_by)
    decides = caller.may("approve")
    return {
        "may_command": commands,
        "decisions": [each for each in run.approvals if decides and may_decide(caller, each.by)],
    }


def _signal(definition: Any, step: Any) -> str | None:
    """The name of the signal that a step waits for."""
    if step.state != "waiting":
        return None
    if step.prompt is not None:
        key: str = step.key
        return key
    for place in find_places(definition):
        if place.step.name == step.name and isinstance(place.step, WaitStep):
            return place.step.signal
    return None
