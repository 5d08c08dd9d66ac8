"""Operations on texts: replace or append a part of a text, and the linter.

An edit of a part cannot overwrite changes to the rest. The linter also takes drafts.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from accord.hub import lifecycle
from accord.hub.domain.lint import FIELDS, RULES, Form, LintReport, lint, lint_item
from accord.hub.domain.text import no_such, unified
from accord.hub.entities import Id, Text, Version
from accord.hub.lifecycle import check_text
from accord.hub.storage import items, rows
from accord.hub.storage.items import COLUMNS, ItemRow, SuppressionRow
from accord.operations.context import Changed, OperationContext
from accord.operations.errors import InvalidError, NotFoundError
from accord.operations.operation import Rest
from accord.operations.registry import Registry

TextField: TypeAlias = Literal["title", "description", "content"]
TextPart: TypeAlias = Annotated[str, Meta(min_length=1, max_length=50_000)]

MAX_TEXT: Final[dict[str, int]] = {"title": 500, "description": 50_000, "content": 50_000}

text_operations: Final = Registry()


class TextChange(Changed, kw_only=True):
    """What became of a text."""

    id: str
    reference_id: str
    version: int
    field: str
    diff: str
    """A unified diff; empty where nothing changed."""


@text_operations.write(rest=Rest("POST", "/items/{id}/edit-text"), tag="texts")
async def edit_text(
    work: OperationContext,
    *,
    id: Id,
    old: TextPart,
    new: Text,
    field: TextField = "description",
    expected_version: Version | None = None,
) -> TextChange:
    """Replace a part of a text, which must occur in it exactly once."""
    row = await _editable(work, id, field)
    before: str = getattr(row, field)
    count = _occurrences(before, old)
    if count != 1:
        how_often = f"{count:,} times: give more of what is around it" if count else "not at all"
        raise InvalidError("old", f"occurs {how_often}", occurrences=count)
    return await _write_text(work, row, field, before.replace(old, new), expected_version)


@text_operations.write(rest=Rest("POST", "/items/{id}/append-text"), tag="texts")
async def append_text(
    work: OperationContext,
    *,
    id: Id,
    text: TextPart,
    field: TextField = "description",
    expected_version: Version | None = None,
) -> TextChange:
    """Add to the end of a text, on a new line."""
    row = await _editable(work, id, field)
    before: str = getattr(row, field)
    between = "" if not before or before.endswith("\n") else " " if field == "title" else "\n"
    return await _write_text(work, row, field, before + between + text, expected_version)


async def _editable(work: OperationContext, id: str, field: str) -> ItemRow:
    row = await items.find(work.db, id)
    if row.kind == "prompt":
        work.caller.require("admin", "to change a prompt")
    if field not in COLUMNS[row.kind]:
        valid = [name for name in MAX_TEXT if name in COLUMNS[row.kind]]
        raise InvalidError("field", f"{row.reference_id} has only {', '.join(valid)}", valid=valid)
    return row


async def _write_text(
    work: OperationContext, row: ItemRow, field: str, after: str, expected_version: int | None
) -> TextChange:
    longest = MAX_TEXT[field]
    if len(after) > longest:
        raise InvalidError(
            field, f"would have {len(after):,} characters, over the limit of {longest:,}"
        )
    if not after and field != "description":
        raise InvalidError(field, "would be empty")
    changed = await lifecycle.update(work, row.kind, row.id, expected_version, **{field: after})
    return TextChange(
        id=row.id,
        reference_id=row.reference_id,
        version=changed.version,
        field=field,
        diff=unified(getattr(row, field), after),
    )


def _occurrences(text: str, part: str) -> int:
    """Count the occurrences of `part` in `text`, overlapping ones included."""
    count, at = 0, text.find(part)
    while at >= 0:
        count, at = count + 1, text.find(part, at + 1)
    return count


lint_operations: Final = Registry()

RuleName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
Reason: TypeAlias = Annotated[str, Meta(min_length=1, max_length=2000)]


class LintFinding(Struct, kw_only=True):
    """Something to be written better: what, where, how."""

    field: str
    rule: str
    start: int
    end: int
    quote: str
    """What stands there."""
    message: str
    hint: str


class LintStatement(Struct, kw_only=True):
    """A sentence that requires something, and its pattern in EARS."""

    field: str
    start: int
    end: int
    pattern: str


class Suppression(Changed, kw_only=True):
    """A rule that was put aside for an item."""

    rule: str
    reason: str
    author: str
    created_at: str


class LintResult(Struct, kw_only=True):
    reference_id: str | UnsetType = UNSET
    findings: list[LintFinding]
    statements: list[LintStatement]
    suppressed: list[Suppression]
    left_out: int
    """Findings beyond those that are told."""


@lint_operations.read(
    rest=(Rest("GET", "/items/{id}/lint"), Rest("POST", "/lint")),
    tag="quality",
    cost=2,
    snapshot=True,
)
async def lint_requirement(
    work: OperationContext,
    *,
    id: Id | None = None,
    text: Text | None = None,
    form: Form = "requirement",
) -> LintResult:
    """Check the wording of an item or a text: EARS patterns, vague words, missing units, several
    demands in one sentence."""
    if (id is None) == (text is None):
        raise InvalidError("id", "give the id of an item or a text, one of the two")
    if id is None:
        assert text is not None
        return _result({"text": lint(text, form)}, {"text": text}, [])
    item = await items.find(work.db, id)
    put_aside = await items.suppressions_of_item(work.db, item.id)
    texts = {name: getattr(item, name) for name in FIELDS}
    reports = lint_item(item.kind, texts, without=frozenset(put_aside))
    result = _result(reports, texts, [_lint_finding(row) for row in put_aside.values()])
    result.reference_id = item.reference_id
    return result


@lint_operations.write(
    rest=Rest("PUT", "/items/{id}/lint-suppressions/{rule}"), tag="quality", idempotent=True
)
async def suppress_lint(
    work: OperationContext, *, id: Id, rule: RuleName, reason: Reason
) -> Suppression:
    """Put a rule of the linter aside for one item, with a reason."""
    check_text("reason", reason)
    item, rule = await items.find(work.db, id), _known(rule)
    before = (await items.suppressions_of_item(work.db, item.id)).get(rule)
    after = SuppressionRow(
        item.id, rule, reason, work.caller.user_id, work.now, work.caller.username
    )
    key = {"item_id": item.id, "rule": rule}
    if before is None:
        await rows.insert(work.db, "lint_suppressions", after.stored())
    else:
        await rows.update(work.db, "lint_suppressions", key, after.stored())
    _record_suppression(work, item, before, after)
    return _lint_finding(after)


@lint_operations.write(
    rest=Rest("DELETE", "/items/{id}/lint-suppressions/{rule}"), tag="quality", destructive=True
)
async def unsuppress_lint(work: OperationContext, *, id: Id, rule: RuleName) -> Suppression:
    """Have a rule of the linter look at an item again."""
    item, rule = await items.find(work.db, id), _known(rule)
    before = (await items.suppressions_of_item(work.db, item.id)).get(rule)
    if before is None:
        raise NotFoundError(f"{rule} is not suppressed for {item.reference_id}")
    await rows.delete(work.db, "lint_suppressions", {"item_id": item.id, "rule": rule})
    _record_suppression(work, item, before, None)
    return _lint_finding(before)


def _known(rule: str) -> str:
    folded = rule.strip().lower()
    if folded not in RULES:
        raise InvalidError("rule", no_such("rule", rule, tuple(RULES)), valid=list(RULES))
    return folded


def _record_suppression(
    work: OperationContext,
    item: ItemRow,
    before: SuppressionRow | None,
    after: SuppressionRow | None,
) -> None:
    row = after or before
    assert row is not None
    old = before.stored() if before else None
    new = after.stored() if after else None
    work.record(rows.effect("lint_suppression", old, new, f"{item.reference_id} {row.rule}"))


def _result(
    reports: dict[str, LintReport], texts: dict[str, str], suppressed: list[Suppression]
) -> LintResult:
    return LintResult(
        findings=[
            LintFinding(
                field=field,
                rule=each.rule,
                start=each.start,
                end=each.end,
                quote=texts[field][each.start : each.end][:200],
                message=each.message,
                hint=each.hint,
            )
            for field, report in reports.items()
            for each in report.findings
        ],
        statements=[
            LintStatement(field=field, start=each.start, end=each.end, pattern=each.pattern)
            for field, report in reports.items()
            for each in report.statements
        ],
        suppressed=suppressed,
        left_out=sum(report.left_out for report in reports.values()),
    )


def _lint_finding(row: SuppressionRow) -> Suppression:
    return Suppression(
        rule=row.rule, reason=row.reason, author=row.author, created_at=row.created_at
    )
