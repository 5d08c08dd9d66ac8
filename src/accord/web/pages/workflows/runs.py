"""Runs: the list, and one run with its graph, log, steps and actions; approvals, dead letters.

Everything that changes while a run is under way is a partial of its own, so a script replaces only
what changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import time
from typing import Any, Final, get_args
from urllib.parse import quote, urlencode

import msgspec
from msgspec import UNSET, Struct

from accord.jsonrpc.protocol.codec import NestingError, decode_json
from accord.operations.arguments import check_once
from accord.operations.errors import ConflictError, InvalidError, NotFoundError
from accord.web.pages.workflows.definitions import MAX_SHOWN, in_line, outline, read, shown_value
from accord.web.pages.workflows.step_status import (
    MAX_BARS,
    SCALE,
    WHOLE,
    StepStatus,
    bars,
    link_to,
    log_entry,
    seconds_between,
    waits_for,
)
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse
from accord.web.svg import draw
from accord.workflows.core.definition import Definition, WaitStep, find_places, inner_lists
from accord.workflows.core.errors import CoreError
from accord.workflows.core.state import FINAL, RunStatus
from accord.workflows.operations.run_control import may_decide
from accord.workflows.operations.run_views import Run, Step

FILTERS: Final = ("workflow", "state", "started_by")
AT_ONCE: Final = 50

pages: Final = Pages()


@pages.get("/runs")
async def listed(request: PageRequest) -> PageResponse:
    filters = request.query.given(*FILTERS)
    cursor = request.query["cursor"]
    found = await request.run("list_runs", limit=AT_ONCE, cursor=cursor or UNSET, **filters)
    now = time()
    context = {
        "found": found,
        "given": filters,
        "here": f"/runs?{urlencode(filters)}",
        "is_first": not cursor,
        "took": {
            each.id: seconds_between(each.created_at, each.finished_at, now) for each in found.items
        },
    }
    if request.is_partial and request.query["rows"]:
        return request.piece("workflows/_runs.html", **context)
    return await request.page("workflows/runs.html", states=get_args(RunStatus), **context)


SECTION: Final = "/runs"
EVENTS: Final = 100
MAX_RETRY_STEPS: Final = 50
"""The most steps that a page offers as the start of a retry."""
PARTS: Final = ("input", "output", "error", "prompt")


@pages.get("/runs/{id}")
async def one(request: PageRequest) -> PageResponse:
    context = await run_context(request)
    if request.is_partial:
        return request.piece("workflows/_run.html", **context)
    return await request.page("workflows/run.html", **context)


@pages.get("/runs/{id}/steps")
async def steps(request: PageRequest) -> PageResponse:
    """Show all steps of a run; its timeline shows only the first ones."""
    id = request.values["id"]
    run = await request.run("get_run", id=id)
    cursor = request.query.given("cursor")
    found = await request.run("list_run_steps", id=id, limit=100, **cursor)
    return await request.page("workflows/steps.html", section=SECTION, run=run, found=found)


@pages.get("/runs/{id}/history")
async def history(request: PageRequest) -> PageResponse:
    """Show the events of a run, from the beginning."""
    id = request.values["id"]
    run = await request.run("get_run", id=id)
    found = await request.run("get_run_history", id=id, limit=100, **request.query.given("after"))
    return await request.page(
        "workflows/history.html",
        section=SECTION,
        run=run,
        found=found,
        events=[log_entry(each, run.created_at) for each in found.items],
    )


@pages.get("/runs/{id}/value")
async def value(request: PageRequest) -> PageResponse:
    """Show the whole input, output, error or prompt of a run or step."""
    id, step, part = request.values["id"], request.query["step"], request.query["of"]
    if part not in PARTS:
        raise NotFoundError(f"there is {', '.join(PARTS)}")
    run = await request.run("get_run", id=id)
    about = run if step in ("", WHOLE) else await request.run("get_run_step", id=id, step=step)
    return await request.page(
        "workflows/value.html",
        section=SECTION,
        run=run,
        step="" if about is run else step,
        part=part,
        value=shown_value(getattr(about, part, None), MAX_SHOWN),
    )


async def run_context(request: PageRequest) -> dict[str, Any]:
    """Return the values for the template of a run's page."""
    id = request.values["id"]
    run: Run = await request.run("get_run", id=id)
    workflow = await request.run("get_workflow", name=f"{run.workflow}@{run.workflow_version}")
    is_final = run.state in FINAL
    calls = () if is_final else (await request.run("list_run_calls", id=id, open=True)).items
    events = await request.run("get_run_history", id=id, last=True, limit=EVENTS)
    now = time()
    status = StepStatus(run, calls, now)
    is_known = run.steps or run.problem is None
    chosen = request.query["step"] if is_known else WHOLE
    chosen = chosen or status.default_step()
    step = None
    if chosen != WHOLE:
        step = await request.run("get_run_step", id=id, step=chosen)
    definition = _definition(workflow.definition, run)
    link = link_to(id)
    return {
        "section": SECTION,
        "run": run,
        "workflow": workflow,
        "is_final": is_final,
        "picture": draw(
            status.graph(outline(definition), chosen, link), f"The steps of run {id[-8:]}"
        ),
        "bars": bars(status, run.steps, now),
        "most_bars": MAX_BARS,
        "scale": SCALE,
        "events": [log_entry(each, run.created_at) for each in events.items],
        "waits": waits_for(run, now),
        "chosen": chosen,
        "whole": WHOLE,
        "step": step,
        "seconds": None if step is None else status.seconds(step),
        "attempts": 0 if step is None else max(status.attempts(step), len(step.calls) and 1),
        "awaits": None if step is None else _signal(definition, step),
        "link": link,
        "quote": quote,
        "again": list(_retry_steps(definition, run))
        if is_final and run.state != "completed"
        else (),
        "most_again": MAX_RETRY_STEPS,
        "shown": shown_value,
        "in_line": in_line,
        **_rights(request, run),
    }


class RetryStep(Struct, frozen=True):
    """A step from which a run can be retried, and the answer that the step got."""

    step: Step
    answered: Any


def _retry_steps(definition: Definition, run: Run) -> Iterator[RetryStep]:
    """Yield the steps from which a run can be retried, the last first.

    A run can be retried from any step that was started, unless the step contains other steps or
    handles the failure of the run.
    """
    places = {place.step.name: place for place in find_places(definition)}
    for step in reversed(run.steps):
        place = places.get(step.name)
        if step.started_at is None or place is None or place.path.startswith("on_error"):
            continue
        if not inner_lists(place.step):
            yield RetryStep(step, answered_by(step))


def answered_by(step: Step) -> Any:
    """Return the output of a step; for a failed step, the answer it got or else the error."""
    if step.error is None:
        return step.output
    details = step.error.details
    answered = details.get("answered") if isinstance(details, dict) else None
    return answered or f"{step.error.code}: {step.error.message}"


def _definition(definition: dict[str, Any], run: Run) -> Definition:
    """Decode the definition of a run.

    Returns an empty definition if this release cannot decode it.
    """
    try:
        return read(definition)
    except (msgspec.DecodeError, CoreError):
        return Definition(name=run.workflow, steps=())


def _rights(request: PageRequest, run: Run) -> dict[str, Any]:
    """Return what the caller may do with a run: control it, and decide which approvals."""
    caller = request.user
    commands = caller.may("run") and (caller.is_administrator or caller.username == run.started_by)
    decides = caller.may("approve")
    return {
        "may_command": commands,
        "decisions": [each for each in run.approvals if decides and may_decide(caller, each.by)],
    }


def _signal(definition: Any, step: Any) -> str | None:
    """Return the name of the signal that a step waits for, None if it waits for none."""
    if step.state != "waiting":
        return None
    if step.prompt is not None:
        key: str = step.key
        return key
    for place in find_places(definition):
        if place.step.name == step.name and isinstance(place.step, WaitStep):
            return place.step.signal
    return None


@pages.post("/runs/{id}/pause")
async def pause(request: PageRequest) -> PageResponse:
    return await _control(
        request, "pause_run", "Paused: what is under way goes on, nothing new starts."
    )


@pages.post("/runs/{id}/resume")
async def resume(request: PageRequest) -> PageResponse:
    return await _control(request, "resume_run", "Resumed.")


@pages.post("/runs/{id}/cancel")
async def cancel(request: PageRequest) -> PageResponse:
    return await _control(
        request, "cancel_run", "Cancelled: agents are told.", reason=request.form["reason"]
    )


@pages.post("/runs/{id}/retry")
async def retry(request: PageRequest) -> PageResponse:
    step = request.form["step"]
    notice = f"Retrying from {step}." if step else "Retrying what did not complete."
    return await _control(request, "retry_run", notice, step=step or UNSET)


@pages.post("/runs/{id}/decide")
async def decide(request: PageRequest) -> PageResponse:
    """Approve or reject a pending approval."""
    approved = request.form["decision"] != "reject"
    return await _control(
        request,
        "approve_run",
        "Approved." if approved else "Rejected.",
        step=request.form["step"] or UNSET,
        approved=approved,
        reason=request.form["reason"],
    )


@pages.post("/runs/{id}/signal")
async def signal(request: PageRequest) -> PageResponse:
    """Send a signal to a run; the payload is text or JSON."""
    name = request.form["name"]
    return await _control(
        request,
        "signal_run",
        f"{name} is told.",
        name=name,
        payload=_payload(request.form["payload"]),
    )


async def _control(
    request: PageRequest, operation: str, notice: str, **arguments: Any
) -> PageResponse:
    id = request.values["id"]
    back = f"/runs/{quote(id)}" if request.form["back"] != "approvals" else "/approvals"
    try:
        await request.run(operation, run=id, **arguments)
        if operation == "retry_run":  # the run is over until an executor takes it up
            back = f"{back}?follow=1"
    except ConflictError as error:  # the run changed meanwhile: show its current state
        return request.go(back, f"Nothing was done: {error.message}.")
    return request.go(back, notice)


def _payload(text: str) -> Any:
    """Return the payload of a signal: the text decoded as JSON if possible, else the text.

    Raises InvalidError if the JSON nests too deep.
    """
    try:
        value = decode_json(text)
        check_once(text.encode(errors="replace"), "payload")
    except NestingError as error:
        raise InvalidError("payload", f"is {error}") from None
    except msgspec.DecodeError:
        return text
    return value


@pages.get("/approvals")
async def list_approvals(request: PageRequest) -> PageResponse:
    found = await request.run("list_approvals", limit=50, cursor=request.query["cursor"] or UNSET)
    return await request.page(
        "workflows/approvals.html",
        section="/",
        found=found,
        may=request.user.may("approve"),
        shown=shown_value,
    )


DEAD_LETTERS: Final = "/dead-letters"
DEAD_LETTER_FILTERS: Final = {"": False, "replayed": True, "all": UNSET}
"""The filters of the page: the values of `show` in the query, each with the value of the argument
`replayed` for the operation `list_dead_letters`."""


@pages.get("/dead-letters")
async def list_dead_letters(request: PageRequest) -> PageResponse:
    which = request.query["show"]
    found = await request.run(
        "list_dead_letters",
        replayed=DEAD_LETTER_FILTERS.get(which, False),
        limit=20,
        run=request.query["run"] or UNSET,
        cursor=request.query["cursor"] or UNSET,
    )
    filters = request.query.given("show", "run")
    return await request.page(
        "workflows/dead_letters.html",
        found=found,
        which=which if which in DEAD_LETTER_FILTERS else "",
        here=f"{DEAD_LETTERS}?{urlencode(filters)}",
        shown=shown_value,
    )


@pages.get("/dead-letters/{id}")
async def dead_letter(request: PageRequest) -> PageResponse:
    letter = await request.run("get_dead_letter", id=request.values["id"])
    return await request.page(
        "workflows/dead_letter.html", letter=letter, value=shown_value(letter.body, MAX_SHOWN)
    )


@pages.post("/dead-letters/{id}/replay")
async def replay_dead_letter(request: PageRequest) -> PageResponse:
    id = request.values["id"]
    try:
        letter = await request.run("replay_dead_letter", id=id)
    except ConflictError as error:
        return request.go(DEAD_LETTERS, f"Nothing was done: {error.message}.")
    if letter.run_id:
        return request.go(f"/runs/{quote(letter.run_id)}?follow=1", "It is tried again.")
    return request.go(DEAD_LETTERS, "It is tried again.")
