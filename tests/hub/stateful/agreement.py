"""Whether a hub says of itself what a model says: lists, the tree, search, history."""

from __future__ import annotations

from typing import Any, Final

from tests.hub.stateful.model import PREFIXES, Key, Model
from tests.hub.world import World

LISTS: Final = {
    "epic": "list_epics",
    "user_story": "list_user_stories",
    "acceptance_criteria": "list_acceptance_criteria",
    "requirement": "list_requirements",
    "prompt": "list_prompts",
}
FIELDS: Final = {
    "epic": ("title", "description", "status", "priority", "creator", "assignee", "labels"),
    "user_story": ("title", "description", "status", "creator", "labels", "epic_reference_id"),
    "acceptance_criteria": ("description", "author", "labels", "user_story_reference_id"),
    "requirement": (
        *("title", "description", "status", "type", "assignee", "labels"),
        *("user_story_reference_id", "acceptance_criteria_reference_id"),
    ),
    "prompt": ("name", "title", "description", "content", "active"),
}
_CALLED: Final = {
    "epic_reference_id": "parent",
    "user_story_reference_id": "parent",
    "acceptance_criteria_reference_id": "criteria",
    "author": "creator",
}


class Agreement:
    """Compares a hub with a model."""

    def __init__(self, world: World, ids: dict[str, str]) -> None:
        self._world = world
        self._ids = ids

    async def check(self, model: Model, touched: list[Key], limit: int) -> None:
        """Compare all lists, and the history of what was touched last."""
        for kind in PREFIXES:
            await self._check_items(model, kind, limit)
        await self._check_lists_of_parents(model, limit)
        await self._check_tree(model)
        await self._check_links(model, limit)
        await self._check_comments(model, limit)
        await self._check_labels(model)
        for key in touched:
            await self._check_history(model, key)
            if key[0] == "item":
                await self._check_search(model, key[1])
        found = await self._world.call("search_global", query="*")
        kinds = [kind for kind, _ in model.rows]
        assert found.total == kinds.count("item") + kinds.count("comment")

    async def _all(self, operation: str, limit: int, **arguments: Any) -> list[Any]:
        """All pages of a list, whose totals are true."""
        found: list[Any] = []
        cursor = None
        while True:
            page = await self._world.call(operation, limit=limit, cursor=cursor, **arguments)
            found += page.items
            assert page.has_more == (page.next_cursor is not None)
            cursor = page.next_cursor
            if cursor is None:
                assert page.total == len(found)
                return found

    async def _check_items(self, model: Model, kind: str, limit: int) -> None:
        found = await self._all(LISTS[kind], limit, detail="full", sort="reference_id")
        assert [_shown(each, kind) for each in found] == [
            _expected(model, name, kind) for name in model.items(kind)
        ]
        assert [each.id for each in found] == [self._ids[name] for name in model.items(kind)]

    async def _check_lists_of_parents(self, model: Model, limit: int) -> None:
        for epic in model.items("epic"):
            found = await self._all("list_user_stories", limit, epic_id=epic)
            assert [each.reference_id for each in found] == model.siblings("user_story", epic)

    async def _check_tree(self, model: Model) -> None:
        tree = await self._world.call("get_hierarchy", limit=2000)
        assert [_nodes(node) for node in tree.items] == [
            _branch(model, name) for name in model.siblings("epic", None)
        ]
        assert tree.left_out == 0

    async def _check_links(self, model: Model, limit: int) -> None:
        found = await self._all("list_relationships", limit)
        assert {
            each.id: (each.source_reference_id, each.type, each.target_reference_id)
            for each in found
        } == {
            self._ids[name]: (row["source"], row["type"], row["target"])
            for (what, name), row in model.rows.items()
            if what == "link"
        }

    async def _check_comments(self, model: Model, limit: int) -> None:
        found = await self._all("list_comments", limit)
        assert {
            each.id: (
                each.target_reference_id,
                *(each.text, each.author, each.reply_to, each.resolved_by, each.version),
            )
            for each in found
        } == {
            self._ids[name]: (
                row["target"],
                *(row["text"], row["author"], row["reply_to"] and self._ids[row["reply_to"]]),
                *(row["resolved_by"], row["version"]),
            )
            for (what, name), row in model.rows.items()
            if what == "comment"
        }

    async def _check_labels(self, model: Model) -> None:
        found = await self._all("list_labels", 2)
        on = [row["label"] for (what, _), row in model.rows.items() if what == "on"]
        assert {each.id: (each.name, each.used) for each in found} == {
            self._ids[name]: (row["name"], on.count(name))
            for (what, name), row in model.rows.items()
            if what == "label"
        }

    async def _check_history(self, model: Model, key: Key) -> None:
        what, name = key
        if what == "on":
            return
        found = await self._all("history", 3, id=self._ids[name])
        assert [(each.action, each.version) for each in found] == [
            (touch.action, touch.version) for touch in model.history(key)
        ]

    async def _check_search(self, model: Model, name: str) -> None:
        found = await self._world.call("search_global", query=name.lower())
        names = [each.reference_id for each in found.items]
        if ("item", name) in model.rows:
            assert names[:1] == [name]
        else:
            assert name not in names


def _shown(entity: Any, kind: str) -> dict[str, Any]:
    names = ("reference_id", "version", *FIELDS[kind])
    return {name: getattr(entity, name) for name in names}


def _expected(model: Model, name: str, kind: str) -> dict[str, Any]:
    row = model.item(name)
    labels = model.labels_of(name)
    values = {field: row.get(_CALLED.get(field, field)) for field in FIELDS[kind]}
    if "labels" in values:
        values["labels"] = labels
    return {"reference_id": name, "version": row["version"], **values}


def _nodes(node: Any) -> tuple[str, str, list[Any]]:
    return (node.reference_id, node.status, [_nodes(child) for child in node.children])


def _branch(model: Model, name: str) -> tuple[str, str, list[Any]]:
    below = [_branch(model, child) for child in model.children(name)]
    return (name, model.item(name)["status"], below)
