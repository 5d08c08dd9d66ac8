"""Who may do what with items: every operation by every role, and by tokens with one scope."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from accord.hub.operations import (
    changes,
    comments,
    context,
    documents,
    hierarchy,
    items,
    proposals,
    texts,
)
from accord.operations.errors import ForbiddenError, ServiceError
from accord.operations.rights import Scope
from tests.hub.world import World

STEP = {"operation": "create_epic", "arguments": {"title": "x"}}
NOBODY = "00000000-0000-4000-8000-999999999999"

CASES: list[tuple[str, dict[str, Any], str, Scope]] = [
    *((f"create_{kind}", arguments, "AU", "write") for kind, arguments in (
        ("epic", {"title": "x"}),
        ("user_story", {"epic_id": "EP-001", "title": "x"}),
        ("acceptance_criteria", {"user_story_id": "US-001", "description": "x"}),
        ("requirement", {"user_story_id": "US-001", "title": "x"}),
        ("steering_document", {"title": "x"}),
    )),
    *((f"get_{kind}", {"id": "EP-001"}, "AUC", "read") for kind in ("epic", "user_story", "acceptance_criteria", "requirement", "steering_document", "prompt")),
    *((f"list_{kind}", {}, "AUC", "read") for kind in ("epics", "user_stories", "acceptance_criteria", "requirements", "steering_documents", "prompts", "comments", "proposals", "changes")),
    *((f"update_{kind}", {"id": "EP-001"}, "AU", "write") for kind in ("epic", "user_story", "acceptance_criteria", "requirement", "steering_document")),
    *((f"delete_{kind}", {"id": "EP-001"}, "AU", "write") for kind in ("epic", "user_story", "acceptance_criteria", "requirement", "steering_document")),
    ("create_prompt", {"name": "x", "content": "x"}, "A", "admin"),
    ("update_prompt", {"id": "x"}, "A", "admin"),
    ("delete_prompt", {"id": "x"}, "A", "admin"),
    ("activate_prompt", {"id": "x"}, "A", "admin"),
    ("deactivate_prompt", {"id": "x"}, "A", "admin"),
    ("get_active_prompt", {}, "AUC", "read"),
    ("add_comment", {"target_id": "EP-001", "text": "x"}, "AUC", "comment"),
    ("get_comment", {"id": NOBODY}, "AUC", "read"),
    ("update_comment", {"id": NOBODY, "text": "x"}, "AUC", "comment"),
    ("delete_comment", {"id": NOBODY}, "AUC", "comment"),
    ("resolve_comment", {"id": NOBODY}, "AUC", "comment"),
    ("edit_text", {"id": "EP-001", "old": "x", "new": "y"}, "AU", "write"),
    ("append_text", {"id": "EP-001", "text": "x"}, "AU", "write"),
    ("get_hierarchy", {}, "AUC", "read"),
    ("get_context", {"id": "EP-001"}, "AUC", "read"),
    ("move_item", {"id": "EP-001"}, "AU", "write"),
    ("history", {"id": "EP-001"}, "AUC", "read"),
    ("get_change", {"change_id": NOBODY}, "AUC", "read"),
    ("undo", {"change_id": NOBODY}, "AU", "write"),
    ("apply_changes", {"steps": [STEP]}, "AU", "write"),
    ("propose_changes", {"steps": [STEP], "reason": "x"}, "AU", "propose"),
    ("get_proposal", {"id": NOBODY}, "AUC", "read"),
    ("list_decided_proposals", {}, "AUC", "read"),
    ("check_proposal", {"id": NOBODY}, "AU", "write"),
    ("accept_proposal", {"id": NOBODY}, "AU", "write"),
    ("reject_proposal", {"id": NOBODY, "reason": "x"}, "AU", "write"),
]  # fmt: skip
SCOPES: tuple[Scope, ...] = ("read", "comment", "write", "propose", "run", "approve", "admin")


@pytest.mark.req("H-05", "H-14")
async def test_roles_and_scopes_allow_what_the_table_says_and_no_more(world: World) -> None:
    roles = {"A": world.admin, "U": world.user, "C": world.commenter}
    await world.call("create_epic", world.admin, title="Checkout")
    for operation, arguments, allowed, scope in CASES:
        for letter, caller in roles.items():
            assert await may(world, operation, caller, arguments) == (letter in allowed), operation
            for each in SCOPES:
                by_token = replace(caller, via="token", scopes=frozenset({each}))
                expected = letter in allowed and each == scope
                assert await may(world, operation, by_token, arguments) == expected, (
                    operation,
                    each,
                )


async def may(world: World, operation: str, caller: Any, arguments: dict[str, Any]) -> bool:
    """Whether a dry run gets beyond the gate: what does not exist, or belongs to somebody else,
    is another matter."""
    found = world.runner.registry[operation]
    given = arguments | ({"dry_run": True} if found.writes else {})
    try:
        await world.outcome(operation, caller, **given)
    except ForbiddenError as error:
        return "needs" not in error.message
    except ServiceError:
        return True
    return True


def test_the_table_has_every_operation_of_its_modules() -> None:
    kinds = (items.epics, items.user_stories, items.acceptance_criteria, items.requirements)
    modules = (changes, comments, context, hierarchy, documents, proposals, documents, texts)
    known = {operation.name for each in (*kinds, *modules) for operation in each.operations}
    assert {name for name, *_ in CASES} == known
