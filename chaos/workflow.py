"""The workflow whose runs must survive: steps of every kind, and what has to come of them.

There are some copies of it, each with agents of its own (all are the one agent of the ledger): one
that is killed fails calls of many runs at once, and must not be left alone for a minute because of
that.
"""

from __future__ import annotations

from typing import Any, Final

from chaos.agent import answer_to

COPIES: Final = 5
ROUNDS: Final = 3
"""Of the loop."""
SLOW: Final = "slow"
"""The step that loses a race: nobody waits for what it does."""
SLOW_SECONDS: Final = 20.0
"""What it takes for it."""
LOOSE: Final = "loose"
"""The step that always fails, and is got over."""
BROKEN: Final = "left-again"
"""The step that fails once where a run is to fail."""
CHILD_STEP: Final = "below-it"
"""The step that is a run of its own."""

_DELAYS: Final = {
    "first": 0.02, "left": 0.0, "left-again": 0.08, "right": 0.15, "item": 0.01, "even": 0.05,
    "odd": 0.0, "quick": 0.0, SLOW: SLOW_SECONDS, "below": 0.05, LOOSE: 0.0,
}  # fmt: skip


_FAILS: Final = {LOOSE: 1_000_000, BROKEN: "${input.fails}"}
"""How many messages of it the agent fails."""


def agent_name(copy: int, step: str) -> str:
    return f"ledger-{copy}-{step}"


def agent_names() -> list[str]:
    return [agent_name(copy, step) for copy in range(COPIES) for step in _DELAYS]


def workflow_name(copy: int) -> str:
    return f"survivor-{copy}"


def child_name(copy: int) -> str:
    return f"survivor-child-{copy}"


def definitions() -> list[dict[str, Any]]:
    """All that are to be saved, in this order."""
    return [one for copy in range(COPIES) for one in (_child(copy), _workflow(copy))]


def _workflow(copy: int) -> dict[str, Any]:
    def ask(step: str, more: str = "") -> dict[str, Any]:
        return _ask(copy, step, more)

    names = ("first", "both", "each", "choice", "race", "go", CHILD_STEP)
    outputs = {name: f"${{steps.{name}.output}}" for name in names}
    return {
        "name": workflow_name(copy),
        "input": {"type": "object", "required": ["key", "number"]},
        "steps": [
            ask("first"),
            {**ask(LOOSE), "on_error": "continue"},
            {
                "name": "both",
                "type": "parallel",
                "branches": {"left": [ask("left"), ask("left-again")], "right": [ask("right")]},
            },
            {
                "name": "each",
                "type": "loop",
                "over": list(range(ROUNDS)),
                "mode": "parallel" if copy % 2 else "sequential",
                "body": [ask("item", " ${loop.index}")],
            },
            {
                "name": "choice",
                "type": "condition",
                "if": "${input.number % 2 == 0}",
                "then": [ask("even")],
                "else": [ask("odd")],
            },
            {
                "name": "race",
                "type": "parallel",
                "join": "any",
                "branches": {"quick": [ask("quick")], "slow": [ask(SLOW)]},
            },
            {"name": "go", "type": "wait", "signal": "go"},
            {"name": "rest", "type": "wait", "for": 0.05},
            {
                "name": CHILD_STEP,
                "type": "workflow",
                "workflow": child_name(copy),
                "input": {"key": "${input.key}"},
            },
            {
                "name": "note",
                "type": "call",
                "operation": "create_epic",
                "input": {"title": "${input.key}"},
            },
        ],
        "output": {**outputs, "note": "${steps.note.output.title}"},
    }


def _child(copy: int) -> dict[str, Any]:
    steps = [_ask(copy, "below"), {"name": "short", "type": "wait", "for": 0.02}]
    return {"name": child_name(copy), "steps": steps, "output": "${steps.below.output}"}


def _ask(copy: int, step: str, more: str = "") -> dict[str, Any]:
    text = f"${{input.key}} {step}{more}"
    return {
        "name": step,
        "type": "agent",
        "agent": agent_name(copy, step),
        "input": {"text": text, "delay": _DELAYS[step], "fails": _FAILS.get(step, 0)},
    }


def signal_payload(key: str) -> dict[str, Any]:
    return {"for": key}


def expected_output(key: str, number: int) -> dict[str, Any]:
    """What a run has to give."""

    def said(step: str) -> str:
        return answer_to(f"{key} {step}")

    return {
        "first": said("first"),
        "both": {"left": said("left-again"), "right": said("right")},
        "each": [said(f"item {index}") for index in range(ROUNDS)],
        "choice": said("odd" if number % 2 else "even"),
        "race": {"quick": said("quick"), "slow": None},
        "go": signal_payload(key),
        CHILD_STEP: said("below"),
        "note": key,
    }


def expected_texts(key: str, number: int) -> set[str]:
    """What the agent is asked, each exactly once; `SLOW` is asked once at most."""
    items = [f"item {index}" for index in range(ROUNDS)]
    choice = "odd" if number % 2 else "even"
    steps = ["first", "left", "left-again", "right", *items, choice, "quick", "below"]
    return {f"{key} {step}" for step in steps}


def expected_tasks(number: int) -> set[str]:
    """The tasks of a run that succeed; `SLOW` is cancelled."""
    items = {f"item[{index}]" for index in range(ROUNDS)}
    choice = "odd" if number % 2 else "even"
    return items | {"first", "left", "left-again", "right", choice, "quick", CHILD_STEP, "note"}


def expected_steps(number: int) -> set[str]:
    """All steps that start, each exactly once."""
    others = {LOOSE, "both", "each", "choice", "race", SLOW, "go", "rest"}
    return expected_tasks(number) | others


CHILD_TASKS: Final = {"below"}
CHILD_STEPS: Final = {"below", "short"}
