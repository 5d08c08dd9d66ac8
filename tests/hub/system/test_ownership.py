"""What is somebody's own, and what belongs to others: on every face the same. And who is nobody
any more: whoever was deactivated, and tokens that were revoked or have expired."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest

from accord.operations.auth.credentials import make_token
from tests.hub.system.installation import (
    MCP,
    REST,
    RPC,
    Answer,
    Installation,
    Wire,
    password_of,
    running,
)
from tests.hub.system.test_matrix import REFUSED, is_let_through
from tests.hub.system.things import made, things_of

Ask: TypeAlias = Callable[..., Answer]

FACES: dict[str, Callable[[Wire], Ask]] = {
    RPC: lambda wire: wire.rpc,
    MCP: lambda wire: wire.tool,
}
PATHS = {
    "delete_epic": "/epics/{id}",
    "delete_user_story": "/user-stories/{id}",
    "delete_acceptance_criteria": "/acceptance-criteria/{id}",
    "delete_requirement": "/requirements/{id}",
    "delete_steering_document": "/steering-documents/{id}",
    "delete_relationship": "/relationships/{id}",
}
DELETABLE = {
    "delete_epic": "epic",
    "delete_user_story": "story",
    "delete_acceptance_criteria": "criteria",
    "delete_requirement": "requirement",
    "delete_steering_document": "document",
}


class People:
    """An administrator, two users and a commenter, signed in; the users have things."""

    def __init__(self, here: Installation) -> None:
        self.here = here
        self.ada = here.wire(here.add("ada", "Administrator"))
        self.uma = here.wire(here.add("uma", "User"))
        self.otto = here.wire(here.add("otto", "User"))
        self.carl = here.wire(here.add("carl", "Commenter"))
        made(self.ada.rest("POST", "/prompts", name="kind", content="Be kind."))

    def things(self, wire: Wire) -> dict[str, Any]:
        """New things of somebody."""
        return things_of(wire, str(next(self._numbers)), "PROMPT-001")

    _numbers = iter(range(1_000))


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    with running(tmp_path_factory.mktemp("ownership") / "data") as here:
        yield People(here)


def delete(wire: Wire, face: str, operation: str, **arguments: Any) -> Answer:
    if face == REST:
        return wire.rest("DELETE", PATHS[operation], **arguments)
    return FACES[face](wire)(operation, **arguments)


@pytest.mark.req("H-05", "H-14")
@pytest.mark.parametrize("face", [REST, RPC, MCP])
def test_users_delete_what_is_theirs_and_administrators_everything(
    people: People, face: str
) -> None:
    refused = REFUSED[face]
    mine = people.things(people.uma)
    theirs = people.things(people.otto)
    for operation, kind in DELETABLE.items():
        for thing, force in ((theirs[kind], False), (theirs[kind], True), (mine[kind], True)):
            answer = delete(people.uma, face, operation, id=thing, force=force)
            assert refused(answer, operation), (operation, force, answer)
    link = delete(people.uma, face, "delete_relationship", id=theirs["relationship"])
    assert refused(link, "delete_relationship")

    def gone(wire: Wire, operation: str, **arguments: Any) -> None:
        answer = delete(wire, face, operation, **arguments)
        assert answer.status in (200, 204), answer
        assert b"isError" not in answer.body, answer
        assert b'"error"' not in answer.body, answer

    gone(people.uma, "delete_relationship", id=mine["relationship"])
    for operation in ("delete_requirement", "delete_steering_document"):
        gone(people.uma, operation, id=mine[DELETABLE[operation]])
    gone(people.ada, "delete_epic", id=theirs["epic"], force=True)
    assert people.ada.rest("GET", "/requirements/{id}", id=theirs["second"]).status == 404


@pytest.mark.req("H-05", "H-14")
@pytest.mark.parametrize("face", [RPC, MCP])
def test_comments_are_edited_by_their_authors(people: People, face: str) -> None:
    ask, refused = FACES[face], REFUSED[face]
    things = people.things(people.uma)
    comment = things["comment"]
    for wire in (people.otto, people.carl, people.ada):
        answer = ask(wire)("update_comment", id=comment, text="Mine now.")
        assert refused(answer, "update_comment")
    for wire in (people.otto, people.carl):
        assert refused(ask(wire)("delete_comment", id=comment), "delete_comment")
        assert is_let_through(ask(wire)("resolve_comment", id=comment), "resolve_comment")
    assert refused(ask(people.uma)("delete_comment", id=comment, force=True), "delete_comment")
    changed = ask(people.uma)("update_comment", id=comment, text="Why so?")
    assert is_let_through(changed, "update_comment")
    assert b"Why so?" in changed.body
    ours = made(
        people.carl.rest("POST", "/comments", target_id=things["requirement"], text="Because.")
    )
    assert is_let_through(ask(people.carl)("delete_comment", id=ours["id"]), "delete_comment")
    assert people.uma.rest("GET", "/comments/{id}", id=ours["id"]).status == 404
    assert is_let_through(ask(people.ada)("delete_comment", id=comment), "delete_comment")
    assert people.uma.rest("GET", "/comments/{id}", id=comment).status == 404


@pytest.mark.req("H-05")
@pytest.mark.parametrize("face", [RPC, MCP])
def test_changes_are_undone_by_who_made_them(people: People, face: str) -> None:
    ask, refused = FACES[face], REFUSED[face]
    for other, wire in ((people.otto, people.uma), (people.uma, people.ada)):
        change = made(people.uma.rest("POST", "/epics", title="Mine"))["change_id"]
        assert refused(ask(people.otto)("undo", change_id=change), "undo")
        assert refused(ask(people.carl)("undo", change_id=change), "undo")
        assert is_let_through(ask(wire)("undo", change_id=change), "undo")
        assert other.rest("GET", "/changes/{id}", id=change).json["undone_by"]


@pytest.mark.parametrize("face", [RPC, MCP])
def test_nothing_leads_around_a_permission(people: People, face: str) -> None:
    """Operations that have others done ask for what those need."""
    ask, refused = FACES[face], REFUSED[face]
    theirs = people.things(people.otto)
    token = people.here.wire(people.here.token("ada", f"writes {face}", "write"))
    prompt = {"operation": "create_prompt", "arguments": {"name": "x", "content": "y"}}
    comment = {"operation": "add_comment", "arguments": {"target_id": "EP-001", "text": "y"}}
    other = {"operation": "delete_requirement", "arguments": {"id": theirs["second"]}}
    force = {"operation": "delete_epic", "arguments": {"id": theirs["epic"], "force": True}}
    cases: list[tuple[Wire, str, dict[str, Any]]] = [
        (people.uma, "apply_changes", {"steps": [prompt]}),
        (people.uma, "apply_changes", {"steps": [other]}),
        (people.otto, "apply_changes", {"steps": [force]}),
        (token, "apply_changes", {"steps": [prompt]}),
        (token, "apply_changes", {"steps": [comment]}),
        (people.uma, "propose_changes", {"steps": [prompt], "reason": "Sly."}),
        (people.uma, "append_text", {"id": "PROMPT-001", "text": "!", "field": "content"}),
        (
            people.uma,
            "edit_text",
            {"id": "PROMPT-001", "old": "kind", "new": "rude", "field": "content"},
        ),
        (token, "append_text", {"id": "PROMPT-001", "text": "!", "field": "content"}),
    ]
    for wire, operation, arguments in cases:
        answer = ask(wire)(operation, **arguments)
        assert refused(answer, operation), (operation, arguments, answer)
    steps = [{"operation": "create_prompt", "arguments": {"name": "z", "content": "y"}}]
    proposed = made(people.ada.rest("POST", "/proposals", steps=steps, reason="Needed."))
    assert refused(ask(people.uma)("accept_proposal", id=proposed["id"]), "accept_proposal")
    for operation in ("create_token", "set_password", "change_own_password", "undo"):
        steps = [{"operation": operation, "arguments": {}}]
        for wire in (token, people.ada):
            answer = ask(wire)("apply_changes", steps=steps)
            assert f"there is no operation for a step '{operation}'" in answer.body.decode()


def test_an_import_does_no_more_than_who_imports_may_do(people: People) -> None:
    content = made(people.ada.rest("GET", "/export", format="json"))["content"]
    assert "Be kind." in content
    sly = content.replace("Be kind.", "Be rude.")
    answer = people.uma.rest("POST", "/import", format="json", content=sly, partial=True)
    report = made(answer)
    assert (report["updated"], report["failed"]) == (0, 1)
    [row] = [each for each in report["rows"] if each["action"] == "failed"]
    assert row["errors"] == ["update_prompt needs the role Administrator; uma is User"]
    prompt = people.ada.rest("GET", "/prompts/{id}", id="PROMPT-001").json
    assert prompt["content"] == "Be kind."


@pytest.mark.req("H-15")
def test_tokens_are_their_owners_business(people: People) -> None:
    token = made(people.otto.rest("POST", "/tokens", name="ottos"))
    assert people.uma.rest("GET", "/tokens", user="otto").status == 403
    assert people.uma.rest("GET", "/tokens", user="nobody").status == 403
    for verb in ("GET", "DELETE"):
        assert people.uma.rest(verb, "/tokens/{id}", id=token["id"]).status == 404
        assert people.uma.rest(verb, "/tokens/{id}", id="ottos", user="otto").status in (403, 404)
    for wire in (people.uma, people.ada):
        assert wire.rest("POST", "/tokens", name="sly", user="otto").status == 403
    listed = made(people.ada.rest("GET", "/tokens", user="otto"))
    assert [each["name"] for each in listed["items"]] == ["ottos"]
    assert token["token"] not in str(listed)
    mine = people.here.wire(token["token"])
    assert mine.rest("GET", "/users/me").json["username"] == "otto"
    assert mine.rest("POST", "/tokens", name="child").status == 403
    assert people.ada.rest("DELETE", "/tokens/{id}", id=token["id"]).status == 204
    assert mine.rest("GET", "/users/me").status == 401


def test_views_of_others_are_theirs_unless_they_share_them(people: People) -> None:
    view = made(people.otto.rest("POST", "/views", name="Ottos", filter={}))["id"]
    assert people.uma.rest("GET", "/views/{id}", id=view).status == 404
    assert people.otto.rest("PATCH", "/views/{id}", id=view, shared=True).status == 200
    assert people.uma.rest("GET", "/views/{id}", id=view).status == 200
    assert people.uma.rest("PATCH", "/views/{id}", id=view, name="Umas").status == 403
    assert people.uma.rest("DELETE", "/views/{id}", id=view).status == 403
    assert people.otto.rest("DELETE", "/views/{id}", id=view).status == 204


WAYS: dict[str, Ask] = {
    "rest": lambda wire: wire.rest("GET", "/users/me"),
    "writing": lambda wire: wire.rest("POST", "/epics", nonsense=1),
    "rpc": lambda wire: wire.rpc("get_own_user"),
    "unknown method": lambda wire: wire.rpc("no_such_thing"),
    "tool": lambda wire: wire.tool("list_epics"),
    "unknown tool": lambda wire: wire.tool("no_such_thing"),
    "handshake": lambda wire: wire.mcp("initialize"),
}


@pytest.fixture(scope="module")
def wrong(people: People) -> dict[str, str]:
    """Credentials that are no good any more, or never were; by the reason."""
    here = people.here
    for name in ("gone", "here"):
        here.local("create_user", username=name, password=password_of(name))
    found = {
        "inactive": here.token("gone", "a"),
        "revoked": here.token("here", "b"),
        "expired": here.token("here", "c"),
        "inactive session": here.sign_in("gone"),
        "nonsense": "nonsense",
        "long": "a" * 300,
    }
    unknown = make_token("pat")
    assert here.wire(found["inactive"]).rest("GET", "/users/me").status == 200
    here.local("revoke_token", id="b", user="here")
    here.local("update_user", id="gone", active=False)

    async def expire() -> None:
        statement = "UPDATE tokens SET expires_at = '2026-01-01T00:00:00.000000Z' WHERE name = 'c'"
        await here.system.runtime.store.execute(statement)

    here.do(expire())
    return {**found, "unknown": unknown, "wrong checksum": unknown[:-1] + "-"}


@pytest.mark.req("H-03", "H-15")
@pytest.mark.parametrize("way", WAYS)
def test_nobody_learns_why_a_token_is_refused(
    people: People, wrong: dict[str, str], way: str
) -> None:
    answers = {why: WAYS[way](people.here.wire(token)) for why, token in wrong.items()}
    assert {each.status for each in answers.values()} == {401}
    assert len({said(each) for each in answers.values()}) == 1, answers
    for each in answers.values():
        assert each.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.req("H-17")
def test_the_audit_trail_knows_why(people: People, wrong: dict[str, str]) -> None:
    for token in wrong.values():
        people.here.wire(token).rest("GET", "/epics")
    people.here.settle()
    listed = made(people.ada.rest("GET", "/audit-events", outcome="unauthenticated", limit=100))
    reasons = {(each["error"], each["actor"]) for each in listed["items"]}
    assert reasons >= {
        ("inactive", "gone"),
        ("revoked", "here"),
        ("expired", "here"),
        ("unknown", ""),
        ("malformed", ""),
    }


def said(answer: Answer) -> str:
    """What everybody is told alike: all but what the request is called."""
    found = answer.json
    found.pop("correlation_id", None)
    if "error" in found and isinstance(found["error"].get("data"), dict):
        found["error"]["data"].pop("correlation_id", None)
    return repr((sorted(found.items()), answer.headers["www-authenticate"]))
