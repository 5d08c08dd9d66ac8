"""The sample project: the requirements of a ferry line.

The requirements are about ticket sales, boarding and reports. `demo_project.md` contains the items,
in the Markdown format of the importer. This module contains the people, who cannot sign in, and
their comments. Everything is loaded in one transaction. Names, ids and times are derived from the
text, so they are the same in all installations. If a hub already has items, the sample items and
people get the next free names, and no other data change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from itertools import count
from typing import Final
from uuid import UUID, uuid5

from msgspec import Struct

from accord.hub.domain.rules import Kind, Reference, parse_reference
from accord.hub.exchange import markdown_file
from accord.hub.exchange.importer import Importer
from accord.hub.exchange.matching import ImportReport
from accord.hub.exchange.project import Comment, Item, Label, Link, Numbered
from accord.hub.storage import baselines, items, reference_data
from accord.operations.auth import storage
from accord.operations.context import Effect, OperationContext, Role
from accord.operations.errors import ConflictError
from accord.operations.operation import Operation
from accord.operations.registry import Registry

PEOPLE: Final[dict[str, Role]] = {
    "mara": "User",
    "jonas": "User",
    "aylin": "User",
    "pieter": "User",
    "ines": "User",
    "sven": "Commenter",
}
OWNER: Final = "mara"
"""The creator of all links, and of the items at the beginning of `demo_project.md`.

The creator of the first item with an assignee is that assignee. An item without an assignee has the
same creator as the item before it.
"""
COLOURS: Final = {
    "accessibility": "#7c3aed",
    "crew": "#0e7490",
    "harbour": "#1d4ed8",
    "offline": "#b45309",
    "payments": "#15803d",
    "privacy": "#be185d",
    "reporting": "#4b5563",
    "safety": "#b91c1c",
}
"""The colour of each label of the sample project, by name."""


class Remark(Struct, frozen=True, kw_only=True):
    """A comment of the sample project, with its replies."""

    on: str
    by: str
    text: str
    answers: tuple[tuple[str, str], ...] = ()
    resolved_by: str = ""
    quote: str = ""


REMARKS: Final = (
    Remark(
        on="REQ-002",
        by="sven",
        text="Last July we had 1,900 people on the page when sales opened. Is 500 enough?",
        answers=(
            ("jonas", "500 who search at the same moment. The opening of sales is US-035."),
            ("sven", "Then it should say so. Otherwise I would test the wrong thing."),
        ),
        quote="up to 500 passengers",
    ),
    Remark(
        on="REQ-006",
        by="pieter",
        text="Fifteen minutes is too long for the last sailing on a Friday.",
        answers=(("mara", "We keep it until we have numbers from the first season."),),
        resolved_by="mara",
        quote="15 minutes",
    ),
    Remark(
        on="REQ-008",
        by="aylin",
        text="This is the one that must never break. I would like to see a test for every release.",
    ),
    Remark(
        on="REQ-021",
        by="jonas",
        text="Contradicts the release after 15 minutes. Which of the two wins for groups?",
        answers=(
            ("mara", "The longer one, but only once somebody from the office has confirmed it."),
            ("jonas", "Then both requirements need a sentence about that."),
        ),
    ),
    Remark(
        on="US-003",
        by="ines",
        text="The tourist offices ask for invoices with a later payment date. Not in scope?",
        answers=(("mara", "Not this season. I put it on the list for autumn."),),
        resolved_by="ines",
    ),
    Remark(
        on="US-007",
        by="sven",
        text="Can the refund go to a voucher if the passenger prefers that?",
    ),
    Remark(
        on="EP-003",
        by="sven",
        text="The stewards on the northern route want to try the scanner before it is finished.",
        answers=(("aylin", "From the next build on. I bring two devices on Thursday."),),
        resolved_by="aylin",
    ),
    Remark(
        on="US-011",
        by="pieter",
        text="Antennas at the outer islands fail about once a week in winter. Please keep this "
        "story at the top.",
    ),
    Remark(
        on="EP-003",
        by="ines",
        text="What happens with dogs? They count for the lifeboats in Denmark.",
        answers=(("pieter", "Not as souls. But the captain wants to know. I ask."),),
    ),
    Remark(
        on="US-012",
        by="pieter",
        text="The captain's word is final. The count by hand must always be possible.",
        resolved_by="pieter",
    ),
    Remark(
        on="EP-004",
        by="sven",
        text="Does the islander fare hold for the dog, too? People ask every day.",
        answers=(("aylin", "Dogs travel free. We should write that down somewhere."),),
    ),
    Remark(
        on="US-016",
        by="ines",
        text="Two seasons that are equally long: which one applies?",
        answers=(("jonas", "Good question. I would refuse to publish the second one."),),
    ),
    Remark(
        on="EP-006",
        by="aylin",
        text="Erasing names and keeping counts looks like a contradiction. It is none: counts have "
        "no names. Let us say so in both.",
        resolved_by="mara",
    ),
    Remark(
        on="US-028",
        by="sven",
        text="The harbour master would like this as a phone call to a person, not as a web page.",
    ),
    Remark(
        on="EP-008",
        by="jonas",
        text="The rehearsal in March took 22 minutes. We are close, not there.",
        answers=(("mara", "What took the longest?"), ("jonas", "Finding the person with the key.")),
    ),
    Remark(
        on="US-034",
        by="pieter",
        text="Boarding must go on even where booking does not. That is why scanners judge alone.",
        resolved_by="jonas",
    ),
)


NAMESPACE: Final = UUID("3d6a31d2-51f5-5c0e-8a9a-0c1f2d7be0a4")
BEGUN: Final = datetime(2025, 3, 3, 8, 0, tzinfo=UTC)
STEP: Final = timedelta(minutes=47)
"""The interval between the creation times of two successive records."""
BASELINE: Final = "Season opening"

_REFERENCE: Final = re.compile(r"\b(?:EP|US|AC|REQ|STD|PROMPT)-[0-9]{3}\b")

_private: Final = Registry()


@_private.write(right="admin")
async def load_demo(work: OperationContext) -> ImportReport:
    """Load the sample project. Refused where something of it is there already."""
    numbered = list(markdown_file.read(_text()))
    references = [
        str(each.record.reference_id) for each in numbered if isinstance(each.record, Item)
    ]
    for reference in references:
        known = await items.lookup(work.db, _id(reference))
        if known is not None:
            raise ConflictError(f"the sample project is here already: see {known.reference_id}")
    is_alone = await items.is_empty(work.db)
    sample = _Sample(
        numbers=await _free_numbers(work, references),
        people=await _add_people(work),
        prompts=await _free_prompts(work, numbered),
        labels={name for name in COLOURS if await reference_data.find_label_named(work.db, name)},
        is_alone=is_alone,
    )
    report = await Importer(work, partial=False).import_rows(sample.rows())
    if report.failed:
        raise ConflictError(
            "the sample project does not fit into this hub",
            rows=[row for row in report.rows if row.action == "failed"],
        )
    epic = first_epic(report)
    # In a hub with items of its own, a baseline of everything would include those too.
    about = "all epics" if is_alone else epic
    await work.service(Registry)["create_baseline"].function(
        work,
        name=await _free_baseline(work),
        description=f"What was agreed before the season: {about}.",
        epic_id=None if is_alone else epic,
    )
    return report


def first_epic(report: ImportReport) -> str:
    """Return the reference id of the first epic of the sample project."""
    return next(row.reference_id for row in report.rows if row.kind == "epic")


def demo_operation() -> Operation:
    """Return the operation that loads the sample project.

    No adapter offers it; only the command line and the set-up page run it.
    """
    return _private["load_demo"]


class _Sample(Struct, frozen=True, kw_only=True):
    """The sample project, with its names changed to ones that are free in this hub."""

    numbers: dict[Kind, int]
    """By kind: the offset added to the numbers of the sample items, so that they are free."""
    people: dict[str, str]
    """Usernames in this hub, by the usernames in the sample text."""
    prompts: dict[str, str]
    """Prompt names in this hub, by the prompt names in the sample text."""
    labels: set[str]
    """Names of sample labels that the hub already has; those labels stay unchanged."""
    is_alone: bool
    """True if the hub has no other items; only then the sample prompt is activated."""

    def rows(self) -> Iterator[Numbered]:
        """Yield all records of the sample project, with creators and creation times."""
        times = (BEGUN + STEP * number for number in count())
        numbers = count(1)
        for name, colour in COLOURS.items():
            if name not in self.labels:
                yield Numbered(next(numbers), Label(name=name, colour=colour))
        creator = self.people[OWNER]
        for numbered in markdown_file.read(self.renamed(_text())):
            record = numbered.record
            notes: tuple[str, ...] = ()
            match record:
                case Item():
                    record.id = _id(self._original(str(record.reference_id)))
                    if record.assignee:
                        record.assignee = self.people[record.assignee]
                    if record.name:
                        record.name = self.prompts[record.name]
                    if record.active and not self.is_alone:
                        record.active = False
                        notes = ("not activated: the hub has items of its own",)
                    creator = record.assignee or creator
                    record.creator, record.created_at = creator, _time(next(times))
                case Link():
                    ends = map(self._original, (record.source, record.target))
                    record.id = _id(f" {record.type} ".join(ends))
                    record.creator, record.created_at = self.people[OWNER], _time(next(times))
            yield Numbered(next(numbers), record, notes=notes)
        for comment in self._comments():
            comment.created_at = _time(next(times))
            yield Numbered(next(numbers), comment)

    def renamed(self, text: str) -> str:
        """Replace the reference ids in a sample text by those of the items in this hub."""
        return _REFERENCE.sub(lambda found: self._shifted(found[0], 1), text)

    def _original(self, reference: str) -> str:
        return self._shifted(reference, -1)

    def _shifted(self, text: str, sign: int) -> str:
        reference = parse_reference(text)
        assert reference is not None
        shift = sign * self.numbers.get(reference.kind, 0)
        return str(Reference(reference.kind, reference.number + shift))

    def _comments(self) -> Iterator[Comment]:
        for number, remark in enumerate(REMARKS, 1):
            first = _id(f"remark {number}")
            yield Comment(
                target=self.renamed(remark.on),
                text=self.renamed(remark.text),
                id=first,
                author=self.people[remark.by],
                quote=remark.quote,
                resolved=bool(remark.resolved_by),
                resolved_by=self.people[remark.resolved_by] if remark.resolved_by else None,
            )
            for place, (by, text) in enumerate(remark.answers, 1):
                yield Comment(
                    target=self.renamed(remark.on),
                    text=self.renamed(text),
                    id=_id(f"remark {number} answer {place}"),
                    author=self.people[by],
                    reply_to=first,
                )


async def _free_numbers(work: OperationContext, references: list[str]) -> dict[Kind, int]:
    """Return the offset to add to the numbers of sample items, by kind.

    A kind has an offset if the hub already uses one of the sample's reference ids of this kind. The
    offset is the last number that the hub gave to an item of the kind.
    """
    taken: dict[Kind, int] = {}
    for name in references:
        reference = parse_reference(name)
        assert reference is not None
        if reference.kind not in taken and await items.lookup(work.db, name) is not None:
            taken[reference.kind] = await items.last_number(work.db, reference.kind)
    return taken


async def _free_prompts(work: OperationContext, rows: list[Numbered]) -> dict[str, str]:
    free: dict[str, str] = {}
    for each in rows:
        if isinstance(each.record, Item) and each.record.name:
            for name in _candidates(each.record.name, "."):
                if await items.prompt_named(work.db, name) is None:
                    free[each.record.name] = name
                    break
    return free


async def _free_baseline(work: OperationContext) -> str:
    for name in _candidates(BASELINE, " "):
        if await baselines.find_named(work.db, name) is None:
            return name
    raise AssertionError  # pragma: no cover - candidates do not end


def _candidates(name: str, between: str) -> Iterator[str]:
    """Yield a name and its alternatives: `analyst`, `analyst.sample`, …"""
    yield name
    yield f"{name}{between}sample"
    for number in count(2):
        yield f"{name}{between}sample{number}"


async def _add_people(work: OperationContext) -> dict[str, str]:
    """Add the people of the sample project; return their usernames.

    A name that another account has is not used; the person gets the next candidate.
    """
    names: dict[str, str] = {}
    for person, role in PEOPLE.items():
        id = _id(f"person {person}")
        known = await storage.find_user_row(work.db, id)
        if known is not None:  # from a sample project whose items were deleted
            names[person] = known["username"]
            continue
        for name in _candidates(person, "."):
            if await storage.find_user_row(work.db, name) is None:
                await _add_person(work, id, name, role)
                names[person] = name
                break
    return names


async def _add_person(work: OperationContext, id: str, name: str, role: Role) -> None:
    user = await storage.insert_user(
        work.db, id=id, username=name, email="", role=role, hashed="", now=work.now
    )
    work.record(
        Effect(
            action="created",
            kind="user",
            id=user.id,
            reference_id=name,
            version=user.version,
            after=storage.user_effect_fields(user),
        )
    )


def _text() -> str:
    return (files("accord.hub") / "demo_project.md").read_text(encoding="utf-8")


def _id(name: str) -> str:
    return str(uuid5(NAMESPACE, name))


def _time(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
