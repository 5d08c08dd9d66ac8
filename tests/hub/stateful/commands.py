"""Writes that make sense, more or less, for what a model holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from msgspec import Struct

from tests.hub.stateful.model import PREFIXES, Model, Who

T = TypeVar("T")

TREE: Final = ("epic", "user_story", "acceptance_criteria", "requirement")
LINKS: Final = ("depends_on", "blocks", "relates_to", "verifies")
STATUSES: Final = ("Backlog", "Draft", "In Progress", "Done", "Cancelled")
REQUIREMENT_STATUSES: Final = ("Draft", "Active", "Obsolete")
WORDS: Final = ("login", "payment", "Straße", "日本", "a b", "%_'")


class Command(Struct, frozen=True):
    """A call, by the names of the model."""

    operation: str
    arguments: dict[str, Any]


def _beginning() -> tuple[tuple[Who, Command], ...]:
    """Enough for everything to have something to do with."""
    made: list[tuple[Who, Command]] = []

    def make(operation: str, who: Who = "uma", **arguments: Any) -> None:
        made.append((who, Command(operation, arguments)))

    for title in ("one", "two"):
        make("create_epic", title=title)
    for epic in ("EP-001", "EP-001", "EP-002"):
        make("create_user_story", epic_id=epic, title="story")
    for story in ("US-001", "US-001", "US-002"):
        make("create_acceptance_criteria", user_story_id=story, description="ok")
    for story, criteria in (("US-001", "AC-001"), ("US-001", None), ("US-002", "AC-003")):
        make(
            "create_requirement",
            user_story_id=story,
            title="requirement",
            acceptance_criteria_id=criteria,
        )
    for name in ("p0", "p1"):
        make("create_prompt", who="ada", name=name, content="Be kind.")
    make("create_relationship", source_id="REQ-001", target_id="REQ-002", type="depends_on")
    make("create_relationship", source_id="REQ-002", target_id="REQ-003", type="depends_on")
    make("create_label", name="red")
    make("label_item", id="REQ-003", label="label 1")
    make("add_comment", target_id="REQ-003", text="why?")
    return tuple(made)


class Chooser:
    """Chooses by numbers that somebody else draws."""

    def __init__(self, model: Model, pick: Callable[[int], int]) -> None:
        self._model = model
        self._pick = pick

    def command(self) -> Command:
        """Any write to the items and what belongs to them."""
        creations = (self._epic, self._story, self._criteria, self._requirement)
        makers: tuple[Callable[[], Command], ...] = (
            *creations,
            *creations,
            *(self._update, self._update, self._move, self._move, self._append),
            *(self._delete, self._force_delete),
            *(self._prompt, self._activate, self._activate),
            *(self._link, self._link, self._unlink),
            *(self._comment, self._answer, self._change_comment),
            *(self._label, self._put_label, self._put_label),
        )
        return self.one(makers)()

    def steps(self) -> list[Command]:
        """Several at once, of which later ones may use what earlier ones make."""
        made = [self._epic(), self._story("$1.id"), self._requirement("$2.reference_id")]
        return [*made[: self._pick(4)], *(self.command() for _ in range(1 + self._pick(3)))]

    def one(self, choices: Sequence[T]) -> T:
        return choices[self._pick(len(choices))]

    def often(self) -> bool:
        return self._pick(4) > 0

    def seldom(self) -> bool:
        return self._pick(12) == 11

    def _item(self, *kinds: str) -> str:
        """An item; seldom one that is not there, or is of another kind."""
        names = [name for kind in kinds for name in self._model.items(kind)]
        if self.seldom() or not names:
            return f"{PREFIXES[self.one(list(PREFIXES))]}-{1 + self._pick(9):03d}"
        return self.one(names)

    def _named(self, what: str) -> str:
        """What is no item; seldom one that is gone."""
        names = self._model.named(what)
        if self.seldom() or not names:
            return f"{what} {1 + self._pick(5)}"
        return self.one(names)

    def _epic(self) -> Command:
        title, priority = self.one(WORDS), 1 + self._pick(4)
        assignee = self.one(("ada", "carl", None))
        return Command("create_epic", {"title": title, "priority": priority, "assignee": assignee})

    def _story(self, epic: str = "") -> Command:
        epic = epic or self._item("epic")
        return Command("create_user_story", {"epic_id": epic, "title": self.one(WORDS)})

    def _criteria(self) -> Command:
        story = self._item("user_story")
        return Command(
            "create_acceptance_criteria", {"user_story_id": story, "description": self.one(WORDS)}
        )

    def _requirement(self, story: str = "") -> Command:
        arguments = {"user_story_id": story or self._item("user_story"), "title": self.one(WORDS)}
        if not story and self.one((True, False)):
            name = self._item("acceptance_criteria")
            arguments["acceptance_criteria_id"] = name
            if self.often() and ("item", name) in self._model.rows:
                row = self._model.item(name)
                arguments["user_story_id"] = row["parent"] or arguments["user_story_id"]
        return Command("create_requirement", arguments)

    def _update(self) -> Command:
        kind = self.one((*TREE, "prompt"))
        id = self._item(kind)
        arguments: dict[str, Any] = {"id": id}
        match kind:
            case "epic":
                arguments["status"] = self.one(STATUSES)
            case "user_story":
                arguments["epic_id"] = self._item("epic")
            case "acceptance_criteria":
                arguments["user_story_id"] = self._item("user_story")
            case "requirement":
                arguments |= self._of_requirement()
            case _:
                arguments["name"] = f"p{self._pick(4)}"
        if kind not in ("acceptance_criteria", "prompt") and self.one((True, False)):
            arguments["title"] = self.one(WORDS)
            arguments["assignee"] = self.one(("uma", "otto", None))
        if self.one((True, False)):
            row = self._model.rows.get(("item", id), {"version": 1})
            arguments["expected_version"] = max(1, row["version"] + self.one((0, 0, -1, 1)))
        return Command(f"update_{kind}", arguments)

    def _of_requirement(self) -> dict[str, Any]:
        match self._pick(4):
            case 0:
                return {"status": self.one(REQUIREMENT_STATUSES)}
            case 1:
                return {"user_story_id": self._item("user_story")}
            case 2:
                return {"acceptance_criteria_id": self._item("acceptance_criteria")}
            case _:
                return {"acceptance_criteria_id": None, "type": self.one(("Data", "Interface"))}

    def _append(self) -> Command:
        return Command("append_text", {"id": self._item(*TREE, "prompt"), "text": self.one(WORDS)})

    def _move(self) -> Command:
        kind = self.one((*TREE, "prompt"))
        parents = {"epic": "epic", "user_story": "epic"}
        where: dict[str, str] = {}
        if self.often():
            where[self.one(("before", "after"))] = self._item(kind)
        if not self.often():
            where["parent_id"] = self._item(parents.get(kind, "user_story"))
        return Command("move_item", {"id": self._item(kind), **where})

    def _delete(self) -> Command:
        kind = self.one((*TREE, "prompt"))
        return Command(f"delete_{kind}", {"id": self._item(kind)})

    def _force_delete(self) -> Command:
        kind = self.one(TREE)
        return Command(f"delete_{kind}", {"id": self._item(kind), "force": True})

    def _prompt(self) -> Command:
        return Command("create_prompt", {"name": f"p{self._pick(4)}", "content": self.one(WORDS)})

    def _activate(self) -> Command:
        operation = self.one(("activate_prompt", "activate_prompt", "deactivate_prompt"))
        return Command(operation, {"id": self._item("prompt")})

    def _link(self) -> Command:
        source, target = self._item(*TREE), self._item(*TREE)
        return Command(
            "create_relationship",
            {"source_id": source, "target_id": target, "type": self.one(LINKS)},
        )

    def _unlink(self) -> Command:
        return Command("delete_relationship", {"id": self._named("link")})

    def _comment(self) -> Command:
        target = self._item(*TREE, "prompt")
        return Command("add_comment", {"target_id": target, "text": self.one(WORDS)})

    def _answer(self) -> Command:
        name = self._named("comment")
        row = self._model.rows.get(("comment", name), {"target": "EP-001"})
        target = row["target"] if self.often() else self._item(*TREE)
        return Command("add_comment", {"target_id": target, "text": "so", "reply_to": name})

    def _change_comment(self) -> Command:
        id = self._named("comment")
        match self._pick(4):
            case 0:
                return Command("resolve_comment", {"id": id, "resolved": self.one((True, False))})
            case 1:
                return Command("delete_comment", {"id": id, "force": self.one((True, False))})
            case 2:
                version = 1 + self._pick(2)
                text = self.one(WORDS)
                return Command(
                    "update_comment", {"id": id, "text": text, "expected_version": version}
                )
            case _:
                return Command("update_comment", {"id": id, "text": self.one(WORDS)})

    def _label(self) -> Command:
        if self.often():
            return Command("create_label", {"name": self.one(("red", "green", "blue"))})
        return Command(
            "delete_label", {"id": self._named("label"), "force": self.one((True, False))}
        )

    def _put_label(self) -> Command:
        operation = self.one(("label_item", "label_item", "unlabel_item"))
        return Command(operation, {"id": self._item(*TREE), "label": self._named("label")})


BEGINNING: Final = _beginning()
