"""What stands at which URI, as a table. Each is read by an operation, so that rights, limits and
the record of who read it are those of the operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from accord.hub.domain.kinds import KINDS, Kind
from accord.hub.mcp.touched import list_uri
from accord.jsonrpc.codec import encode
from accord.mcp.protocol.content import ResourceContents
from accord.mcp.protocol.definitions import Resource, ResourceTemplate
from accord.mcp.server.context import Context
from accord.mcp.server.resource import ResourceNotFoundError, ServedResource
from accord.operations.arguments import convert
from accord.operations.errors import InvalidError, NotFoundError, ServiceError
from accord.operations.faces.mapping import mcp_error
from accord.operations.faces.tools import told_to_programs
from accord.operations.faces.tools_caller import caller_of, run_for
from accord.operations.faces.tools_text import NOTICE, NOTICE_MEMBER, noticed_json
from accord.operations.runner import InternalError, Runner

MIME_TYPE: Final = "application/json"
PROMPT_FORBIDDEN: Final = -32002
"""The error code for callers without access to prompts, in the handshake era."""
MOST: Final = {"limit": "100"}
"""The maximum number of items in lists."""


class Row(Struct, frozen=True):
    """One resource, or all resources of a template."""

    uri: str
    operation: str
    name: str
    description: str
    fixed: Mapping[str, str] = {}
    """Arguments that no variable provides, as text."""
    renamed: Mapping[str, str] = {}
    """Argument names of variables, where they differ."""

    @property
    def is_template(self) -> bool:
        return "{" in self.uri


def _one(kind: Kind) -> Row:
    return Row(
        f"{KINDS[kind].scheme}://{{id}}",
        f"get_{kind}",
        KINDS[kind].scheme,
        f"{KINDS[kind].title} by UUID or reference id, such as {KINDS[kind].prefix}-001.",
    )


def _all(kind: Kind, operation: str, *filters: str) -> Iterator[Row]:
    what = KINDS[kind].plural.replace("-", " ")
    query = ",".join((*filters, "limit", "cursor"))
    yield Row(list_uri(kind), operation, KINDS[kind].plural, f"The first {what}.", MOST)
    yield Row(
        f"{list_uri(kind)}{{?{query}}}",
        operation,
        f"{KINDS[kind].plural}-by",
        f"Some of the {what}; next_cursor of a page is the cursor of the next.",
        MOST,
    )
    if filters:  # in addition to the template above, which clients have stored
        repeated = ",".join((*(f"{each}*" for each in filters), "limit", "cursor"))
        yield Row(
            f"{list_uri(kind)}{{?{repeated}}}",
            operation,
            f"{KINDS[kind].plural}-by-several",
            f"Some of the {what}, by several values of one filter: each can be repeated.",
            MOST,
        )


def _below(kind: Kind, child: str, operation: str, argument: str, description: str) -> Row:
    uri = f"{KINDS[kind].scheme}://{{id}}/{child}"
    fixed = {} if child == "hierarchy" else MOST
    name = f"{KINDS[kind].scheme}-{child}"
    return Row(uri, operation, name, description, fixed, {"id": argument})


ROWS: Final = (
    *_all("epic", "list_epics", "status", "assignee"),
    *_all("user_story", "list_user_stories", "status", "assignee"),
    *_all("acceptance_criteria", "list_acceptance_criteria"),
    *_all("requirement", "list_requirements", "status", "type", "assignee"),
    *_all("steering_document", "list_steering_documents"),
    *_all("prompt", "list_prompts"),
    Row(
        "requirements://requirement-types",
        "list_requirement_types",
        "requirement-types",
        "The types that requirements can have.",
    ),
    Row(
        "requirements://prompts/active",
        "get_active_prompt",
        "active-prompt",
        "The prompt that is active.",
    ),
    *(_one(kind) for kind in KINDS),
    _below("epic", "hierarchy", "get_hierarchy", "id", "All that is below an epic, as a tree."),
    _below("epic", "user-stories", "list_user_stories", "epic_id", "The stories of an epic."),
    _below("user_story", "hierarchy", "get_hierarchy", "id", "All that is below a story."),
    _below(
        "user_story",
        "requirements",
        "list_requirements",
        "user_story_id",
        "The requirements of a story.",
    ),
    _below(
        "user_story",
        "acceptance-criteria",
        "list_acceptance_criteria",
        "user_story_id",
        "The acceptance criteria of a story.",
    ),
    _below(
        "requirement",
        "relationships",
        "list_relationships",
        "id",
        "How a requirement relates to other items.",
    ),
)


class Contents(ResourceContents, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The contents of a resource, with its name and description."""

    name: str = ""
    description: str = ""


class HubResource(ServedResource):
    """A resource that is read by an operation."""

    __slots__ = ("_operation", "_row", "_runner", "_watched")

    def __init__(self, row: Row, runner: Runner, watched: Callable[[str], None]) -> None:
        definition: Resource | ResourceTemplate
        if row.is_template:
            definition = ResourceTemplate(
                uri_template=row.uri,
                name=row.name,
                description=row.description,
                mime_type=MIME_TYPE,
            )
        else:
            definition = Resource(
                uri=row.uri, name=row.name, description=row.description, mime_type=MIME_TYPE
            )
        super().__init__(definition)
        self._row = row
        self._runner = runner
        self._operation = runner.registry[row.operation]
        self._watched = watched

    async def read(
        self, uri: str, variables: dict[str, Any], context: Context
    ) -> list[ResourceContents]:
        """Return the contents. Raises ResourceNotFoundError and RpcError."""
        caller = caller_of(context)
        given = {self._row.renamed.get(name, name): each for name, each in variables.items()}
        try:
            outcome = await run_for(
                context.incoming,
                self._runner,
                self._operation,
                lambda: convert(self._operation, {**self._row.fixed, **given}, from_text=True),
                caller,
            )
        except (NotFoundError, InvalidError) as error:
            if isinstance(error, NotFoundError) or "id" in variables:
                raise ResourceNotFoundError from None
            raise self._told(error, uri, context, caller.correlation_id) from None
        except (ServiceError, InternalError) as error:
            raise self._told(error, uri, context, caller.correlation_id) from None
        return [self._contents(uri, outcome.result)]

    def watch(self, uri: str) -> None:
        self._watched(uri)

    def _told(self, error: Exception, uri: str, context: Context, correlation_id: str) -> Exception:
        about: dict[str, Any] = {"uri": uri[:2_000]}
        if isinstance(error, ServiceError):
            about |= told_to_programs(error)
            if error.data:  # a message may name what there is
                about[NOTICE_MEMBER] = NOTICE
        return mcp_error(
            error,
            correlation_id,
            era=context.incoming.era,
            forbidden=PROMPT_FORBIDDEN if self._operation.tag == "prompts" else None,
            **about,
        )

    def _contents(self, uri: str, result: Any) -> Contents:
        return Contents(
            uri=uri,
            mime_type=MIME_TYPE,
            text=noticed_json(encode(result)).decode(),
            name=getattr(result, "reference_id", "") or self._row.name,
            description=getattr(result, "title", "") or self._row.description,
        )
