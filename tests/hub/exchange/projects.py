"""Hypothesis strategies for projects: every kind of record, and texts that are hard to format."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from msgspec import UNSET

from accord.hub.domain.text import fold, problem_of_line, problem_of_text
from accord.hub.exchange.project import Comment, Item, Label, Link, Project, Type

PEOPLE = ("ada", "uma", "otto", "carl")
AWKWARD = (
    *(
        "=1+1",
        "-2",
        "'=x",
        "''",
        "@a",
        "\\",
        "; ",
        "\\;",
        "# a",
        "## EP-002: x",
        "\\## EP-1:",
        "- Status: Done",
    ),
    *(
        "```prompt",
        "````",
        "<b>&amp;",
        "]]>",
        "\r\n",
        "\n\n",
        "\n",
        " ",
        "é",
        "支",
        "😀",
        '"',
        ",",
        "|",
        "\t",
    ),
)

chars = st.characters(
    codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff"
)
texts = (
    st.lists(st.one_of(st.sampled_from(AWKWARD), st.text(chars, max_size=12)), max_size=8)
    .map("".join)
    .filter(lambda text: problem_of_text(text) is None)
)
lines = (
    st.lists(
        st.one_of(st.sampled_from(AWKWARD), st.text(chars, max_size=12)), min_size=1, max_size=4
    )
    .map(lambda parts: " ".join("".join(parts).split()))
    .filter(lambda line: problem_of_line(line) is None and bool(line))
)
people = st.sampled_from(PEOPLE)
priorities = st.integers(1, 4)
work_statuses = st.sampled_from(["Backlog", "Draft", "In Progress", "Done", "Cancelled"])
requirement_statuses = st.sampled_from(["Draft", "Active", "Obsolete"])
label_names = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P")), min_size=1, max_size=9
)


def _id(number: int) -> str:
    return str(UUID(int=(0xA << 124) + number))


@st.composite
def projects(draw: st.DrawFn) -> Project:
    """Draw a whole project in the form of an export."""
    labels = draw(st.lists(label_names, max_size=3, unique_by=fold))
    made = _Made(draw, [name for name in labels if fold(name)])
    for _ in range(draw(st.integers(1, 2))):
        epic = made.add("epic", "EP", **made.work(work_statuses))
        for _ in range(draw(st.integers(0, 2))):
            story = made.add("user_story", "US", parent=epic, **made.work(work_statuses))
            criteria = [
                made.add("acceptance_criteria", "AC", parent=story, description=draw(texts))
                for _ in range(draw(st.integers(0, 2)))
            ]
            for _ in range(draw(st.integers(0, 2))):
                made.add(
                    *("requirement", "REQ"),
                    parent=story,
                    acceptance_criteria=draw(st.sampled_from([None, *criteria])),
                    type=draw(st.sampled_from(["Functional", "Data"])),
                    **made.work(requirement_statuses),
                )
    epics = [str(item.reference_id) for item in made.items if item.kind == "epic"]
    for _ in range(draw(st.integers(0, 1))):
        linked = [epic for epic in epics if draw(st.booleans())]
        made.add(
            *("steering_document", "STD"), title=draw(lines), description=draw(texts), epics=linked
        )
    for number in range(draw(st.integers(0, 2))):
        made.add(
            *("prompt", "PROMPT"),
            name=f"helper.{number}",
            title=draw(lines),
            description=draw(texts),
            content=draw(texts.filter(str.strip)),
            role=draw(st.sampled_from(["user", "assistant"])),
            active=number == 0 and draw(st.booleans()),
        )
    return Project(
        types=[
            Type(name=name)
            for name in ("Business Rule", "Data", "Functional", "Interface", "Non-Functional")
        ],
        labels=sorted(
            (Label(name=name, colour="#123456") for name in made.labels),
            key=lambda label: fold(label.name),
        ),
        items=made.items,
        relationships=made.links(),
        comments=made.comments(),
    )


class _Made:
    """A project under construction."""

    def __init__(self, draw: st.DrawFn, labels: list[str]) -> None:
        self._draw = draw
        self._count = 0
        self._numbers: dict[str, int] = {}
        self.labels = labels
        self.items: list[Item] = []

    def work(self, statuses: Any) -> dict[str, Any]:
        draw = self._draw
        return {
            "title": draw(lines),
            "description": draw(texts),
            "status": draw(statuses),
            "priority": draw(priorities),
            "assignee": draw(st.one_of(st.none(), people)),
        }

    def add(self, kind: Any, prefix: str, **fields: Any) -> str:
        if kind == "acceptance_criteria" and not fields["description"].strip():
            fields["description"] = "something"
        # Numbers leave gaps, as those of things that were deleted do.
        number = self._numbers.get(prefix, 0) + self._draw(st.integers(1, 3))
        self._numbers[prefix] = number
        chosen = [name for name in sorted(self.labels, key=fold) if self._draw(st.booleans())]
        self.items.append(
            Item(
                kind=kind,
                reference_id=f"{prefix}-{number:03d}",
                labels=UNSET if kind == "prompt" else chosen,
                **fields,
                **self._made("creator"),
            )
        )
        return str(self.items[-1].reference_id)

    def links(self) -> list[Link]:
        """Draw links from later to earlier items, so none closes a cycle."""
        names = [str(item.reference_id) for item in self.items if item.kind != "prompt"]
        pairs = [(one, other) for place, one in enumerate(names) for other in names[:place]]
        return [
            Link(source=source, type="depends_on", target=target, **self._made("creator"))
            for source, target in pairs
            if self._draw(st.integers(0, 4)) == 0
        ]

    def comments(self) -> list[Comment]:
        found: list[Comment] = []
        for item in self.items:
            if self._draw(st.integers(0, 3)) == 0:
                text = self._draw(texts.filter(str.strip))
                is_resolved = self._draw(st.booleans())
                found.append(
                    Comment(
                        target=str(item.reference_id),
                        text=text,
                        reply_to=None,
                        resolved=is_resolved,
                        resolved_by=self._draw(people) if is_resolved else None,
                        **self._made("author"),
                    )
                )
        return found

    def _made(self, by: str) -> dict[str, Any]:
        self._count += 1
        return {
            "id": _id(self._count),
            "created_at": f"2026-01-01T00:{self._count // 60:02d}:{self._count % 60:02d}.000000Z",
            by: self._draw(people),
        }
