"""What somebody has in the hub, made over REST: something of every kind, by its name."""

from __future__ import annotations

from typing import Any

from tests.hub.system.installation import Answer, Wire


def made(answer: Answer) -> Any:
    assert answer.status in (200, 201, 202), answer
    return answer.json


def things_of(mine: Wire, name: str, prompt: str = "") -> dict[str, Any]:
    """All that `$names` in arguments stand for, made by a writer."""

    def make(path: str, **arguments: Any) -> Any:
        return made(mine.rest("POST", path, **arguments))

    epic = make("/epics", title=f"Till of {name}")["reference_id"]
    story = make("/user-stories", epic_id=epic, title="Pay")["reference_id"]
    criteria = make("/acceptance-criteria", user_story_id=story, description="Paid.")
    requirement, second = (
        make("/requirements", user_story_id=story, title=title, description="It shall charge.")
        for title in ("Charge", "Refund")
    )
    link = make(
        "/relationships",
        source_id=requirement["id"],
        target_id=second["id"],
        type="blocks",
    )
    label = make("/labels", name=f"label of {name}")["name"]
    make("/items/{id}/labels", id=requirement["id"], label=label)
    steps = [{"operation": "create_epic", "arguments": {"title": "Till"}}]
    return {
        "epic": epic,
        "story": story,
        "criteria": criteria["reference_id"],
        "requirement": requirement["reference_id"],
        "second": second["reference_id"],
        "relationship": link["id"],
        "change": link["change_id"],
        "label": label,
        "document": make("/steering-documents", title="Security")["reference_id"],
        "view": make("/views", name=f"View of {name}", filter={})["id"],
        "baseline": make("/baselines", name=f"First of {name}")["id"],
        "proposal": make("/proposals", steps=steps, reason="We need it.")["id"],
        "comment": comment_of(mine, requirement["id"]),
        "prompt": prompt,
    }


WORKFLOW = {
    "name": "decide",
    "steps": [
        {"name": "ok", "type": "wait", "approval": {"by": ["administrator", "user"]}},
    ],
}
"""Waits for somebody."""


def workflow_things(boss: Wire) -> dict[str, Any]:
    """What only an administrator makes, and everybody can name."""
    agent = made(boss.rest("POST", "/agents", name="reviewer", url="https://agents.invalid/"))
    workflow = made(boss.ask("POST", "/api/v1/workflows", WORKFLOW))
    return {"agent": agent["name"], "workflow": workflow["name"], "letter": NO_LETTER}


NO_LETTER = "11111111-2222-4333-8444-555555555555"


def run_of(mine: Wire) -> str:
    id: str = made(mine.rest("POST", "/workflows/{name}/runs", name=WORKFLOW["name"]))["id"]
    return id


def things_of_another(other: Wire) -> dict[str, Any]:
    """A proposal and a run of somebody else, who may decide on neither."""
    steps = [{"operation": "create_epic", "arguments": {"title": "Till"}}]
    proposed = made(other.rest("POST", "/proposals", steps=steps, reason="We need it."))
    return {"proposal_of_another": proposed["id"], "run_of_another": run_of(other)}


def comment_of(mine: Wire, target: str) -> str:
    id: str = made(mine.rest("POST", "/comments", target_id=target, text="Why?"))["id"]
    return id


def filled(arguments: dict[str, Any], things: dict[str, Any]) -> dict[str, Any]:
    """Arguments in which `$name` is what it stands for."""
    return {
        name: things[value[1:]] if isinstance(value, str) and value.startswith("$") else value
        for name, value in arguments.items()
    }
