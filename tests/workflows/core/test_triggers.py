"""`on`: what starts runs by itself, what is wrong with it, and what it gives."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import json

from accord.workflows.core.definition import Definition, Trigger
from accord.workflows.core.errors import CronError, DefinitionError, EvaluationError
from accord.workflows.core.reading import read_definition, read_text
from accord.workflows.core.rules import Known
from accord.workflows.core.triggers import (
    WORDS,
    Cron,
    applies,
    compile_trigger,
    input_for,
    read_cron,
)

STEPS = [{"name": "ask", "type": "agent", "agent": "a"}]
EVENT = {"id": "7", "after": {"priority": 1, "title": "Log in"}, "before": None}


def problems(on: Any, known: Known | None = None) -> list[str]:
    value = {"name": "w", "on": on, "steps": STEPS}
    try:
        read_definition(value, known or Known())
    except DefinitionError as error:
        return [str(problem) for problem in error.problems]
    return []


def test_triggers_are_read_from_yaml_and_kept() -> None:
    text = """
name: review
on:
  - requirement.created
  - {event: requirement.updated, filter: "${event.after.priority == 1}", input: {id: "${event.id}"}}
  - {schedule: "0 9 * * 1-5", timezone: Europe/Berlin, input: {day: "${schedule.at}"}}
  - {webhook: build, secret: "env:ACCORD_SECRET_BUILD", input: "${request.body}"}
  - {webhook: other, secret: "file:other.key"}
steps: [{name: ask, type: agent, agent: a}]
"""
    read = read_text(text, "yaml")
    assert read.on == (
        Trigger(event="requirement.created"),
        Trigger(
            event="requirement.updated",
            filter="${event.after.priority == 1}",
            input={"id": "${event.id}"},
        ),
        Trigger(schedule="0 9 * * 1-5", timezone="Europe/Berlin", input={"day": "${schedule.at}"}),
        Trigger(webhook="build", secret="env:ACCORD_SECRET_BUILD", input="${request.body}"),
        Trigger(webhook="other", secret="file:other.key"),
    )
    assert [each.kind for each in read.on] == ["event", "event", "schedule", "webhook", "webhook"]
    assert json.decode(json.encode(read), type=Definition) == read


def test_one_event_is_a_text() -> None:
    read = read_text("name: w\non: epic.deleted\nsteps: [{name: a, type: agent, agent: b}]", "yaml")
    assert read.on == (Trigger(event="epic.deleted"),)


EVENTS = "KIND.created, KIND.updated or KIND.deleted, as in requirement.created"
CRON = "minute hour day month weekday, as in 0 9 * * 1-5, or @daily and its like"
SECRET = (
    "this is no reference to a secret "
    "(env:ACCORD_SECRET_NAME or file:NAME, never the secret itself)"
)


@pytest.mark.parametrize(
    ("on", "found"),
    [
        ("requirement", [f"on: 'requirement' is no event ({EVENTS})"]),
        (["requirement.made"], [f"on[0]: 'requirement.made' is no event ({EVENTS})"]),
        (7, ["on: an event or a list is needed, not a number"]),
        ([7], ["on[0]: a trigger is a text or an object, not a number"]),
        ([{}], ["on[0]: exactly one of event, schedule, webhook is needed, and none is there"]),
        ([{"event": 3}], [f"on[0].event: '3' is no event ({EVENTS})"]),
        (
            [{"event": "a.created", "schedule": "@daily"}],
            ["on[0]: exactly one of event, schedule, webhook is needed, not event and schedule"],
        ),
        (
            [{"event": "a.created", "timezone": "UTC"}],
            ["on[0].timezone: 'timezone' goes with 'schedule' only"],
        ),
        ([{"schedule": 5}], ["on[0].schedule: a schedule is a text, not a number"]),
        (
            [{"schedule": "0 9 *"}],
            [f"on[0].schedule: '0 9 *' is no schedule: it has 3 fields, not 5 ({CRON})"],
        ),
        ([{"webhook": "w"}], ["on[0].secret: 'secret' is missing"]),
        ([{"webhook": "w", "secret": "hunter2"}], [f"on[0].secret: {SECRET}"]),
        ([{"webhook": "w", "secret": 2}], [f"on[0].secret: {SECRET}"]),
        (
            [{"webhook": "w", "secret": "file:a"}, {"webhook": "w", "secret": "file:b"}],
            ["on[0].webhook: 'w' is there twice", "on[1].webhook: 'w' is there twice"],
        ),
        (["a.created"] * 21, ["on: 21 triggers are over the limit of 20"]),
        (
            [{"event": "a.created", "filter": "yes"}],
            ["on[0].filter: one expression is needed (write it as ${…}, with nothing around)"],
        ),
        (
            [{"event": "a.created", "input": {"x": "${input.y}"}}],
            [
                "on[0].input.x: the expression cannot be read: there is no 'input'; there are "
                "event.…, at character 3"
            ],
        ),
        (
            [{"schedule": "@daily", "input": "${[1].map(schedule, 2)}"}],
            [
                "on[0].input: the expression cannot be read: 'schedule' cannot be a variable, at "
                "character 11"
            ],
        ),
        (
            [{"event": "a.created", "input": "${steps.ask.output}"}],
            ["on[0].input: steps.ask.output is not there (no step has run before a run)"],
        ),
        (
            [{"event": "a.created", "input": "${loop.item}"}],
            ["on[0].input: loop.item is not in so many loops (there are 0 loops around it)"],
        ),
    ],
)
def test_what_is_wrong_with_a_trigger_is_told_with_its_place(on: Any, found: list[str]) -> None:
    assert problems(on) == found


def test_kinds_and_timezones_are_looked_up_where_they_are_known() -> None:
    known = Known(kinds=frozenset({"requirement"}), timezones=frozenset({"UTC", "Europe/Berlin"}))
    on = [
        "requirment.created",
        {"schedule": "@daily", "timezone": "Europe/Berlim"},
        {"schedule": "@daily"},
        "requirement.created",
    ]
    assert problems(on, known) == [
        "on[0].event: there is no kind 'requirment' (did you mean 'requirement'?)",
        "on[1].timezone: there is no timezone 'Europe/Berlim' (did you mean 'Europe/Berlin'?)",
    ]


def test_expressions_of_steps_do_not_see_events() -> None:
    steps = [{"name": "ask", "type": "agent", "agent": "a", "input": "${event.id}"}]
    with pytest.raises(DefinitionError, match="there is no 'event'"):
        read_definition({"name": "w", "on": "a.created", "steps": steps})


def test_a_filter_decides_and_the_input_is_made_of_what_is_seen() -> None:
    start = compile_trigger(
        Trigger(
            event="a.created",
            filter="${event.after.priority <= 2}",
            input={"text": "${event.id}: ${event.after.title}"},
        )
    )
    assert applies(start, EVENT)
    assert not applies(start, {"after": {"priority": 3}})
    assert input_for(start, EVENT) == {"text": "7: Log in"}
    with pytest.raises(EvaluationError, match=r"event\.after\.priority is not there"):
        applies(start, {"after": None})


def test_without_an_input_what_is_seen_is_the_input() -> None:
    event = compile_trigger(Trigger(event="a.created"))
    assert applies(event, EVENT)
    assert input_for(event, EVENT) == EVENT
    at = {"at": "2026-11-15T09:00:00Z"}
    assert input_for(compile_trigger(Trigger(schedule="@daily")), at) == at
    webhook = compile_trigger(Trigger(webhook="w", secret="file:w"))
    assert input_for(webhook, {"body": [1], "id": "x"}) == [1]


def test_expressions_that_nobody_checked_find_neither_steps_nor_loops() -> None:
    for wrong, found in (("${steps.a.output}", "no step"), ("${loop.item}", "no loop")):
        start = compile_trigger(Trigger(event="a.created", input=wrong))
        with pytest.raises(EvaluationError, match=found):
            input_for(start, EVENT)


def test_a_schedule_has_five_fields() -> None:
    assert read_cron("*/20 9-17/4,22 1,15 jan,JUL mon-fri") == Cron(
        minutes=frozenset({0, 20, 40}),
        hours=frozenset({9, 13, 17, 22}),
        days=frozenset({1, 15}),
        months=frozenset({1, 7}),
        weekdays=frozenset({1, 2, 3, 4, 5}),
        either=True,
    )
    sunday = read_cron("5/25 0 * * 7")
    assert (sunday.minutes, sunday.weekdays) == (frozenset({5, 30, 55}), frozenset({0}))
    assert read_cron("0 0 * * */2").weekdays == {0, 2, 4, 6}
    assert [read_cron(text) for text in WORDS.values()] == [read_cron(word) for word in WORDS]
    assert read_cron("@hourly").every_hour
    assert not read_cron("@daily").every_hour


def test_a_day_fits_both_or_where_both_are_restricted_one_of_them() -> None:
    both, either = read_cron("0 0 13 * *"), read_cron("0 0 13 * fri")
    assert both.has_day(11, 13, 5)
    assert not both.has_day(11, 14, 5)
    assert either.has_day(11, 14, 5)
    assert either.has_day(11, 13, 1)
    assert not either.has_day(11, 14, 1)
    assert not read_cron("0 0 * 1 *").has_day(2, 1, 0)
    assert read_cron("0 0 31 2 mon").has_day(2, 2, 1)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "it has 0 fields, not 5"),
        ("@never", "it has 1 fields, not 5"),
        ("60 * * * *", "'60' is no minute (0-59)"),
        ("* 24 * * *", "'24' is no hour (0-23)"),
        ("* * 0 * *", "'0' is no day (1-31)"),
        ("* * * 13 *", "'13' is no month (1-12)"),
        ("* * * * 8", "'8' is no weekday (0-7)"),
        ("* * * * mo", "'mo' is no weekday (0-7)"),
        ("1- * * * *", "'' is no minute (0-59)"),
        ("-1 * * * *", "'' is no minute (0-59)"),
        ("1,,2 * * * *", "'' is no minute (0-59)"),
        ("*/0 * * * *", "the minute '*/0' has no step"),
        ("*/x * * * *", "the minute '*/x' has no step"),
        ("٣ * * * *", "'٣' is no minute (0-59)"),
        ("99999999 * * * *", "'99999999' is no minute (0-59)"),
        ("* * * * fri-mon", "the weekday 'fri-mon' ends before it begins"),
        ("0 0 30 2 *", "there is no such day"),
        ("0 0 31 2,4 *", "there is no such day"),
        ("*" * 201, "it has more than 200 characters"),
    ],
)
def test_what_is_no_schedule_is_refused(text: str, found: str) -> None:
    with pytest.raises(CronError) as error:
        read_cron(text)
    assert str(error.value) == found
