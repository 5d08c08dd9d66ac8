"""Recorded histories: the definition in the first line, then one event a line. Run as a program this
module records them again; what changes then is what older histories mean."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, json

from accord.workflows.core.definition import Definition
from accord.workflows.core.events import Event, decode_event, encode_event
from accord.workflows.core.reading import read_text
from tests.workflows.core.run import Run, agent, wait
from tests.workflows.core.test_definitions import REVIEW

FOLDER = Path(__file__).parent / "histories"


class Recorded(Struct, frozen=True):
    name: str
    definition: Definition
    history: list[Event]


def read_histories() -> Iterator[Recorded]:
    for path in sorted(FOLDER.glob("*.jsonl")):
        first, *rest = path.read_bytes().splitlines()
        definition = json.decode(first, type=Definition)
        yield Recorded(path.stem, definition, [decode_event(line) for line in rest])


def _runs() -> dict[str, Run]:
    return {
        "review": _review().done("comment[1]").done("comment[0]").done("child").signal("go", "now"),
        "review-failing": _review().fail("comment[1]").done("tell").fail("child").done("report"),
        "people": _people(),
        "loops": _loops(),
        "prose": _prose(),
    }


def _review() -> Run:
    """A review up to its loop."""
    definition = json.decode(json.encode(read_text(REVIEW, "yaml")))
    del definition["name"]
    run = Run(*definition.pop("steps"), **definition).start({"requirement": "1"})
    run.done("load", '{"description": "The shop shall answer."}', data={"a": 1}).done("load")
    run.done("threats", {"found": []}, attempts=2).ask("ears", "in which language?")
    return run.signal("ears", "English").done("ears", "fine").approve("approve", "good").later(1)


def _people() -> Run:
    run = Run(
        agent("a"), wait("w", approval={"by": ["ann"], "timeout": 60}), wait("s", signal="go")
    )
    run.start().pause().done("a", 1).resume().ask("a").approve("w", "no", approved=False)
    return run.retry("w").approve("w@2", "yes").cancel("enough").retry("s").signal("go", {"x": 1})


def _loops() -> Run:
    inner: dict[str, Any] = {
        "name": "i",
        "type": "loop",
        "while": "${loop.index < loop.parent.item}",
        "on_error": "collect",
        "body": [agent("a", "${loop.parent.item}", timeout=5)],
    }
    run = Run({"name": "o", "type": "loop", "over": [1, 2], "mode": "parallel", "body": [inner]})
    run.start().done("a[0][0]", "x").fail("a[1][0]").later(5)
    return run


def _prose() -> Run:
    steps = agent("a"), agent("b", "${steps.a.output.x}", on_error="continue"), agent("c")
    return Run(*steps).start().done("a", "no JSON at all").done("c", 1)


def record() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, run in _runs().items():
        lines = [json.encode(run.program.definition), *map(encode_event, run.history)]
        (FOLDER / f"{name}.jsonl").write_bytes(b"\n".join(lines) + b"\n")


if __name__ == "__main__":
    record()
