"""The audit log for administrators: who did what, found by filters, and whether it was changed."""

from __future__ import annotations

from typing import Final, get_args
from urllib.parse import urlencode

from accord.operations.audit.record import Result
from accord.operations.errors import ServiceError
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

PATH: Final = "/audit"
PAGE: Final = 50
MOST: Final = 1_000
"""How many are counted: of more than these it is not said how many there are."""
FILTERS: Final = ("actor", "operation", "outcome", "target", "since", "until", "reads")
OUTCOMES: Final = {
    "done": "done",
    "dry_run": "dry run",
    "refused": "refused by a rule",
    "denied": "denied",
    "failed": "failed",
    "cancelled": "cancelled",
    "unauthenticated": "not let in",
}
FACES: Final = {
    "rest": "REST",
    "rpc": "JSON-RPC",
    "mcp": "MCP",
    "a2a": "A2A",
    "cli": "command line",
    "web": "pages",
    "system": "Accord",
}
assert tuple(OUTCOMES) == get_args(Result)
FAULTS: Final = {
    "edited": "A record does not say any more what it said when it was written.",
    "removed": "Records are missing between others.",
    "cut_off": "Records at the end are missing.",
    "forged": "A record was put in by somebody who has not the key.",
    "head": "The newest seal is not the one that was kept.",
    "unsealed": "Records were kept from being sealed.",
    "unreadable": "A part of the trail cannot be read.",
}

pages: Final = Pages()


@pages.get(PATH)
async def audit(request: PageRequest) -> PageResponse:
    asked: dict[str, object] = {**request.query.given(*FILTERS)}
    error: ServiceError | None = None
    page = None
    try:
        page = await request.run(
            "list_audit_events",
            limit=PAGE,
            count_to=MOST + 1,
            **{"reads": False} | asked,
            **request.query.given("cursor"),
        )
    except ServiceError as refused:
        if not request.user.is_administrator:
            raise
        error = refused
    context = {
        "page": page,
        "asked": asked,
        "outcomes": OUTCOMES,
        "faces": FACES,
        "most": MOST,
        "more": f"{PATH}?{urlencode(asked)}" if asked else PATH,
        "error": error,
    }
    return await request.page(
        "audit/list.html", status=200 if error is None else error.kind.status, **context
    )


@pages.get(f"{PATH}/verification")
async def verification(request: PageRequest) -> PageResponse:
    report = await request.run("verify_audit_trail")
    return await request.page("audit/verification.html", report=report, faults=FAULTS)
