"""What a hub should do, in dictionaries: its rules without a database, an index or a clock.

Everything that can be written is a row under a key, and rows are never changed but replaced. Who
wants to try something tries it on a copy. Operations are methods of the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

Key: TypeAlias = tuple[str, str]
"""What something is (`item`, `comment`, `link`, `label`, `on`), and how it is called here."""
Row: TypeAlias = Mapping[str, Any]
Who: TypeAlias = Literal["ada", "uma"]
"""An administrator and a user."""

PREFIXES: Final = {
    "epic": "EP",
    "user_story": "US",
    "acceptance_criteria": "AC",
    "requirement": "REQ",
    "prompt": "PROMPT",
}
PARENTS: Final = {
    "user_story": ("epic", "epic_id"),
    "acceptance_criteria": ("user_story", "user_story_id"),
    "requirement": ("user_story", "user_story_id"),
}
FOLLOWING: Final = {
    "Backlog": {"Draft", "In Progress", "Cancelled"},
    "Draft": {"Backlog", "In Progress", "Cancelled"},
    "In Progress": {"Done", "Cancelled"},
    "Done": {"In Progress"},
    "Cancelled": {"Backlog"},
}
FOLLOWING_REQUIREMENTS: Final = {
    "Draft": {"Active", "Obsolete"},
    "Active": {"Obsolete"},
    "Obsolete": {"Active"},
}
SYMMETRIC: Final = frozenset({"relates_to", "conflicts_with"})
ACYCLIC: Final = frozenset({"depends_on", "blocks", "derives_from", "refines"})


class Refused(Exception):  # noqa: N818 - what is refused is no fault
    """The code of the error that a call gets."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Touch(Struct, frozen=True):
    """What happened to one row."""

    key: Key
    before: Row | None
    after: Row | None

    @property
    def action(self) -> str:
        return "created" if self.before is None else "deleted" if self.after is None else "updated"

    @property
    def version(self) -> int:
        version: int = (self.after or self.before or {}).get("version", 0)
        return version


class Change(Struct, frozen=True):
    """What one call did."""

    number: int
    who: Who
    touches: tuple[Touch, ...]
    undoes: int | None = None


class Model:
    """A hub."""

    def __init__(self) -> None:
        self.rows: dict[Key, Row] = {}
        self.changes: list[Change] = []
        self._given = dict.fromkeys((*PREFIXES, "comment", "link", "label"), 0)
        self._touches: list[Touch] = []

    def copy(self) -> Model:
        other = Model()
        other.rows = dict(self.rows)
        other.changes = list(self.changes)
        other._given = dict(self._given)
        other._touches = list(self._touches)
        return other

    def call(self, operation: str, who: Who, arguments: Mapping[str, Any]) -> str:
        """What a call that is not refused makes or changes. Raises Refused."""
        function: Callable[..., str] = getattr(self, operation)
        return function(who, **arguments)

    def commit(self, who: Who, undoes: int | None = None) -> Change | None:
        """The calls since the last commit are one change, if they did anything."""
        touches, self._touches = tuple(self._touches), []
        if not touches:
            return None
        self.changes.append(Change(len(self.changes), who, touches, undoes))
        return self.changes[-1]

    # What there is

    def items(self, kind: str) -> list[str]:
        """All items of a kind, the oldest first."""
        found = [name for (what, name), row in self.rows.items() if what == "item"]
        return sorted(
            (name for name in found if self.item(name)["kind"] == kind),
            key=lambda name: self.item(name)["number"],
        )

    def item(self, name: str) -> Row:
        return self.rows["item", name]

    def named(self, what: str) -> list[str]:
        """All of what is no item, in the order in which it was made first."""
        found = [name for kind, name in self.rows if kind == what]
        return sorted(found, key=lambda name: self.rows[what, name]["made"])

    def siblings(self, kind: str, parent: str | None) -> list[str]:
        """In their places."""
        found = [name for name in self.items(kind) if self.item(name)["parent"] == parent]
        return sorted(found, key=lambda name: (self.item(name)["position"], name_number(name)))

    def children(self, name: str) -> list[str]:
        return [
            child
            for kind in ("acceptance_criteria", "requirement", "user_story")
            for child in self.siblings(kind, name)
        ]

    def labels_of(self, name: str) -> list[str]:
        on = [row["label"] for row in self._of("on") if row["item"] == name]
        return sorted(self.rows["label", each]["name"] for each in on)

    def history(self, key: Key) -> list[Touch]:
        """The newest first."""
        return [
            touch
            for change in reversed(self.changes)
            for touch in reversed(change.touches)
            if touch.key == key
        ]

    # Items

    def create_epic(self, who: Who, **fields: Any) -> str:
        return self._create(who, "epic", **fields)

    def create_user_story(self, who: Who, **fields: Any) -> str:
        return self._create(who, "user_story", **fields)

    def create_acceptance_criteria(self, who: Who, **fields: Any) -> str:
        return self._create(who, "acceptance_criteria", **fields)

    def create_requirement(self, who: Who, **fields: Any) -> str:
        return self._create(who, "requirement", **fields)

    def create_prompt(self, who: Who, **fields: Any) -> str:
        _require_admin(who)
        self._check_prompt_name(fields["name"], None)
        return self._create(who, "prompt", title=fields["name"], **fields)

    def update_epic(self, who: Who, **fields: Any) -> str:
        return self._update("epic", **fields)

    def update_user_story(self, who: Who, **fields: Any) -> str:
        return self._update("user_story", **fields)

    def update_acceptance_criteria(self, who: Who, **fields: Any) -> str:
        return self._update("acceptance_criteria", **fields)

    def update_requirement(self, who: Who, **fields: Any) -> str:
        return self._update("requirement", **fields)

    def update_prompt(self, who: Who, id: str, **fields: Any) -> str:
        _require_admin(who)
        self._find(id, "prompt")
        if "name" in fields:
            self._check_prompt_name(fields["name"], id)
        return self._update("prompt", id, **fields)

    def append_text(self, who: Who, id: str, text: str) -> str:
        row = self._find(id)
        if row["kind"] == "prompt":
            _require_admin(who)
        before = row["description"]
        return self._update(row["kind"], id, description=f"{before}\n{text}" if before else text)

    def activate_prompt(self, who: Who, id: str) -> str:
        _require_admin(who)
        row = self._find(id, "prompt")
        if not row["active"]:
            for name in self.items("prompt"):
                if self.item(name)["active"]:
                    self._set(name, active=False)
            self._set(id, active=True)
        return id

    def deactivate_prompt(self, who: Who, id: str) -> str:
        _require_admin(who)
        if self._find(id, "prompt")["active"]:
            self._set(id, active=False)
        return id

    def move_item(
        self,
        who: Who,
        id: str,
        before: str | None = None,
        after: str | None = None,
        parent_id: str | None = None,
    ) -> str:
        row = self._find(id)
        kind = row["kind"]
        if kind == "prompt":
            raise Refused("validation_failed")
        sibling = before or after
        if sibling is not None:
            self._find(sibling, kind)
        self._to_parent(id, sibling, parent_id)
        if sibling is None or sibling == id:
            return id
        others = [each for each in self.siblings(kind, self.item(id)["parent"]) if each != id]
        self._put(id, others, others.index(sibling) + (0 if before else 1))
        return id

    def delete_epic(self, who: Who, **fields: Any) -> str:
        return self._delete(who, "epic", **fields)

    def delete_user_story(self, who: Who, **fields: Any) -> str:
        return self._delete(who, "user_story", **fields)

    def delete_acceptance_criteria(self, who: Who, **fields: Any) -> str:
        return self._delete(who, "acceptance_criteria", **fields)

    def delete_requirement(self, who: Who, **fields: Any) -> str:
        return self._delete(who, "requirement", **fields)

    def delete_prompt(self, who: Who, **fields: Any) -> str:
        _require_admin(who)
        return self._delete(who, "prompt", **fields)

    # What belongs to items

    def create_relationship(self, who: Who, source_id: str, target_id: str, type: str) -> str:
        for end in (source_id, target_id):
            if self._find(end)["kind"] == "prompt":
                raise Refused("validation_failed")
        if source_id == target_id:
            raise Refused("validation_failed")
        row = {"source": source_id, "target": target_id, "type": type, "creator": who}
        self._check_link(row)
        return self._add("link", row)

    def delete_relationship(self, who: Who, id: str) -> str:
        row = self._get("link", id)
        _require_own(who, row["creator"])
        self._write(("link", id), None)
        return id

    def add_comment(self, who: Who, target_id: str, text: str, reply_to: str | None = None) -> str:
        self._find(target_id)
        if reply_to is not None and self._get("comment", reply_to)["target"] != target_id:
            raise Refused("validation_failed")
        row = {
            "target": target_id,
            "reply_to": reply_to,
            "author": who,
            "text": text,
            "resolved_by": None,
            "version": 1,
        }
        return self._add("comment", row)

    def update_comment(
        self, who: Who, id: str, text: str, expected_version: int | None = None
    ) -> str:
        row = self._get("comment", id)
        if row["author"] != who:
            raise Refused("insufficient_permissions")
        if expected_version not in (None, row["version"]):
            raise Refused("version_mismatch")
        if text != row["text"]:
            self._write(("comment", id), {**row, "text": text, "version": row["version"] + 1})
        return id

    def resolve_comment(self, who: Who, id: str, resolved: bool) -> str:
        row = self._get("comment", id)
        if (row["resolved_by"] is not None) != resolved:
            self._write(("comment", id), {**row, "resolved_by": who if resolved else None})
        return id

    def delete_comment(self, who: Who, id: str, force: bool = False) -> str:
        _require_own(who, self._get("comment", id)["author"])
        if force:
            _require_admin(who)
        thread = [id]
        for each in thread:
            thread += [name for name in self.named("comment") if self._answers(name, each)]
        if len(thread) > 1 and not force:
            raise Refused("conflict")
        for each in reversed(thread):
            self._write(("comment", each), None)
        return id

    def create_label(self, who: Who, name: str) -> str:
        if any(row["name"] == name for row in self._of("label")):
            raise Refused("conflict")
        return self._add("label", {"name": name})

    def delete_label(self, who: Who, id: str, force: bool = False) -> str:
        self._get("label", id)
        if force:
            _require_admin(who)
        on = [row for row in self._of("on") if row["label"] == id]
        if on and not force:
            raise Refused("conflict")
        for row in on:
            self._write(("on", row["made"]), None)
        self._write(("label", id), None)
        return id

    def label_item(self, who: Who, id: str, label: str) -> str:
        name = self._labelled(id, label)
        if ("on", name) not in self.rows:
            self._write(("on", name), {"item": id, "label": label, "made": name})
        return id

    def unlabel_item(self, who: Who, id: str, label: str) -> str:
        name = self._labelled(id, label)
        if ("on", name) in self.rows:
            self._write(("on", name), None)
        return id

    # Taking back

    def undo(self, who: Who, number: int) -> None:
        """Raises Refused."""
        change = self.changes[number]
        if change.who != who and who != "ada":
            raise Refused("insufficient_permissions")
        if any(each.undoes == number for each in self.changes) or self._later(change):
            raise Refused("conflict")
        for touch in reversed(change.touches):
            row = touch.after or touch.before or {}
            if row.get("kind") == "prompt":
                _require_admin(who)
        for touch in reversed(change.touches):
            if touch.before is None:
                self._take_away(touch.key)
            elif touch.after is None:
                self._write(touch.key, touch.before)
            else:
                self._put_back(touch.key, touch.before, touch.after)
            self._check_fits(touch.key)

    def _later(self, change: Change) -> bool:
        """Whether what it touched was touched since; what was undone since does not count."""
        keys = {touch.key for touch in change.touches}
        later = {
            each.number: each
            for each in reversed(self.changes[change.number + 1 :])
            if keys & {touch.key for touch in each.touches}
        }
        for number in list(later):
            if number in later and later[number].undoes in later:
                undone = later.pop(number).undoes
                assert undone is not None
                del later[undone]
        return bool(later)

    def _take_away(self, key: Key) -> None:
        what, name = key
        if key not in self.rows:
            raise Refused("conflict")
        attached = {"item": ("item", "target"), "label": ("label",), "comment": ("reply_to",)}
        if what == "item" and not self._is_free(name):
            raise Refused("conflict")
        for field in attached.get(what, ()):
            for (other, _), row in self.rows.items():
                if other in ("on", "comment") and row.get(field) == name:
                    raise Refused("conflict")
        self._write(key, None)

    def _put_back(self, key: Key, before: Row, after: Row) -> None:
        if key not in self.rows:
            raise Refused("conflict")
        now = self.rows[key]
        values = {name: before[name] for name in before if before[name] != after[name]}
        if "version" in values:
            values["version"] = now["version"] + 1
        self._write(key, {**now, **values})

    def _check_fits(self, key: Key) -> None:
        """What was put back must fit what is there."""
        row = self.rows.get(key)
        if row is None:
            return
        needed: dict[str, tuple[str, ...]] = {
            "item": ("parent", "criteria"),
            "on": ("item",),
            "link": ("source", "target"),
            "comment": ("target",),
        }
        for field in needed.get(key[0], ()):
            if row[field] is not None and ("item", row[field]) not in self.rows:
                raise Refused("conflict")
        match key[0]:
            case "item":
                self._check_item(key[1], row)
            case "on" if ("label", row["label"]) not in self.rows:
                raise Refused("conflict")
            case "label" if [each["name"] for each in self._of("label")].count(row["name"]) > 1:
                raise Refused("conflict")
            case "comment" if row["reply_to"] and ("comment", row["reply_to"]) not in self.rows:
                raise Refused("conflict")
            case "link":
                self._check_link(row, key[1])

    def _check_item(self, name: str, row: Row) -> None:
        self._check_criteria(row["parent"], row["criteria"])
        self._check_requirements(name, row["parent"])
        for other in self.items("prompt"):
            if other != name and row["kind"] == "prompt":
                if self.item(other)["active"] and row["active"]:
                    raise Refused("conflict")
                if self.item(other)["name"] == row["name"]:
                    raise Refused("conflict")

    # Parts of the above

    def _create(self, who: Who, kind: str, **fields: Any) -> str:
        values = self._fields(kind, fields)
        self._check_criteria(values.get("parent"), values.get("criteria"))
        self._given[kind] += 1
        number = self._given[kind]
        name = f"{PREFIXES[kind]}-{number:03d}"
        first = {"epic": "Backlog", "user_story": "Backlog", "requirement": "Draft"}
        row = {
            "kind": kind,
            "number": number,
            "parent": None,
            "criteria": None,
            "title": "",
            "description": "",
            "status": first.get(kind, ""),
            "priority": 3,
            "type": "Functional",
            "creator": who,
            "assignee": who,
            "name": None,
            "content": "",
            "active": False,
            "position": self._last(kind, values.get("parent")) + 1,
            "version": 1,
        }
        self._write(("item", name), {**row, **values})
        return name

    def _update(
        self, kind: str, id: str, expected_version: int | None = None, **fields: Any
    ) -> str:
        row = self._find(id, kind)
        if expected_version is not None and expected_version != row["version"]:
            later = expected_version > row["version"]
            raise Refused("validation_failed" if later else "version_mismatch")
        values = self._fields(kind, fields)
        values = {name: value for name, value in values.items() if row[name] != value}
        if not values:
            return id
        if "status" in values:
            table = FOLLOWING_REQUIREMENTS if kind == "requirement" else FOLLOWING
            if values["status"] not in table[row["status"]]:
                raise Refused("validation_failed")
        if "parent" in values:
            values["position"] = self._last(kind, values["parent"]) + 1
            self._check_requirements(id, values["parent"], code="conflict")
        changed = {**row, **values, "version": row["version"] + 1}
        self._check_criteria(changed["parent"], changed["criteria"])
        self._write(("item", id), changed)
        return id

    def _fields(self, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        values = dict(fields)
        if kind in PARENTS:
            parent, field = PARENTS[kind]
            if field in values:
                name = values.pop(field)
                self._find(name, parent)
                values["parent"] = name
        if "acceptance_criteria_id" in values:
            criteria = values.pop("acceptance_criteria_id")
            if criteria is not None:
                self._find(criteria, "acceptance_criteria")
            values["criteria"] = criteria
        return values

    def _delete(self, who: Who, kind: str, id: str, force: bool = False) -> str:
        row = self._find(id, kind)
        _require_own(who, row["creator"])
        if force:
            _require_admin(who)
        elif not self._is_free(id):
            raise Refused("conflict")
        self._remove(id)
        return id

    def _remove(self, name: str) -> None:
        for requirement in self.items("requirement"):
            row = self.item(requirement)
            if row["criteria"] == name:
                without = {**row, "criteria": None, "version": row["version"] + 1}
                self._write(("item", requirement), without)
        for child in reversed(self.children(name)):
            self._remove(child)
        self._remove_comments(name)
        for what, fields in (("link", ("source", "target")), ("on", ("item",))):
            for each in self.named(what):
                if any(self.rows[what, each][field] == name for field in fields):
                    self._write((what, each), None)
        self._write(("item", name), None)

    def _remove_comments(self, name: str) -> None:
        while True:
            left = [each for each in self.named("comment") if self._is_on(each, name)]
            if not left:
                return
            answered = {self.rows["comment", each]["reply_to"] for each in left}
            for each in left:
                if each not in answered:
                    self._write(("comment", each), None)

    def _to_parent(self, id: str, sibling: str | None, parent_id: str | None) -> None:
        row = self.item(id)
        if row["kind"] not in PARENTS:
            if parent_id is not None:
                raise Refused("validation_failed")
            return
        kind, field = PARENTS[row["kind"]]
        meant = self.item(sibling)["parent"] if sibling is not None else None
        if parent_id is not None:
            self._find(parent_id, kind)
            if sibling is not None and parent_id != meant:
                raise Refused("validation_failed")
            meant = parent_id
        if meant is None:
            raise Refused("validation_failed")
        self._update(row["kind"], id, **{field: meant})

    def _put(self, id: str, others: list[str], at: int) -> None:
        places = [self.item(each)["position"] for each in others]
        low = places[at - 1] if at > 0 else places[0] - 2
        high = places[at] if at < len(others) else places[-1] + 2
        if low < self.item(id)["position"] < high:
            return
        if low < (low + high) / 2 < high:
            self._set(id, position=(low + high) / 2)
            return
        ordered = [*others[:at], id, *others[at:]]
        for place, name in enumerate(ordered, 1):
            if self.item(name)["position"] != place:
                self._set(name, position=float(place))

    def _is_free(self, name: str) -> bool:
        """Whether nothing stands under it or is linked to it."""
        if self.children(name):
            return False
        if any(
            row["kind"] == "requirement" and row["criteria"] == name for row in self._of("item")
        ):
            return False
        return not any(name in (row["source"], row["target"]) for row in self._of("link"))

    def _check_link(self, row: Row, own: str = "") -> None:
        ends = [(row["source"], row["target"])]
        if row["type"] in SYMMETRIC:
            ends.append((row["target"], row["source"]))
        alike = [
            (other["source"], other["target"])
            for (what, name), other in self.rows.items()
            if what == "link" and name != own and other["type"] == row["type"]
        ]
        if any(each in ends for each in alike):
            raise Refused("conflict")
        if row["type"] in ACYCLIC and _leads(alike, row["target"], row["source"]):
            raise Refused("conflict")

    def _check_criteria(self, parent: str | None, criteria: str | None) -> None:
        if parent is not None and criteria is not None and self.item(criteria)["parent"] != parent:
            raise Refused("validation_failed")

    def _check_requirements(self, name: str, parent: str | None, code: str = "conflict") -> None:
        """Criteria stay with the story of their requirements."""
        for row in self._of("item"):
            if row["criteria"] == name and row["parent"] != parent:
                raise Refused(code)

    def _check_prompt_name(self, name: str, own: str | None) -> None:
        for other in self.items("prompt"):
            if other != own and self.item(other)["name"] == name:
                raise Refused("conflict")

    def _labelled(self, id: str, label: str) -> str:
        if self._find(id)["kind"] == "prompt":
            raise Refused("validation_failed")
        self._get("label", label)
        return f"{id}:{label}"

    def _add(self, what: str, row: Row) -> str:
        self._given[what] += 1
        name = f"{what} {self._given[what]}"
        self._write((what, name), {**row, "made": self._given[what]})
        return name

    def _set(self, name: str, **values: Any) -> None:
        """What is no content: the version stays."""
        self._write(("item", name), {**self.item(name), **values})

    def _write(self, key: Key, row: Row | None) -> None:
        self._touches.append(Touch(key, self.rows.get(key), row))
        if row is None:
            del self.rows[key]
        else:
            self.rows[key] = row

    def _find(self, name: str, kind: str | None = None) -> Row:
        row = self._get("item", name)
        if kind is not None and row["kind"] != kind:
            raise Refused("not_found")
        return row

    def _get(self, what: str, name: str) -> Row:
        if (what, name) not in self.rows:
            raise Refused("not_found")
        return self.rows[what, name]

    def _of(self, what: str) -> Iterator[Row]:
        return (row for (kind, _), row in self.rows.items() if kind == what)

    def _answers(self, name: str, other: str) -> bool:
        return bool(self.rows["comment", name]["reply_to"] == other)

    def _is_on(self, name: str, target: str) -> bool:
        return bool(self.rows["comment", name]["target"] == target)

    def _last(self, kind: str, parent: str | None) -> float:
        found = self.siblings(kind, parent)
        return float(self.item(found[-1])["position"]) if found else 0.0


def name_number(name: str) -> int:
    return int(name.rpartition("-")[2])


def _leads(edges: list[tuple[str, str]], start: str, goal: str) -> bool:
    reached, waiting = {start}, [start]
    while waiting:
        place = waiting.pop()
        for source, target in edges:
            if source == place and target not in reached:
                reached.add(target)
                waiting.append(target)
    return goal in reached


def _require_admin(who: Who) -> None:
    if who != "ada":
        raise Refused("insufficient_permissions")


def _require_own(who: Who, owner: str) -> None:
    if who not in ("ada", owner):
        raise Refused("insufficient_permissions")
