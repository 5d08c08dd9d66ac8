"""What a definition must fit when it is saved: its own rules, and what there is in this
installation. Everything that is wrong is told at once."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from accord.operations.errors import FieldError, InvalidError
from accord.operations.logs.redaction import masked
from accord.operations.operation import Operation
from accord.operations.registry import Registry
from accord.operations.rights import IN_PERSON
from accord.operations.work import Database
from accord.workflows.core.definition import Definition
from accord.workflows.core.errors import DefinitionError, Problem
from accord.workflows.core.reading import read_definition, read_text
from accord.workflows.core.rules import Arguments, Known
from accord.workflows.step_type import StepTypes
from accord.workflows.storage.agents import NAMES
from accord.workflows.storage.definitions import VERSIONS
from accord.workflows.triggers.cron import known_timezones

Given: TypeAlias = dict[str, Any] | str
"""A definition as JSON, `{"source": "…"}` with its YAML, or the YAML itself."""

NOT_FROM_RUNS: Final = IN_PERSON | {"approve"}
"""Rights whose operations a run has not, whoever started it: they are for people who are there."""


class DefinitionRefusedError(InvalidError):
    """A definition has problems; `data` has all of them, each with its path."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        count = len(problems)
        said = "1 problem" if count == 1 else f"{count} problems"
        super().__init__(
            "",
            f"the definition has {said}: {problems[0]}",
            problems=[
                {"path": each.path, "message": masked(each.message), "hint": masked(each.hint)}
                for each in problems
            ],
        )
        self.errors = tuple(FieldError(_pointer(each.path), _sentence(each)) for each in problems)


async def known_things(
    db: Database, registry: Registry, kinds: frozenset[str] | None, steps: StepTypes
) -> Known:
    """What a definition may refer to; `kinds` are those of which there are events, `steps` what
    plugins add."""
    workflows = await db.fetch(VERSIONS)
    return Known(
        agents=frozenset(row["name"] for row in await db.fetch(NAMES)),
        operations=callable_operations(registry),
        workflows=frozenset(
            name for row in workflows for name in (row["name"], f"{row['name']}@{row['version']}")
        ),
        kinds=kinds,
        timezones=known_timezones(),
        steps=steps.taken,
    )


def callable_operations(registry: Registry) -> dict[str, Arguments]:
    """The operations that runs may call, with what they take."""
    return {
        each.name: Arguments(
            frozenset(parameter.name for parameter in each.parameters),
            frozenset(parameter.name for parameter in each.parameters if parameter.required),
        )
        for each in registry
        if is_callable(each)
    }


def is_callable(operation: Operation) -> bool:
    """Return whether runs may call an operation, as whoever started them."""
    return operation.right not in NOT_FROM_RUNS


def read_given(given: Given, known: Known) -> Definition:
    """The definition that somebody sent. Raises DefinitionRefusedError."""
    try:
        if isinstance(given, str):
            return read_text(given, "yaml", known)
        if set(given) == {"source"} and isinstance(given["source"], str):
            return read_text(given["source"], "yaml", known)
        return read_definition(given, known)
    except DefinitionError as error:
        raise DefinitionRefusedError(error.problems) from None
    except ImportError as error:
        raise InvalidError(
            "", "YAML is not read here: send JSON (it needs accord[workflows])"
        ) from error


def _sentence(problem: Problem) -> str:
    return f"{problem.message} ({problem.hint})" if problem.hint else problem.message


def _pointer(path: str) -> str:
    """The place as a JSON pointer; nothing for one that is none, such as a line of YAML."""
    steps = path.replace("[", ".").replace("]", "").split(".")
    if path == "definition" or " " in path:
        return ""
    return "".join(f"/{step.replace('~', '~0').replace('/', '~1')}" for step in steps)
