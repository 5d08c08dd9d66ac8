"""Import and export of requirements.

An import starts with a dry run and a report on each row.
"""

from __future__ import annotations

from typing import Final

from accord.hub.exchange.decoding import content_of, is_archive
from accord.hub.exchange.formats import Formats
from accord.hub.exchange.matching import ImportReport, ImportRow
from accord.hub.exchange.project import FormatError
from accord.operations.errors import InvalidError, ServiceError
from accord.web.request import PageRequest, Pages
from accord.web.responses import FileDownload, PageResponse

SHOWN: Final = 500
"""The most rows that the page shows of an import report."""
TITLES: Final = {
    "markdown": "Markdown",
    "csv": "CSV",
    "json": "JSON",
    "reqif": "ReqIF",
}
EXAMPLE: Final = """\
## EP: Checkout without an account

### US: Pay by card as a guest
- Priority: High

As a guest I want to pay by card so that I need no account.

#### AC

An expired card is refused with an error at its field.

#### REQ: Refuse expired cards
- Type: Functional

When a guest submits an expired card, the checkout shall refuse it.
"""
"""An example of an import file in Markdown."""
CONFLICTS: Final = (
    ("refuse", "Refuse the row"),
    ("update", "Update the item"),
    ("create", "Create a new item"),
)
"""The choices of `on_conflict`, the treatment of a row that matches an item of another source."""
_URGENCY: Final = {"failed": 0, "updated": 2, "created": 2, "unchanged": 3}

pages: Final = Pages()


@pages.get("/import")
async def import_form(request: PageRequest) -> PageResponse:
    request.user.require("write", "import_items")
    return await _form(request)


@pages.post("/import", is_upload=True)
async def import_file(request: PageRequest) -> PageResponse:
    """Show the dry run of an import, or run the import if the user has confirmed it."""
    options = request.form.given("source", "on_conflict")
    try:
        text = _text(request)
        if not text.strip():
            raise InvalidError("content", "choose a file, or paste what is in it")
        format = _format(request, text)
        partial = bool(request.form["partial"])
        if request.form["sure"]:
            report: ImportReport = await request.run(
                "import_items", format=format, content=text, partial=partial, **options
            )
            return request.go("/requirements", _import_notice(report))
        tried = await request.run(
            "import_items", format=format, content=text, partial=True, dry_run=True, **options
        )
    except ServiceError as error:
        return await _form(request, error=error)
    return await _report(request, format, text, tried.result)


@pages.get("/export")
async def export_form(request: PageRequest) -> PageResponse:
    epics = await request.run("list_epics", fields=["title"], limit=100, sort="position")
    return await request.page(
        "requirements/export.html",
        section="/requirements",
        formats=_titles(request),
        epics=epics.items,
    )


@pages.get("/export/file")
async def export_file(request: PageRequest) -> PageResponse:
    options = request.query.given("format", "epic_id")
    made = await request.run("export_items", **options)
    name = made.file_name
    if "epic_id" in options:
        name = f"{options['epic_id'].upper()}-{name}"
    return FileDownload(made.content.encode(), name, f"{made.media_type}; charset=utf-8")


def _text(request: PageRequest) -> str:
    """Return the uploaded or pasted text, with Unix line ends.

    Raises InvalidError if an uploaded file cannot be decoded.
    """
    try:
        text = content_of(request.form.file("file")) or request.form["content"]
    except FormatError as error:
        raise InvalidError("content", str(error)) from None
    return text.replace("\r\n", "\n")


def _titles(request: PageRequest) -> dict[str, str]:
    """Return the title of each format, by name of the format.

    The format of a plugin has its name as title.
    """
    formats = request.services.runner.service(Formats)
    return TITLES | {name: name for name in formats if name not in TITLES}


def _format(request: PageRequest, text: str) -> str:
    """Return the chosen import format, or detect the format of the text."""
    chosen = request.form["format"]
    if chosen in _titles(request):
        return chosen
    begins = text.lstrip()
    if begins.startswith(("{", "[")):
        return "json"
    if begins.startswith("<") or is_archive(begins):
        return "reqif"
    return "csv" if _is_csv(begins) else "markdown"


def _is_csv(text: str) -> bool:
    head = text.partition("\n")[0].lower().replace('"', "")
    return "kind" in (each.strip() for each in head.replace(";", ",").split(","))


def _import_notice(report: ImportReport) -> str:
    parts = (f"{report.created:,} created", f"{report.updated:,} changed")
    failures = f", {report.failed:,} left out" if report.failed else ""
    return f"Imported: {' and '.join(parts)}{failures}"


async def _form(request: PageRequest, *, error: ServiceError | None = None) -> PageResponse:
    return await request.page(
        "requirements/import.html",
        status=200 if error is None else error.kind.status,
        section="/requirements",
        formats=_titles(request),
        example=EXAMPLE,
        error=error,
        format=request.form["format"],
        content=request.form["content"],
        source=request.form["source"],
        on_conflict=request.form["on_conflict"],
        conflicts=CONFLICTS,
    )


async def _report(
    request: PageRequest, format: str, text: str, report: ImportReport
) -> PageResponse:
    rows = sorted(report.rows, key=_urgency)
    return await request.page(
        "requirements/report.html",
        section="/requirements",
        format=format,
        title=_titles(request)[format],
        content=text,
        source=request.form["source"],
        on_conflict=request.form["on_conflict"],
        conflicts=CONFLICTS,
        report=report,
        rows=rows[:SHOWN],
        left_out=max(0, len(rows) - SHOWN),
        changes=report.created + report.updated,
    )


def _urgency(row: ImportRow) -> tuple[int, int]:
    """Return the sort key of a row of an import report: problems come first."""
    return (1 if row.notes and row.action != "failed" else _URGENCY[row.action], row.row)
