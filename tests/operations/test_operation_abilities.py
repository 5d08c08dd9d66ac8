"""What operations may do follows from what they declare, and the runner holds them to it."""

from __future__ import annotations

from typing import Any

import pytest

from accord.operations.context import SYSTEM, Effect, OperationContext
from accord.operations.operation import Abilities, Operation, Rest, abilities
from accord.operations.registry import OperationOptions, Registry
from accord.operations.runner import exceeded_ability


def registry_of(**operations: OperationOptions) -> Registry:
    registry = Registry()
    for name, options in operations.items():

        async def function(work: OperationContext) -> None:
            """Do something."""

        function.__name__ = name
        registry.write(**options)(function)
    return registry


def able(registry: Registry, name: str) -> Abilities:
    return abilities(registry[name], registry)


def is_step(operation: Operation) -> bool:
    return operation.name.startswith("step")


@pytest.mark.req("M-22")
@pytest.mark.parametrize(
    ("steps", "destructive"),
    [
        ([False, False], False),
        ([False, True], True),
        ([None, True], True),
        ([False, None], None),
        ([], False),
    ],
)
def test_an_operation_that_runs_others_can_do_what_they_can(
    steps: list[bool | None], destructive: bool | None
) -> None:
    options: dict[str, Any] = {
        f"step{number}": {} if each is None else {"destructive": each, "open_world": each}
        for number, each in enumerate(steps)
    }
    registry = registry_of(
        other={"destructive": True, "open_world": True},
        batch={"runs": is_step, "destructive": False, "open_world": False},
        **options,
    )
    assert able(registry, "batch") == Abilities(destructive, destructive, False)


@pytest.mark.req("M-22")
def test_what_only_deletes_may_be_repeated() -> None:
    registry = registry_of(
        remove={"rest": Rest("DELETE", "/things/{id}"), "destructive": True},
        put={"rest": Rest("PUT", "/things/{id}")},
        plain={},
    )
    assert able(registry, "remove").idempotent
    assert not able(registry, "put").idempotent
    assert not able(registry, "plain").idempotent


def test_a_read_destroys_nothing() -> None:
    registry = Registry()

    @registry.read()
    async def look(work: OperationContext) -> None:
        """Look."""

    assert able(registry, "look") == Abilities(False, None, False)


@pytest.mark.req("M-22")
def test_a_call_is_compared_with_what_its_operation_may_do() -> None:
    work = OperationContext(None, SYSTEM, now="", new_id=str, engine="sqlite", services={})
    harmless = Abilities(False, False, False)
    assert exceeded_ability(work, harmless) == ""
    part = work.acting(SYSTEM, now="", new_id=str)
    part.did(Effect(action="updated", kind="epic", id="1"))
    assert exceeded_ability(work, harmless) == ""
    part.reaches("agents")
    assert exceeded_ability(work, harmless) == "reached agents without being declared open_world"
    part.did(Effect(action="deleted", kind="epic", id="1"))
    assert exceeded_ability(work, harmless) == "deleted epic without being declared destructive"
    assert exceeded_ability(work, Abilities(True, True, False)) == ""
    assert exceeded_ability(work, Abilities(None, None, False)) == ""
