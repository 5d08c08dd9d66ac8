"""Operations on workflows: save, validate, list and activate versions.

A saved version never changes. A definition must be valid by itself, and refer only to agents,
operations and workflows of this installation. All problems are reported at once.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from accord.operations.context import Changed, Database, Effect, OperationContext
from accord.operations.errors import ConflictError, FieldError, InvalidError, NotFoundError
from accord.operations.logs import masked
from accord.operations.operation import Rest
from accord.operations.pages import Cursor, Limit, Page, cursor_keys, page_of
from accord.operations.registry import Registry
from accord.store.store import Row
from accord.workflows.bridge.task import is_callable
from accord.workflows.core.definition import Definition, find_places
from accord.workflows.core.errors import DefinitionError, Problem
from accord.workflows.core.reading import encode_definition, read_definition, read_text
from accord.workflows.core.rules import Arguments, Known
from accord.workflows.core.state import RunStatus
from accord.workflows.operations.run_views import request_time, utc_text
from accord.workflows.step_type import StepTypes
from accord.workflows.storage import definitions
from accord.workflows.storage.agents import NAMES
from accord.workflows.storage.definitions import WORKFLOW_VERSIONS
from accord.workflows.storage.runs import starter_of
from accord.workflows.triggers.events import Events
from accord.workflows.triggers.triggers import known_timezones, renew_triggers, save_triggers

DefinitionInput: TypeAlias = dict[str, Any] | str
"""A definition: a JSON object, a text in YAML, or an object `{"source": …}` with such a text."""


class DefinitionRefusedError(InvalidError):
    """A definition has problems; `data` lists all of them with their paths."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        count = len(problems)
        problems_text = "1 problem" if count == 1 else f"{count} problems"
        super().__init__(
            "",
            f"the definition has {problems_text}: {problems[0]}",
            problems=[
                {"path": each.path, "message": masked(each.message), "hint": masked(each.hint)}
                for each in problems
            ],
        )
        self.errors = tuple(FieldError(_pointer(each.path), _sentence(each)) for each in problems)


async def known_names(
    db: Database, registry: Registry, kinds: frozenset[str] | None, steps: StepTypes
) -> Known:
    """Return the names in this installation that a definition may refer to.

    `kinds` are the kinds of entities whose changes can start runs, `steps` the step types of
    plugins.
    """
    workflows = await db.fetch(WORKFLOW_VERSIONS)
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
    """Return the operations that steps may call, with the names of their arguments."""
    return {
        each.name: Arguments(
            frozenset(parameter.name for parameter in each.parameters),
            frozenset(parameter.name for parameter in each.parameters if parameter.required),
        )
        for each in registry
        if is_callable(each)
    }


def read_definition_input(source: DefinitionInput, known: Known) -> Definition:
    """Read a definition from a request.

    Raise DefinitionRefusedError if the definition has problems, InvalidError if PyYAML is missing.
    """
    try:
        if isinstance(source, str):
            return read_text(source, "yaml", known)
        if set(source) == {"source"} and isinstance(source["source"], str):
            return read_text(source["source"], "yaml", known)
        return read_definition(source, known)
    except DefinitionError as error:
        raise DefinitionRefusedError(error.problems) from None
    except ImportError as error:
        raise InvalidError(
            "", "YAML is not read here: send JSON (it needs accord[workflows])"
        ) from error


def _sentence(problem: Problem) -> str:
    return f"{problem.message} ({problem.hint})" if problem.hint else problem.message


def _pointer(path: str) -> str:
    """Convert the path of a problem to a JSON pointer into the definition.

    It is empty if the path does not lead to a part of the definition.
    """
    steps = path.replace("[", ".").replace("]", "").split(".")
    if path == "definition" or " " in path:
        return ""
    return "".join(f"/{step.replace('~', '~0').replace('/', '~1')}" for step in steps)


operations: Final = Registry()

WorkflowName: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}(@[1-9][0-9]{0,8})?$",
        description="NAME, which is its newest version, or NAME@VERSION.",
    ),
]

YAML: Final = ("application/yaml", "application/x-yaml", "text/yaml")

NO_VERSION: Final = 2**31 - 1
"""A number greater than every version, with which a list begins at the newest version."""


class LastRun(Struct, kw_only=True):
    """The run of a workflow that was started last."""

    id: str
    state: RunStatus
    created_at: str
    finished_at: str | None


class WorkflowSummary(Changed, kw_only=True):
    id: str
    """NAME@VERSION."""
    name: str
    version: int
    description: str
    active: bool
    """Whether runs may be started."""
    creator: str
    created_at: str
    input: Any = None
    """The JSON Schema of what a run takes."""
    triggers: list[str]
    """What starts runs by itself: names of events, schedules, webhooks."""


class ListedWorkflow(WorkflowSummary, kw_only=True):
    last_run: LastRun | None


class Workflow(WorkflowSummary, kw_only=True):
    definition: dict[str, Any]


class ValidatedDefinition(Struct, kw_only=True):
    """A definition without problems."""

    __schema_name__ = "Validated"

    valid: bool
    name: str
    steps: int
    definition: dict[str, Any]
    """As it would be saved."""


@operations.write(
    right="admin",
    rest=Rest("POST", "/workflows", 201, "/workflows/{id}", whole="definition", texts=YAML),
    tag="workflows",
    tool=False,
)
async def create_workflow(work: OperationContext, *, definition: DefinitionInput) -> Workflow:
    """Save a workflow: a definition as JSON, or its YAML. Versions count up; the same definition
    again makes no new one."""  # noqa: D205 - the text in documents
    read = read_definition_input(definition, await _known(work))
    newest = await work.db.fetch(definitions.LAST_VERSION, read.name)
    if newest and _same(newest[0], read):
        return await _get(work.db, read.name, newest[0]["version"])
    version = newest[0]["version"] + 1 if newest else 1
    if read.version not in (None, version):
        raise ConflictError(
            f"the next version of {read.name} is {version}, and the definition says {read.version}",
            next_version=version,
        )
    text = encode_definition(replace(read, version=version))
    await work.db.execute(
        definitions.INSERT_VERSION,
        read.name,
        version,
        read.description,
        text,
        work.caller.user_id,
        work.now,
    )
    await save_triggers(work.db, read, version, starter_of(work.caller), request_time(work))
    saved = await _get(work.db, read.name, version)
    work.record(
        Effect(
            action="created",
            kind="workflow",
            id=saved.id,
            reference_id=saved.id,
            version=version,
            after={"definition": text},
        )
    )
    return saved


@operations.read(
    right="admin",
    rest=Rest("POST", "/workflows/validate", whole="definition", texts=YAML),
    tag="workflows",
    tool=False,
    cost=5,
)
async def validate_workflow(
    work: OperationContext, *, definition: DefinitionInput
) -> ValidatedDefinition:
    """Look for problems in a definition, without saving it; all are told at once."""
    read = read_definition_input(definition, await _known(work))
    return ValidatedDefinition(
        valid=True,
        name=read.name,
        steps=sum(1 for _ in find_places(read)),
        definition=msgspec.json.decode(encode_definition(read)),
    )


@operations.read(rest=Rest("GET", "/workflows"), tag="workflows")
async def list_workflows(
    work: OperationContext, *, limit: Limit = 20, cursor: Cursor | None = None
) -> Page[ListedWorkflow]:
    """List workflows, each with the schema of its input, what starts it, and its last run."""
    [after] = [""] if cursor is None else cursor_keys(cursor, tuple[str])
    rows = await work.db.fetch(definitions.LIST_WORKFLOWS, after, limit + 1)
    [count] = await work.db.fetch(definitions.COUNT_WORKFLOWS)
    return page_of(
        [ListedWorkflow(**_summary(row), last_run=_last_run(row)) for row in rows],
        limit=limit,
        total=count["total"],
        key=lambda each: (each.name,),
    )


@operations.read(rest=Rest("GET", "/workflows/{name}/versions"), tag="workflows", tool=False)
async def list_workflow_versions(
    work: OperationContext, *, name: WorkflowName, limit: Limit = 20, cursor: Cursor | None = None
) -> Page[WorkflowSummary]:
    """List the versions of a workflow, the newest first."""
    bare, _ = split_name(name)
    [before] = [NO_VERSION] if cursor is None else cursor_keys(cursor, tuple[int])
    rows = await work.db.fetch(definitions.LIST_VERSIONS, bare, before, limit + 1)
    [count] = await work.db.fetch(definitions.COUNT_VERSIONS, bare)
    if not count["total"]:
        await _not_there(work.db, name)
    return page_of(
        [WorkflowSummary(**_summary(row)) for row in rows],
        limit=limit,
        total=count["total"],
        key=lambda each: (each.version,),
    )


@operations.read(rest=Rest("GET", "/workflows/{name}"), tag="workflows", tool=False)
async def get_workflow(work: OperationContext, *, name: WorkflowName) -> Workflow:
    """Get a workflow with its definition."""
    return _shown(await find_workflow(work.db, name))


@operations.write(
    right="admin",
    rest=(Rest("PATCH", "/workflows/{name}"), Rest("PUT", "/workflows/{name}")),
    tag="workflows",
    tool=False,
    idempotent=True,
)
async def update_workflow(
    work: OperationContext, *, name: WorkflowName, active: bool | UnsetType = UNSET
) -> Workflow:
    """Let runs of a workflow be started, or not: of all its versions, or of one."""
    bare, version = split_name(name)
    before = await find_workflow(work.db, name)
    if active is UNSET or bool(before["active"]) == active:
        return _shown(before)
    if version is None:
        await work.db.execute(definitions.SET_ACTIVE, bare, int(active))
    else:
        await work.db.execute(definitions.SET_ONE_ACTIVE, bare, int(active), version)
    await renew_triggers(work.db, bare, starter_of(work.caller), request_time(work))
    after = await find_workflow(work.db, name)
    work.record(
        Effect(
            action="updated",
            kind="workflow",
            id=name,
            reference_id=name,
            before={"active": not active},
            after={"active": active},
        )
    )
    return _shown(after)


async def _known(work: OperationContext) -> Known:
    kinds, steps = work.service(Events).kinds, work.service(StepTypes)
    return await known_names(work.db, work.service(Registry), kinds, steps)


async def find_workflow(db: Database, name: str) -> Row:
    """Return the row of a workflow's version: the named one, or the newest active.

    If no version is active, return the newest. Raise NotFoundError, which lists the names of
    existing workflows, if there is none.
    """
    bare, version = split_name(name)
    rows = await (
        db.fetch(definitions.SHOWN_NEWEST, bare)
        if version is None
        else db.fetch(definitions.SHOWN_VERSION, bare, version)
    )
    return rows[0] if rows else await _not_there(db, name)


def split_name(name: str) -> tuple[str, int | None]:
    """Split NAME@VERSION into the name and the version; the version is None if it is missing."""
    bare, _, version = name.partition("@")
    return bare, int(version) if version else None


async def _not_there(db: Database, name: str) -> Row:
    names = [row["name"] for row in await db.fetch(definitions.FIRST_NAMES)]
    hint = f"there are {', '.join(names)}" if names else "there are none"
    raise NotFoundError(f"there is no workflow {name!r}; {hint}", valid=names)


async def _get(db: Database, name: str, version: int) -> Workflow:
    [row] = await db.fetch(definitions.SHOWN_VERSION, name, version)
    return _shown(row)


def _same(row: Row, read: Definition) -> bool:
    """Return True if a definition equals the saved version in a row."""
    if read.version not in (None, row["version"]):
        return False
    text: str = row["definition"]
    return encode_definition(replace(read, version=row["version"])) == text


def _summary(row: Row) -> dict[str, Any]:
    definition = msgspec.json.decode(row["definition"])
    return {
        "id": f"{row['name']}@{row['version']}",
        "name": row["name"],
        "version": row["version"],
        "description": row["description"],
        "active": bool(row["active"]),
        "creator": row["creator"],
        "created_at": row["created_at"],
        "input": definition.get("input"),
        "triggers": [_trigger(each) for each in definition.get("on", ())],
    }


def _trigger(trigger: dict[str, Any]) -> str:
    """Describe a trigger in a few words, such as `webhook NAME`."""
    if "event" in trigger:
        event: str = trigger["event"]
        return event
    if "schedule" in trigger:
        return f"schedule {trigger['schedule']} {trigger.get('timezone', 'UTC')}"
    return f"webhook {trigger['webhook']}"


def _last_run(row: Row) -> LastRun | None:
    if row["run_id"] is None:
        return None
    return LastRun(
        id=row["run_id"],
        state=row["run_status"],
        created_at=utc_text(row["run_created_at"]),
        finished_at=utc_text(row["run_finished_at"]),
    )


def _shown(row: Row) -> Workflow:
    return Workflow(**_summary(row), definition=msgspec.json.decode(row["definition"]))
