"""Rules for items: kinds, statuses, priorities, parents, links and proposals.

RuleError
├── TransitionError     the status may not follow the current one
├── HierarchyError      the items may not be linked, or have different stories
└── CycleError          the link would close a cycle

A link becomes suspect when the content of one of its ends changes after the link was made or
confirmed; other fields (assignee, status) do not count. A change of an item affects the items that
depend on it, refine it or verify it, the target of `blocks`, both ends of symmetric links, and the
items below.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from accord.hub.domain.text import fold


class RuleError(ValueError):
    """A violated rule; the message names the rule and the valid choices."""


class TransitionError(RuleError):
    """An invalid status transition; `allowed` has the valid next statuses."""

    def __init__(self, kind: str, before: str, after: str, allowed: Sequence[str]) -> None:
        follow = ", ".join(allowed) if allowed else "none"
        super().__init__(f"{after!r} does not follow on {before!r}; allowed: {follow}")
        self.kind = kind
        self.before = before
        self.after = after
        self.allowed = tuple(allowed)


class HierarchyError(RuleError):
    """A link or place that the hierarchy does not allow.

    Either two items may not be linked, or a requirement and its acceptance criteria belong to
    different user stories.
    """


class CycleError(RuleError):
    """A link that would close a cycle; `path` goes once around it."""

    def __init__(self, type: str, path: Sequence[str]) -> None:
        super().__init__(f"{type} would close a circle: {' -> '.join(path)}")
        self.path = tuple(path)


Kind: TypeAlias = Literal[
    "epic", "user_story", "acceptance_criteria", "requirement", "steering_document", "prompt"
]


class KindRules(Struct, frozen=True):
    """The properties of one kind of items."""

    kind: Kind
    prefix: str
    """The prefix of reference ids: EP-001."""
    plural: str
    """The name of the kind in paths and URIs: user-stories."""
    scheme: str
    """The URI scheme of a single item: user-story://US-001."""
    title: str
    """The name of the kind as people see it: User story."""
    parent: Kind | None = None


KINDS: Final[dict[Kind, KindRules]] = {
    each.kind: each
    for each in (
        KindRules("epic", "EP", "epics", "epic", "Epic"),
        KindRules("user_story", "US", "user-stories", "user-story", "User story", "epic"),
        KindRules(
            "acceptance_criteria",
            "AC",
            "acceptance-criteria",
            "acceptance-criteria",
            "Acceptance criteria",
            "user_story",
        ),
        KindRules("requirement", "REQ", "requirements", "requirement", "Requirement", "user_story"),
        KindRules(
            "steering_document",
            "STD",
            "steering-documents",
            "steering-document",
            "Steering document",
        ),
        KindRules("prompt", "PROMPT", "prompts", "prompt", "Prompt"),
    )
}

_BY_PREFIX: Final = {each.prefix: each.kind for each in KINDS.values()}
_REFERENCE: Final = re.compile(r"([A-Za-z]{2,6})-([0-9]{1,12})", re.ASCII)


class Reference(Struct, frozen=True):
    """A reference id, the name that people use for an item."""

    kind: Kind
    number: int

    def __str__(self) -> str:
        return f"{KINDS[self.kind].prefix}-{self.number:03d}"


def parse_reference(text: str) -> Reference | None:
    """Return the reference id in a text such as `req-001`, or None.

    Letter case and leading zeros do not matter.
    """
    match = _REFERENCE.fullmatch(text.strip())
    kind = _BY_PREFIX.get(match[1].upper()) if match else None
    if match is None or kind is None or int(match[2]) == 0:
        return None
    return Reference(kind, int(match[2]))


PRIORITIES: Final[dict[int, str]] = {1: "Critical", 2: "High", 3: "Medium", 4: "Low"}

_BY_NAME: Final = {fold(name): number for number, name in PRIORITIES.items()}


def parse_priority(text: str) -> int | None:
    """Return the priority with this number or name, or None."""
    folded = fold(text)
    if folded in _BY_NAME:
        return _BY_NAME[folded]
    return int(folded) if folded in map(str, PRIORITIES) else None


_OF_WORK: Final[Mapping[str, tuple[str, ...]]] = {
    "Backlog": ("Draft", "In Progress", "Cancelled"),
    "Draft": ("Backlog", "In Progress", "Cancelled"),
    "In Progress": ("Done", "Cancelled"),
    "Done": ("In Progress",),
    "Cancelled": ("Backlog",),
}
_OF_REQUIREMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "Draft": ("Active", "Obsolete"),
    "Active": ("Obsolete",),
    "Obsolete": ("Active",),
}

TRANSITIONS: Final[Mapping[Kind, Mapping[str, tuple[str, ...]]]] = {
    "epic": _OF_WORK,
    "user_story": _OF_WORK,
    "requirement": _OF_REQUIREMENTS,
}
"""The valid next statuses, by kind and current status. Kinds that are missing have no status."""

STATUSES: Final[Mapping[Kind, tuple[str, ...]]] = {
    kind: tuple(table) for kind, table in TRANSITIONS.items()
}


def check_transition(kind: Kind, before: str, after: str) -> None:
    """Raise TransitionError if `after` is no valid next status of `before`.

    Keeping the status is valid.
    """
    if before == after:
        return
    allowed = TRANSITIONS.get(kind, {}).get(before, ())
    if after not in allowed:
        raise TransitionError(kind, before, after, allowed)


CHILDREN: Final[Mapping[Kind, tuple[Kind, ...]]] = {
    kind: tuple(each.kind for each in KINDS.values() if each.parent == kind) for kind in KINDS
}
"""By kind of item: the kinds of children that the item can have."""

LINKABLE: Final[tuple[Kind, ...]] = tuple(kind for kind in KINDS if kind != "prompt")
"""The kinds that can have relationships."""


def check_criteria(requirement_parent: str, criteria_parent: str) -> None:
    """Raise HierarchyError unless a requirement and its criteria share a user story."""
    if requirement_parent != criteria_parent:
        raise HierarchyError("the acceptance criteria belong to another user story")


def check_linkable(kind: Kind) -> None:
    """Raise HierarchyError for a kind that cannot have relationships."""
    if kind not in LINKABLE:
        names = ", ".join(KINDS[each].title for each in LINKABLE)
        raise HierarchyError(f"{KINDS[kind].title} has no relationships; these have: {names}")


def shortest_path(edges: Iterable[tuple[str, str]], start: str, goal: str) -> list[str] | None:
    """Return a shortest path along `edges` from `start` to `goal`, or None."""
    following: dict[str, list[str]] = {}
    for source, target in edges:
        following.setdefault(source, []).append(target)
    came_from: dict[str, str] = {start: start}
    waiting = deque([start])
    while waiting:
        place = waiting.popleft()
        if place == goal:
            return _back(came_from, goal)
        for after in following.get(place, ()):
            if after not in came_from:
                came_from[after] = place
                waiting.append(after)
    return None


def check_acyclic(type: str, edges: Iterable[tuple[str, str]], source: str, target: str) -> None:
    """Raise CycleError if a link from `source` to `target` closes a cycle.

    The path in the error goes once around the cycle, from `source` to `source`.
    """
    path = shortest_path(edges, target, source)
    if path is not None:
        raise CycleError(type, [source, *path])


def _back(came_from: dict[str, str], goal: str) -> list[str]:
    path = [goal]
    while came_from[path[-1]] != path[-1]:
        path.append(came_from[path[-1]])
    return path[::-1]


CONTENT_FIELDS: Final = frozenset({"title", "description", "type"})
"""The fields that count as content: a change of one makes the item's links suspect."""


def changes_content(fields: Iterable[str]) -> bool:
    """Return whether a change of `fields` of an item makes its links suspect."""
    return not CONTENT_FIELDS.isdisjoint(fields)


def changed_ends(remembered: tuple[int, int], changed: tuple[int, int]) -> tuple[bool, bool]:
    """Return which ends of a link changed since the link was made or last confirmed.

    All pairs are for source and target. `remembered` are the item versions for which the link was
    made or last confirmed; `changed` are the versions in which the content last changed.
    """
    return remembered[0] < changed[0], remembered[1] < changed[1]


AFFECTS_TARGET: Final = frozenset({"blocks"})
"""Relationship types in which the target depends on the source. In all other types the source
depends on the target."""
AFFECTS_BOTH: Final = frozenset({"duplicates"})
"""Relationship types, besides the symmetric ones, in which each end affects the other."""


class ImpactLink(Struct, frozen=True):
    """A link, reduced to the fields that impact analysis needs."""

    source: str
    target: str
    type: str
    inverse: str
    is_symmetric: bool = False


class ImpactStep(Struct, frozen=True):
    """One step from an item to an item that it affects."""

    start: str
    end: str
    label: str
    """The relationship, read from `start` to `end`: `is_depended_on_by`, `has`."""


def impact_steps(link: ImpactLink) -> Iterator[ImpactStep]:
    """Yield a step for each end of a link that a change of the other end affects."""
    is_both = link.is_symmetric or link.type in AFFECTS_BOTH
    if is_both or link.type in AFFECTS_TARGET:
        yield ImpactStep(link.source, link.target, link.type)
    if is_both or link.type not in AFFECTS_TARGET:
        yield ImpactStep(link.target, link.source, link.inverse)


class ImpactSearch:
    """A breadth-first search for the items that a change of one item affects.

    It finds one shortest path to each item.
    """

    def __init__(self, start: str, limit: int) -> None:
        self.start = start
        self.came_by: dict[str, ImpactStep] = {}
        """The step that first reached an item, by item id, in the order of the search."""
        self.distances: dict[str, int] = {start: 0}
        self.front: tuple[str, ...] = (start,)
        """The items reached in the last round; the next round starts from them."""
        self.is_cut = False
        """True if affected items are missing, because there are more than `limit`."""
        self._limit = limit

    def advance(self, found: Iterable[ImpactStep]) -> None:
        """Follow the links of the items in `front` by one step.

        `found` are the steps along these links. The items that they reach for the first time become
        the new `front`.
        """
        distance = self.distances[self.front[0]] + 1
        reached: list[str] = []
        for step in found:
            if step.end in self.distances:
                continue
            if len(self.came_by) >= self._limit:
                self.is_cut = True
                break
            self.came_by[step.end] = step
            self.distances[step.end] = distance
            reached.append(step.end)
        self.front = tuple(reached)

    def path(self, end: str) -> list[ImpactStep]:
        """Return the steps from the start to an item that the search reached."""
        path: list[ImpactStep] = []
        while end != self.start:
            path.append(self.came_by[end])
            end = path[-1].start
        return path[::-1]

    def tree(self) -> Iterator[tuple[int, ImpactStep]]:
        """Yield all steps with their depth, each below the step that leads to it."""
        following: dict[str, list[ImpactStep]] = {}
        for step in self.came_by.values():
            following.setdefault(step.start, []).append(step)
        waiting = [(1, step) for step in reversed(following.get(self.start, []))]
        while waiting:
            depth, step = waiting.pop()
            yield depth, step
            waiting += [(depth + 1, each) for each in reversed(following.get(step.end, []))]


class AcceptancePolicy(Struct, frozen=True):
    """The value of the setting `accept_own_proposals`."""

    own: bool = True
    """True if signed-in people may accept proposals made with their tokens or by their runs."""


class ProposalOrigin(Struct, frozen=True):
    """The user who makes or accepts a proposal, and the kind of access.

    Access is by token, session, workflow run or local command. Columns of proposals and fields of
    callers have the same names as the fields of this class.
    """

    user_id: str
    via: str
    run_id: str

    @property
    def in_person(self) -> bool:
        """True for a person at the keyboard; false for a token or a workflow run."""
        return self.via in ("session", "local") and not self.run_id

    @property
    def by_program(self) -> bool:
        """True for a call with a token or by a workflow run."""
        return self.via == "token" or bool(self.run_id)


def acceptance_problem(
    policy: AcceptancePolicy, proposed: ProposalOrigin, accepts: ProposalOrigin
) -> str:
    """Return why this person may not accept a proposal; empty if the person may.

    Other people than the author may accept a proposal if their rights allow it. The author may not,
    with one exception. "In person" means a login session, or a command on the machine itself.

    Proposed by the author        The author accepts with a token   in person
    with a token, or by a run     no                                if `policy.own`
    in person                     no                                no
    in a release without `via`    no                                no
    """
    if proposed.user_id != accepts.user_id:
        return ""
    if not accepts.in_person:
        return (
            "you proposed it yourself, and nobody accepts with a token what they proposed: "
            "sign in and accept it there, or ask somebody else"
        )
    if not proposed.by_program:
        return "you proposed it yourself: somebody else has to accept it"
    if not policy.own:
        return (
            "it was proposed with a token of yours: somebody else has to accept it "
            "(setting accept_own_proposals)"
        )
    return ""
