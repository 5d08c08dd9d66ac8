"""Operations on the audit trail, for administrators."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from accord.operations.audit.export import AuditEvent, event_of
from accord.operations.audit.record import Result
from accord.operations.audit.storage import EventQuery
from accord.operations.audit.trail import AuditTrail
from accord.operations.audit.verify import VerificationReport
from accord.operations.context import OperationContext
from accord.operations.operation import Rest
from accord.operations.pages import Cursor, Limit, Page, cursor_keys, page_of
from accord.operations.registry import Registry

operations = Registry()

Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=255)]
Time: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?Z)?$",
        description="A day or a time in UTC: 2026-11-15, 2026-11-15T09:30:00Z.",
    ),
]


@operations.read(right="admin", rest=Rest("GET", "/audit-events"), tool=False, tag="audit", cost=5)
async def list_audit_events(
    work: OperationContext,
    *,
    actor: Name | None = None,
    operation: Name | None = None,
    outcome: Result | None = None,
    target: Name | None = None,
    since: Time | None = None,
    until: Time | None = None,
    reads: bool = True,
    count_to: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None,
    limit: Limit = 20,
    cursor: Cursor | None = None,
) -> Page[AuditEvent]:
    """Who did what, newest first. `actor` is a username or a user id, `target` a reference id,
    `since` is included and `until` is not. With `reads` false what only read, and was let, is left
    out. With `count_to` no more than so many are counted, as a trail can be long."""
    query = EventQuery()
    query.match(
        {
            "actor": actor,
            "operation": operation,
            "outcome": outcome,
            "target": None if target is None else _literally(target),
            "since": None if since is None else _time(since),
            "until": None if until is None else _time(until),
        }
    )
    if not reads:
        query.without_reads([each.name for each in work.service(Registry) if not each.writes])
    sql, values = query.count(count_to)
    [counted] = await work.db.fetch(sql, *values)
    if cursor is not None:
        query.before(*cursor_keys(cursor, tuple[str, str]))
    sql, values = query.page(limit + 1)
    rows = await work.db.fetch(sql, *values)
    return page_of(
        [event_of(row) for row in rows],
        limit=limit,
        total=counted["total"],
        key=lambda event: (event.time, event.id),
    )


@operations.read(
    right="admin",
    rest=Rest("GET", "/audit-events/verification"),
    tool=False,
    tag="audit",
    cost=50,
    snapshot=True,
)
async def verify_audit_trail(work: OperationContext) -> VerificationReport:
    """Verify the audit trail, and the data against it. What is not as it was written is in
    `findings`, what an older release did not keep enough of in `unproven`."""
    return await work.service(AuditTrail).verify(work.db)


def _literally(text: str) -> str:
    for special in ("\\", "%", "_"):
        text = text.replace(special, f"\\{special}")
    return text


def _time(text: str) -> str:
    """Return a time in its stored form, with microseconds, so that it sorts."""
    if "T" not in text:
        return text
    head, _, fraction = text.removesuffix("Z").partition(".")
    seconds = head if head.count(":") == 2 else f"{head}:00"
    return f"{seconds}.{fraction:0<6}Z"
