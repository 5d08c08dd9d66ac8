"""Puts the sample project into the hub: in one transaction, the same each time.

Names, ids and times follow from the text, so that two installations have the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from itertools import count
from typing import Final
from uuid import UUID, uuid5

from accord.hub.demo.people import COLOURS, OWNER, PEOPLE
from accord.hub.demo.remarks import REMARKS
from accord.hub.exchange import markdown_file
from accord.hub.exchange.placing import Placing
from accord.hub.exchange.project import Comment, Item, Label, Link, Numbered
from accord.hub.exchange.report import Report, report_of
from accord.hub.storage import items
from accord.operations.accounts import users
from accord.operations.errors import ConflictError
from accord.operations.operation import Operation
from accord.operations.registry import Registry
from accord.operations.work import Effect, Work

NAMESPACE: Final = UUID("3d6a31d2-51f5-5c0e-8a9a-0c1f2d7be0a4")
BEGUN: Final = datetime(2025, 3, 3, 8, 0, tzinfo=UTC)
STEP: Final = timedelta(minutes=47)
"""How long one of them took for a row."""
BASELINE: Final = "Season opening"

_private: Final = Registry()


@_private.write(right="admin")
async def load_demo(work: Work) -> Report:
    """Load the sample project. Refused where it is there already."""
    if await items.lookup(work.db, _id("EP-001")) is not None:
        raise ConflictError("the sample project is here already")
    await _add_people(work)
    report = report_of(await Placing(work, partial=False).place(_rows()))
    if report.failed:
        raise ConflictError(
            "the sample project does not fit into this hub",
            rows=[row for row in report.rows if row.action == "failed"],
        )
    epic = report.rows[0].reference_id
    baseline = work.service(Registry)["create_baseline"]
    await baseline.function(
        work,
        name=BASELINE,
        description=f"What was agreed before the season; {epic} and all others.",
    )
    return report


def demo_operation() -> Operation:
    """The operation that loads it; on no face, only for the command line."""
    return _private["load_demo"]


def _rows() -> Iterator[Numbered]:
    """All of it, with who made it and when."""
    times = (BEGUN + STEP * number for number in count())
    numbers = count(1)
    for name, colour in COLOURS.items():
        yield Numbered(next(numbers), Label(name=name, colour=colour))
    text = (files("accord.hub.demo") / "project.md").read_text(encoding="utf-8")
    creator = OWNER
    for numbered in markdown_file.read(text):
        record = numbered.record
        match record:
            case Item():
                creator = record.assignee or creator
                record.creator, record.created_at = creator, _time(next(times))
                record.id = _id(str(record.reference_id))
            case Link():
                record.creator, record.created_at = OWNER, _time(next(times))
                record.id = _id(f"{record.source} {record.type} {record.target}")
        yield Numbered(next(numbers), record)
    for comment in _comments():
        comment.created_at = _time(next(times))
        yield Numbered(next(numbers), comment)


def _comments() -> Iterator[Comment]:
    for number, remark in enumerate(REMARKS, 1):
        first = _id(f"remark {number}")
        yield Comment(
            target=remark.on,
            text=remark.text,
            id=first,
            author=remark.by,
            quote=remark.quote,
            resolved=bool(remark.resolved_by),
            resolved_by=remark.resolved_by or None,
        )
        for place, (by, text) in enumerate(remark.answers, 1):
            yield Comment(
                target=remark.on,
                text=text,
                id=_id(f"remark {number} answer {place}"),
                author=by,
                reply_to=first,
            )


async def _add_people(work: Work) -> None:
    for name, role in PEOPLE.items():
        if await users.find_row(work.db, name) is None:
            user = await users.insert(
                work.db,
                id=_id(f"person {name}"),
                username=name,
                email="",
                role=role,
                hashed="",
                now=work.now,
            )
            work.did(
                Effect(
                    action="created",
                    kind="user",
                    id=user.id,
                    reference_id=name,
                    version=user.version,
                    after=users.kept(user),
                )
            )


def _id(name: str) -> str:
    return str(uuid5(NAMESPACE, name))


def _time(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
