"""The linter, for items and for texts that are not written down yet."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from accord.hub.domain import lint as linter
from accord.hub.domain.choices import no_such
from accord.hub.domain.item_lint import FIELDS, lint_item
from accord.hub.domain.lint import RULES, Form, Report
from accord.hub.entities import Id, Text
from accord.hub.lifecycle import check_text
from accord.hub.storage import items, rows, suppressions
from accord.hub.storage.items import ItemRow
from accord.hub.storage.suppressions import SuppressionRow
from accord.operations.errors import InvalidError, NotFoundError
from accord.operations.operation import Rest
from accord.operations.registry import Registry
from accord.operations.work import Changed, Effect, Work

operations: Final = Registry()

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


@operations.read(
    rest=(Rest("GET", "/items/{id}/lint"), Rest("POST", "/lint")),
    tag="quality",
    cost=2,
    snapshot=True,
)
async def lint_requirement(
    work: Work, *, id: Id | None = None, text: Text | None = None, form: Form = "requirement"
) -> LintResult:
    """Check the wording of an item or a text: EARS patterns, vague words, missing units, several
    demands in one sentence."""
    if (id is None) == (text is None):
        raise InvalidError("id", "give the id of an item or a text, one of the two")
    if id is None:
        assert text is not None
        return _result({"text": linter.lint(text, form)}, {"text": text}, [])
    item = await items.find(work.db, id)
    put_aside = await suppressions.of_item(work.db, item.id)
    texts = {name: getattr(item, name) for name in FIELDS}
    reports = lint_item(item.kind, texts, without=frozenset(put_aside))
    result = _result(reports, texts, [_shown(row) for row in put_aside.values()])
    result.reference_id = item.reference_id
    return result


@operations.write(
    rest=Rest("PUT", "/items/{id}/lint-suppressions/{rule}"), tag="quality", idempotent=True
)
async def suppress_lint(work: Work, *, id: Id, rule: RuleName, reason: Reason) -> Suppression:
    """Put a rule of the linter aside for one item, with a reason."""
    check_text("reason", reason)
    item, rule = await items.find(work.db, id), _known(rule)
    before = (await suppressions.of_item(work.db, item.id)).get(rule)
    after = SuppressionRow(
        item.id, rule, reason, work.caller.user_id, work.now, work.caller.username
    )
    key = {"item_id": item.id, "rule": rule}
    if before is None:
        await rows.insert(work.db, "lint_suppressions", after.stored())
    else:
        await rows.update(work.db, "lint_suppressions", key, after.stored())
    _tell(work, item, before, after)
    return _shown(after)


@operations.write(
    rest=Rest("DELETE", "/items/{id}/lint-suppressions/{rule}"), tag="quality", destructive=True
)
async def unsuppress_lint(work: Work, *, id: Id, rule: RuleName) -> Suppression:
    """Have a rule of the linter look at an item again."""
    item, rule = await items.find(work.db, id), _known(rule)
    before = (await suppressions.of_item(work.db, item.id)).get(rule)
    if before is None:
        raise NotFoundError(f"{rule} is not suppressed for {item.reference_id}")
    await rows.delete(work.db, "lint_suppressions", {"item_id": item.id, "rule": rule})
    _tell(work, item, before, None)
    return _shown(before)


def _known(rule: str) -> str:
    folded = rule.strip().lower()
    if folded not in RULES:
        raise InvalidError("rule", no_such("rule", rule, tuple(RULES)), valid=list(RULES))
    return folded


def _tell(
    work: Work, item: ItemRow, before: SuppressionRow | None, after: SuppressionRow | None
) -> None:
    row = after or before
    assert row is not None
    work.did(
        Effect(
            action="created" if before is None else "deleted" if after is None else "updated",
            kind="lint_suppression",
            id=rows.TABLES["lint_suppression"].id_of(row.stored()),
            reference_id=f"{item.reference_id} {row.rule}",
            before=before.stored() if before else None,
            after=after.stored() if after else None,
        )
    )


def _result(
    reports: dict[str, Report], texts: dict[str, str], suppressed: list[Suppression]
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


def _shown(row: SuppressionRow) -> Suppression:
    return Suppression(
        rule=row.rule, reason=row.reason, author=row.author, created_at=row.created_at
    )
