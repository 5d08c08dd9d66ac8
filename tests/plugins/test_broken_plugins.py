"""Plugins that cannot be used: they are told of by name, and stop a server or are left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.command import accord, environment
from tests.plugins.packages import add_package

OPERATIONS = """
from accord.plugins import Operations, Rest, Work
from accord.operations.registry import Registry

def made(name, **options):
    operations = Operations()
    async def function(work: Work) -> int:
        "Count."
        return 1
    function.__name__ = name
    operations.read(**options)(function)
    return operations

shadow = made("list_epics", right="read")
misspelt = made("count_one", right="raed")
below = made("count_two", right="read", rest=Rest("GET", "/epics/stale"))
anything = made("count_three", right="read", rest=Rest("GET", "/{anything}"))
unfilled = made("count_four", right="read", rest=Rest("GET", "/others/{id}"))
plain = Registry()
fine = made("count_five", right="read", rest=Rest("GET", "/counts"))
"""
STEPS = """
from accord.plugins import StepTask, step_type

@step_type()
async def fine(task: StepTask) -> None:
    "Do nothing."
"""
IMPORTERS = """
from accord.plugins import Format
other = Format("other", "text/plain", (".other",), str, iter)
json = Format("json", "text/plain", (".json5",), str, iter)
table = Format("table", "text/plain", (".csv",), str, iter)
"""


def add_all(folder: Path) -> None:
    names = ("shadow", "misspelt", "below", "anything", "unfilled", "plain", "fine", "missing")
    points = {"accord.operations": {name: name for name in names}}
    add_package(folder, "bad-operations", OPERATIONS, points)
    right = "from accord.plugins import Operations\nOperations().write()(print)\n"
    add_package(folder, "no-right", right, {"accord.operations": {"rightless": "operations"}})
    exits = {"accord.steps": {"exits": "it"}}
    add_package(folder, "bad-exit", "import sys; sys.exit('I am leaving')", exits)
    steps = {"agent": "fine", "plugin": "fine", "a b": "fine", "twice": "fine", "odd": "StepTask"}
    add_package(folder, "bad-steps", STEPS, {"accord.steps": steps})
    add_package(folder, "also-steps", STEPS, {"accord.steps": {"twice": "fine", "good": "fine"}})
    formats = {"json": "json", "table": "table", "another": "other", "other": "other"}
    add_package(folder, "bad-importers", IMPORTERS, {"accord.importers": formats})
    add_package(folder, "bad-transports", "no = 1", {"accord.transports": {"tcp": "no", "x": "no"}})


def listed(folder: Path, *flags: str) -> dict[str, Any]:
    env = environment(PYTHONPATH=str(folder))
    done = accord("plugin", "list", "--json", *flags, env=env)
    found: dict[str, Any] = json.loads(done.out)
    assert done.code == int(any(each["state"] == "failed" for each in found["plugins"]))
    return found


def test_each_says_why_and_the_good_ones_are_loaded(empty: Path) -> None:
    add_all(empty)
    found = {
        (each["point"].removeprefix("accord."), each["package"], each["name"]): each["why"]
        or each["adds"]
        for each in listed(empty)["plugins"]
    }
    operations = {name: why for (point, _, name), why in found.items() if point == "operations"}
    prefix = "plugin {!r} of bad-operations 1.0: "
    assert operations == {
        "anything": prefix.format("anything")
        + "operation 'count_three': the path /{anything} does not begin with a word of its own, as in /stale",
        "below": prefix.format("below")
        + "operation 'count_two': the path /epics/stale does not begin with a word of its own, as in /stale",
        "fine": ["count_five"],
        "misspelt": prefix.format("misspelt")
        + "operation 'count_one': there is no right 'raed', only read, comment, write, propose, delete, run, approve, admin, accounts, session",
        "missing": prefix.format("missing")
        + "bad_operations:missing cannot be loaded: AttributeError: module 'bad_operations' has no attribute 'missing'",
        "plain": prefix.format("plain") + "bad_operations:plain is no accord.plugins.Operations",
        "rightless": "plugin 'rightless' of no-right 1.0: no_right:operations cannot be loaded: TypeError: an operation of a plugin says which right it needs: right=…",
        "shadow": prefix.format("shadow") + "operation 'list_epics': there is one of that name",
        "unfilled": prefix.format("unfilled")
        + "operation 'count_four': RegistrationError: GET /others/{id}: count_four has no parameter 'id'",
    }
    ours = "its name is no type of a step, or one of ours"
    two = "there are two plugins 'twice' in accord.steps: of also-steps and bad-steps"
    prefix = "plugin {!r} of bad-steps 1.0: "
    assert {key[1:]: why for key, why in found.items() if key[0] == "steps"} == {
        ("also-steps", "good"): ["good"],
        ("also-steps", "twice"): two,
        (
            "bad-exit",
            "exits",
        ): "plugin 'exits' of bad-exit 1.0: bad_exit:it cannot be loaded: SystemExit: I am leaving",
        ("bad-steps", "a b"): prefix.format("a b") + ours,
        ("bad-steps", "agent"): prefix.format("agent") + ours,
        ("bad-steps", "odd"): prefix.format("odd")
        + "bad_steps:StepTask is not made by accord.plugins.step_type",
        ("bad-steps", "plugin"): prefix.format("plugin") + ours,
        ("bad-steps", "twice"): two,
    }
    prefix = "plugin {!r} of bad-importers 1.0: "
    assert {key[2]: why for key, why in found.items() if key[0] == "importers"} == {
        "another": prefix.format("another")
        + "bad_importers:other is no accord.plugins.Format with the name 'another'",
        "json": prefix.format("json") + "its name is that of another format",
        "other": ["other"],
        "table": prefix.format("table") + "files have no suffix of its own: .csv",
    }
    prefix = "plugin {!r} of bad-transports 1.0: "
    assert {key[2]: why for key, why in found.items() if key[0] == "transports"} == {
        "tcp": prefix.format("tcp") + "its name is no URL scheme, or one of ours",
        "x": prefix.format("x") + "bad_transports:no is no accord.plugins.Transport",
    }


def test_a_server_does_not_start_without_a_step_or_an_operation(empty: Path) -> None:
    add_package(empty, "bad-steps", "1 / 0", {"accord.steps": {"mail": "mail"}})
    env = environment(PYTHONPATH=str(empty))
    data = empty.parent / "data"
    done = accord("serve", "--data", str(data), "--port", "0", env=env)
    assert (done.code, done.out) == (2, "")
    assert (
        "plugin 'mail' of bad-steps 1.0: bad_steps:mail cannot be loaded: ZeroDivisionError: "
        "division by zero: repair it, or take it out of `plugins`"
    ) in done.err
    assert not data.exists(), "nothing was made that a second start would miss"
    done = accord("serve", "--data", str(data), "--plugins", "accord-nope", env=env)
    assert (done.code, done.out) == (2, "")
    assert "plugins: accord-nope is not installed, or has no plugin" in done.err


def test_the_setting_says_whose_plugins_are_used(packages: dict[str, str]) -> None:
    states = {
        each["package"]: each["state"]
        for each in listed(Path(packages["PYTHONPATH"]), "--plugins", "Accord_Mail")["plugins"]
    }
    assert states == {
        "accord-deflate": "loaded",
        "accord-mail": "loaded",
        "accord-stale": "off",
        "accord-strictdoc": "off",
    }


def test_without_plugins_the_list_says_so(packages: dict[str, str]) -> None:
    done = accord("plugin", "list")
    assert (done.code, done.out) == (0, "no plugins are installed\n")
    lines = accord("plugin", "list", env=packages).out.splitlines()
    assert [line.split()[:5] for line in lines[:2]] == [
        ["package", "version", "point", "name", "state"],
        ["accord-stale", "1.0", "accord.operations", "stale", "loaded"],
    ]


def test_a_url_of_a_broken_transport_names_its_plugin(empty: Path) -> None:
    add_package(empty, "bad-wire", "no = 1", {"accord.transports": {"wire": "no"}})
    done = accord("call", "wire://x", "add", env=environment(PYTHONPATH=str(empty)))
    assert done.code == 3
    assert "plugin 'wire' of bad-wire 1.0: bad_wire:no is no accord.plugins.Transport" in done.err
