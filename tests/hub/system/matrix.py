"""Who may do what, written by hand: not derived from the registry, so that neither drifts alone.

Each operation is in one group, and is called with arguments that make sense. `$epic` stands for
something that belongs to whoever calls; see `things.py`. Nobody accepts and approves what is their
own, so that these two are called with what is somebody else's.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from accord.operations.context import ROLES, Role
from tests.hub.system.installation import PLAIN, SESSION


class Group(Struct, frozen=True):
    """A row of the table."""

    roles: frozenset[Role]
    scope: str | None
    """None for what needs a login session."""
    on_purpose: bool = False
    """Whether a token without stated scopes cannot do it."""


class Call(Struct, frozen=True):
    """An operation and arguments for it."""

    group: Group
    arguments: dict[str, Any]


WRITERS = frozenset[Role](("Administrator", "User"))

READ = Group(frozenset(ROLES), "read")
COMMENT = Group(frozenset(ROLES), "comment")
WRITE = Group(WRITERS, "write")
PROPOSE = Group(WRITERS, "propose")
DELETE = Group(WRITERS, "write")
RUN = Group(WRITERS, "run")
APPROVE = Group(WRITERS, "approve", on_purpose=True)
ADMIN = Group(frozenset[Role](("Administrator",)), "admin")
OWN = Group(frozenset(ROLES), None)
ACCOUNTS = Group(frozenset[Role](("Administrator",)), None)


def may(role: Role, credential: str, group: Group) -> bool:
    """Whether somebody of a role who shows such a credential is let through."""
    if role not in group.roles:
        return False
    if credential == PLAIN:
        return group.scope is not None and not group.on_purpose
    return credential in (SESSION, group.scope)


STEPS = [{"operation": "create_epic", "arguments": {"title": "Till"}}]

WAIT = {"name": "pause", "type": "wait", "for": 1}

MATRIX: dict[str, Call] = {
    # read, search, hierarchy, history, lint, prompts, workflows, runs
    "get_epic": Call(READ, {"id": "$epic"}),
    "list_epics": Call(READ, {}),
    "get_user_story": Call(READ, {"id": "$story"}),
    "list_user_stories": Call(READ, {"epic_id": "$epic"}),
    "get_acceptance_criteria": Call(READ, {"id": "$criteria"}),
    "list_acceptance_criteria": Call(READ, {"user_story_id": "$story", "epic_id": "$epic"}),
    "get_requirement": Call(READ, {"id": "$requirement"}),
    "list_requirements": Call(
        READ,
        {"user_story_id": "$story", "epic_id": "$epic", "acceptance_criteria_id": "$criteria"},
    ),
    "get_steering_document": Call(READ, {"id": "$document"}),
    "list_steering_documents": Call(READ, {"epic_id": "$epic"}),
    "get_prompt": Call(READ, {"id": "$prompt"}),
    "list_prompts": Call(READ, {}),
    "get_active_prompt": Call(READ, {}),
    "get_comment": Call(READ, {"id": "$comment"}),
    "list_comments": Call(READ, {"target_id": "$requirement"}),
    "get_relationship": Call(READ, {"id": "$relationship"}),
    "list_relationships": Call(READ, {"id": "$requirement"}),
    "list_suspect_relationships": Call(READ, {}),
    "get_label": Call(READ, {"id": "$label"}),
    "list_labels": Call(READ, {}),
    "get_view": Call(READ, {"id": "$view"}),
    "list_views": Call(READ, {}),
    "get_baseline": Call(READ, {"id": "$baseline"}),
    "list_baselines": Call(READ, {}),
    "compare_baselines": Call(READ, {"a": "$baseline"}),
    "export_baseline": Call(READ, {"id": "$baseline"}),
    "get_baseline_entry": Call(READ, {"id": "$baseline", "reference_id": "EP-001"}),
    "get_change": Call(READ, {"change_id": "$change"}),
    "list_changes": Call(READ, {}),
    "list_news": Call(READ, {}),
    "list_comments_for_me": Call(READ, {}),
    "list_people": Call(READ, {}),
    "get_surroundings": Call(READ, {"id": "$requirement"}),
    "compare_versions": Call(READ, {"id": "$requirement", "a": 1}),
    "history": Call(READ, {"id": "$epic"}),
    "get_proposal": Call(READ, {"id": "$proposal"}),
    "list_proposals": Call(READ, {}),
    "list_decided_proposals": Call(READ, {}),
    "get_hierarchy": Call(READ, {"id": "$epic"}),
    "list_children": Call(READ, {"id": "$epic"}),
    "get_outline": Call(READ, {"open": ["$epic"], "selected": "$requirement"}),
    "get_context": Call(READ, {"id": "$requirement"}),
    "impact_analysis": Call(READ, {"id": "$requirement"}),
    "get_neighbourhood": Call(READ, {"id": "$requirement"}),
    "coverage_gaps": Call(READ, {}),
    "coverage_by_epic": Call(READ, {}),
    "coverage_by_type": Call(READ, {"epic_id": "$epic"}),
    "traceability_matrix": Call(READ, {}),
    "lint_requirement": Call(READ, {"id": "$requirement"}),
    "search_global": Call(READ, {"query": "till"}),
    "search_requirements": Call(READ, {"query": "till"}),
    "export_items": Call(READ, {"epic_id": "$epic"}),
    "get_requirement_type": Call(READ, {"name": "Functional"}),
    "list_requirement_types": Call(READ, {}),
    "get_relationship_type": Call(READ, {"name": "blocks"}),
    "list_relationship_types": Call(READ, {}),
    "get_own_user": Call(READ, {}),
    "get_workflow": Call(READ, {"name": "$workflow"}),
    "list_workflows": Call(READ, {}),
    "list_workflow_versions": Call(READ, {"name": "$workflow"}),
    "get_run": Call(READ, {"id": "$run"}),
    "list_runs": Call(READ, {}),
    "count_runs": Call(READ, {}),
    "list_run_steps": Call(READ, {"id": "$run"}),
    "get_run_history": Call(READ, {"id": "$run"}),
    "list_run_calls": Call(READ, {"id": "$run"}),
    "get_run_step": Call(READ, {"id": "$run", "step": "ok"}),
    "list_approvals": Call(READ, {}),
    # comment, edit own comments, resolve
    "add_comment": Call(COMMENT, {"target_id": "$requirement", "text": "Why?"}),
    "update_comment": Call(COMMENT, {"id": "$comment", "text": "Why so?"}),
    "resolve_comment": Call(COMMENT, {"id": "$comment"}),
    "delete_comment": Call(COMMENT, {"id": "$comment"}),
    # create, update, relate, label, confirm suspect links, baselines, undo, decide on proposals
    "create_epic": Call(WRITE, {"title": "Till"}),
    "update_epic": Call(WRITE, {"id": "$epic", "title": "Tills"}),
    "create_user_story": Call(WRITE, {"epic_id": "$epic", "title": "Pay"}),
    "update_user_story": Call(WRITE, {"id": "$story", "title": "Pay by card"}),
    "create_acceptance_criteria": Call(WRITE, {"user_story_id": "$story", "description": "Paid."}),
    "update_acceptance_criteria": Call(WRITE, {"id": "$criteria", "description": "Paid once."}),
    "create_requirement": Call(WRITE, {"user_story_id": "$story", "title": "Charge"}),
    "update_requirement": Call(WRITE, {"id": "$requirement", "title": "Charge once"}),
    "create_steering_document": Call(WRITE, {"title": "Security"}),
    "update_steering_document": Call(WRITE, {"id": "$document", "title": "Safety"}),
    "edit_text": Call(WRITE, {"id": "$requirement", "old": "shall", "new": "should"}),
    "append_text": Call(WRITE, {"id": "$requirement", "text": "At once."}),
    "move_item": Call(WRITE, {"id": "$requirement", "after": "$second"}),
    "create_relationship": Call(
        WRITE, {"source_id": "$second", "target_id": "$requirement", "type": "relates_to"}
    ),
    "update_relationship": Call(WRITE, {"id": "$relationship", "type": "relates_to"}),
    "confirm_relationship": Call(WRITE, {"id": "$relationship", "reason": "Read again."}),
    "create_label": Call(WRITE, {"name": "urgent"}),
    "update_label": Call(WRITE, {"id": "$label", "colour": "#00ff00"}),
    "label_item": Call(WRITE, {"id": "$epic", "label": "$label"}),
    "unlabel_item": Call(WRITE, {"id": "$requirement", "label": "$label"}),
    "suppress_lint": Call(
        WRITE, {"id": "$requirement", "rule": "vague-word", "reason": "Meant so."}
    ),
    "unsuppress_lint": Call(WRITE, {"id": "$requirement", "rule": "vague-word"}),
    "create_view": Call(WRITE, {"name": "Mine too", "filter": {}}),
    "update_view": Call(WRITE, {"id": "$view", "shared": True}),
    "create_baseline": Call(WRITE, {"name": "Second"}),
    "undo": Call(WRITE, {"change_id": "$change"}),
    "restore_version": Call(WRITE, {"id": "$requirement", "version": 1}),
    "apply_changes": Call(WRITE, {"steps": STEPS}),
    "import_items": Call(WRITE, {"format": "markdown", "content": "## EP-001: Till\n"}),
    "check_proposal": Call(WRITE, {"id": "$proposal"}),
    "accept_proposal": Call(WRITE, {"id": "$proposal_of_another"}),
    "reject_proposal": Call(WRITE, {"id": "$proposal", "reason": "Not now."}),
    # start, signal, pause, cancel runs: all for administrators, own for others
    "run_workflow": Call(RUN, {"name": "$workflow"}),
    "cancel_run": Call(RUN, {"run": "$run"}),
    "pause_run": Call(RUN, {"run": "$run"}),
    "resume_run": Call(RUN, {"run": "$run"}),
    "retry_run": Call(RUN, {"run": "$run"}),
    "signal_run": Call(RUN, {"run": "$run", "name": "go"}),
    # approve
    "approve_run": Call(APPROVE, {"run": "$run_of_another"}),
    # propose
    "propose_changes": Call(PROPOSE, {"steps": STEPS, "reason": "We need it."}),
    # delete
    "delete_epic": Call(DELETE, {"id": "$epic"}),
    "delete_user_story": Call(DELETE, {"id": "$story"}),
    "delete_acceptance_criteria": Call(DELETE, {"id": "$criteria"}),
    "delete_requirement": Call(DELETE, {"id": "$requirement"}),
    "delete_steering_document": Call(DELETE, {"id": "$document"}),
    "delete_relationship": Call(DELETE, {"id": "$relationship"}),
    "delete_label": Call(DELETE, {"id": "$label"}),
    "delete_view": Call(DELETE, {"id": "$view"}),
    # prompts: create, update, delete, activate; types; workflow definitions; agents; dead letters;
    # audit; users, of whom tokens only read
    "create_prompt": Call(ADMIN, {"name": "another", "content": "Be brief."}),
    "update_prompt": Call(ADMIN, {"id": "$prompt", "content": "Be kind."}),
    "delete_prompt": Call(ADMIN, {"id": "$prompt"}),
    "activate_prompt": Call(ADMIN, {"id": "$prompt"}),
    "deactivate_prompt": Call(ADMIN, {"id": "$prompt"}),
    "create_requirement_type": Call(ADMIN, {"name": "Legal"}),
    "update_requirement_type": Call(ADMIN, {"name": "Functional", "description": "What it does."}),
    "delete_requirement_type": Call(ADMIN, {"name": "Data"}),
    "create_relationship_type": Call(ADMIN, {"name": "mentions", "inverse": "mentioned_by"}),
    "delete_relationship_type": Call(ADMIN, {"name": "duplicates"}),
    "create_user": Call(ACCOUNTS, {"username": "nina"}),
    "list_users": Call(ADMIN, {}),
    "get_user": Call(ADMIN, {"id": "uma"}),
    "update_user": Call(ACCOUNTS, {"id": "uma", "email": "uma@example.org"}),
    "set_password": Call(ACCOUNTS, {"id": "uma", "password": "correct horse battery"}),
    "create_agent": Call(ADMIN, {"name": "another", "url": "https://agents.invalid/"}),
    "list_agents": Call(ADMIN, {}),
    "get_agent": Call(ADMIN, {"name": "$agent"}),
    "update_agent": Call(ADMIN, {"name": "$agent", "timeout": 10}),
    "check_agent_health": Call(ADMIN, {"name": "$agent"}),
    "delete_agent": Call(ADMIN, {"name": "$agent"}),
    "create_workflow": Call(ADMIN, {"definition": {"name": "another", "steps": [WAIT]}}),
    "validate_workflow": Call(ADMIN, {"definition": {"name": "another", "steps": [WAIT]}}),
    "update_workflow": Call(ADMIN, {"name": "$workflow", "active": True}),
    "list_dead_letters": Call(ADMIN, {}),
    "get_dead_letter": Call(ADMIN, {"id": "$letter"}),
    "replay_dead_letter": Call(ADMIN, {"id": "$letter"}),
    "list_audit_events": Call(ADMIN, {}),
    "verify_audit_trail": Call(ADMIN, {}),
    # own tokens, own password
    "create_token": Call(OWN, {"name": "phone"}),
    "list_tokens": Call(OWN, {}),
    "get_token": Call(OWN, {"id": "plain"}),
    "revoke_token": Call(OWN, {"id": "plain"}),
    "change_own_password": Call(
        OWN, {"current_password": "$password", "new_password": "correct horse battery"}
    ),
    "update_own_user": Call(OWN, {"email": "me@example.org"}),
    "list_sessions": Call(OWN, {}),
    "end_session": Call(OWN, {"id": "0123456789abcdef"}),
    "sign_out_everywhere": Call(OWN, {}),
}

OF_PROMPTS = frozenset(
    (
        *("create_prompt", "get_prompt", "update_prompt", "delete_prompt", "activate_prompt"),
        *("list_prompts", "get_active_prompt"),
    )
)
"""Tools whose refusals have a code of their own."""
