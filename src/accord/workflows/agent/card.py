"""The card of the agent that workflows are. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from accord.a2a.protocol.card import JSON, TEXT, AgentCard, Interface, Skill, bearer_scheme
from accord.a2a.protocol.fields import Wire
from accord.workflows.agent.operations import Offered

DESCRIPTION: Final = (
    "Runs workflows: message.metadata.skill names one. Send credentials with the request for this "
    "card to see which there are."
)
_ANY: Final = Skill(
    id="run",
    name="run a workflow",
    description="Which workflows there are is told to whoever sends credentials.",
    tags=("workflow",),
)


def workflow_card(url: str, *, name: str, version: str, offered: Sequence[Offered]) -> AgentCard:
    """The card, with a skill for each workflow that is offered."""
    return AgentCard(
        name=name,
        description=DESCRIPTION,
        version=version,
        interfaces=tuple(Interface(url=url, version=wire) for wire in (Wire.V10, Wire.V03)),
        skills=tuple(map(_skill, offered)) or (_ANY,),
        streaming=True,
        input_modes=(TEXT, JSON),
        output_modes=(TEXT, JSON),
        security_schemes={"bearer": bearer_scheme()},
    )


def _skill(offered: Offered) -> Skill:
    return Skill(
        id=offered.name,
        name=offered.name,
        description=offered.description or f"Runs the workflow {offered.name}.",
        tags=("workflow",),
    )
