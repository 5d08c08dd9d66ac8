"""Elicitation: questions to the user, by a form or by a page that the user opens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final, Generic, Literal, TypeAlias, TypeVar, overload

import msgspec
from msgspec import UNSET, Raw, Struct

from accord.jsonrpc.methods.msgspec_types import REFUSALS
from accord.jsonrpc.methods.params_errors import ValueRefusedError
from accord.mcp.protocol.definitions import ClientCapabilities
from accord.mcp.protocol.input_requests import (
    AnswerRefusedError,
    ElicitForm,
    ElicitResult,
    ElicitUrl as ElicitUrlParams,
    Method,
)
from accord.mcp.protocol.versions import V2025_06_18, V2025_11_25, Era, era
from accord.mcp.server.input_requests.forms import form_of, problem_with
from accord.mcp.server.session import ClientLink, Session

T = TypeVar("T")

MAX_OPEN: Final = 10_000
"""The limit of remembered elicitations; beyond it the oldest are forgotten."""

_decode_elicited = msgspec.json.Decoder(ElicitResult).decode


class Accepted(Struct, Generic[T], frozen=True):
    """The user's answer."""

    content: T
    action: Literal["accept"] = "accept"


class Declined(Struct, frozen=True):
    """The user's refusal."""

    action: Literal["decline"] = "decline"


class Cancelled(Struct, frozen=True):
    """No decision: the user closed the form."""

    action: Literal["cancel"] = "cancel"


Answer: TypeAlias = Accepted[T] | Declined | Cancelled


class Elicit(Generic[T]):
    """A form for the user: a type, a schema, or nothing but yes or no."""

    label: ClassVar = "elicitation"
    method: ClassVar[Method] = "elicitation/create"

    @overload
    def __init__(self: Elicit[None], message: str) -> None: ...
    @overload
    def __init__(self: Elicit[dict[str, Any]], message: str, form: dict[str, Any]) -> None: ...
    @overload
    def __init__(self, message: str, form: type[T]) -> None: ...
    def __init__(self, message: str, form: Any = None) -> None:
        self.message = message
        self._form = form_of(form)

    def needs(self) -> dict[str, Any]:
        return {"elicitation": {"form": {}}}

    def suits(self, capabilities: ClientCapabilities, version: str) -> bool:
        wanted = capabilities.elicitation
        since = max(V2025_06_18, self._form.since)
        return wanted is not None and wanted.takes_form and version >= since

    def params(self, version: str) -> ElicitForm:
        return ElicitForm(message=self.message, requested_schema=self._form.schema_in(version))

    def read(self, raw: bytes) -> Answer[T]:
        found = read_elicited(raw)
        if found.action != "accept":
            return Declined() if found.action == "decline" else Cancelled()
        content = {} if found.content is None else found.content
        problem = problem_with(content, self._form.schema)
        if problem:
            raise AnswerRefusedError(problem)
        try:
            return Accepted(self._form.read(content))
        except ValueRefusedError as refused:
            raise AnswerRefusedError(refused.problems[0].message) from None


class ElicitUrl:
    """A page for the user to open, for data that the client must not see.

    Acceptance means that the user has agreed to open it, not that they have finished. With an `id`,
    `server.elicitation_completed(id)` notifies the client when they have.
    """

    label: ClassVar = "elicitation"
    method: ClassVar[Method] = "elicitation/create"

    def __init__(self, message: str, url: str, *, id: str) -> None:
        self.message = message
        self.url = url
        self.id = id

    def needs(self) -> dict[str, Any]:
        return {"elicitation": {"url": {}}}

    def suits(self, capabilities: ClientCapabilities, version: str) -> bool:
        wanted = capabilities.elicitation
        return wanted is not None and wanted.url is not None and version >= V2025_11_25

    def params(self, version: str) -> ElicitUrlParams:
        # 2025-11-25, elicitation: the id is required; from 2026-07-28 on there is none.
        has_id = era(version) is Era.HANDSHAKE
        return ElicitUrlParams(
            message=self.message, url=self.url, elicitation_id=self.id if has_id else UNSET
        )

    def read(self, raw: bytes) -> Answer[None]:
        match read_elicited(raw).action:
            case "accept":
                return Accepted(None)
            case "decline":
                return Declined()
            case _:
                return Cancelled()


def read_elicited(raw: bytes | Raw) -> ElicitResult:
    try:
        return _decode_elicited(raw)
    except REFUSALS:
        raise AnswerRefusedError("it is no answer of a user") from None


class Elicitations:
    """Open URL elicitations of the handshake era, by id.

    They end with their sessions.
    """

    def __init__(self) -> None:
        self._links: dict[str, ClientLink] = {}
        self._sessions: set[Session] = set()
        self.on_unknown: Callable[[str], None] | None = None
        """A callback with the id of an elicitation that another process may know."""

    def __len__(self) -> int:
        return len(self._links)

    def remember(self, id: str, link: ClientLink) -> None:
        session = link.session
        if session is not None and session not in self._sessions:
            self._sessions.add(session)
            link.at_end(lambda: self._forget(session))
        self._links[id] = link
        if len(self._links) > MAX_OPEN:
            del self._links[next(iter(self._links))]

    def complete(self, id: str) -> None:
        """Notify the client that asked that its user has finished.

        Unknown ids are ignored: the client may be gone, or of an era without this notification.
        """
        if not self.complete_here(id) and self.on_unknown is not None:
            self.on_unknown(id)

    def complete_here(self, id: str) -> bool:
        """Notify the client if this process knows the id; return whether it does."""
        link = self._links.pop(id, None)
        if link is not None:
            link.announce("notifications/elicitation/complete", {"elicitationId": id})
        return link is not None

    def _forget(self, session: Session) -> None:
        self._sessions.discard(session)
        for id in [id for id, link in self._links.items() if link.session is session]:
            del self._links[id]
