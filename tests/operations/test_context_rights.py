"""Who may do what, against the table that is written for people."""

from __future__ import annotations

from itertools import product

import pytest
from msgspec.structs import replace

from accord.operations.context import (
    IN_PERSON,
    LOCAL,
    ROLES,
    RULES,
    SCOPES,
    SYSTEM,
    Caller,
    Right,
    Role,
    Scope,
    default_scopes,
)
from accord.operations.errors import ForbiddenError

MATRIX = """
    read     Administrator User Commenter  read
    comment  Administrator User Commenter  comment
    write    Administrator User            write
    propose  Administrator User            propose
    delete   Administrator User            write
    run      Administrator User            run
    approve  Administrator User            approve
    admin    Administrator                 admin
    accounts Administrator                 -
    session  Administrator User Commenter  -
"""
TABLE = {line.split()[0]: line.split()[1:] for line in MATRIX.strip().splitlines()}


def somebody(role: Role, scopes: frozenset[Scope] | None) -> Caller:
    """Somebody who signed in, or a token with these scopes."""
    return Caller(
        user_id="1",
        username="ada",
        role=role,
        via="session" if scopes is None else "token",
        face="rest",
        scopes=scopes or frozenset(),
    )


def test_every_right_is_in_the_table() -> None:
    assert set(TABLE) == set(RULES)


@pytest.mark.req("H-05", "H-14", "H-15")
@pytest.mark.parametrize(("right", "role"), [*product(RULES, ROLES)])
def test_rights_are_as_the_table_says(right: Right, role: Role) -> None:
    *roles, scope = TABLE[right]
    signed_in = somebody(role, None)
    assert signed_in.may(right) == (role in roles)
    for single in SCOPES:
        token = somebody(role, frozenset({single}))
        allowed = role in roles and single == scope
        assert token.may(right) == allowed
        if not allowed:
            with pytest.raises(ForbiddenError):
                token.require(right, "it")
    every = somebody(role, frozenset(SCOPES))
    assert every.may(right) == (role in roles and scope != "-")
    assert not somebody(role, frozenset()).may(right)


@pytest.mark.req("H-32")
def test_what_takes_a_person_no_workflow_run_does_for_them() -> None:
    run = replace(somebody("Administrator", None), run_id="r-1")
    assert {right for right in RULES if not run.may(right)} == IN_PERSON == {"accounts", "session"}
    with pytest.raises(ForbiddenError, match="needs you to sign in: no token and no workflow run"):
        run.require("accounts", "set_password")


def test_a_token_without_stated_scopes_has_what_its_owners_role_allows_but_for_approving() -> None:
    assert {role: sorted(default_scopes(role)) for role in ROLES} == {
        "Administrator": ["admin", "comment", "propose", "read", "run", "write"],
        "User": ["comment", "propose", "read", "run", "write"],
        "Commenter": ["comment", "read"],
    }


@pytest.mark.req("H-55")
def test_who_lacks_a_right_is_told_what_they_lack() -> None:
    with pytest.raises(ForbiddenError) as refused:
        somebody("User", None).require("admin", "list_users")
    assert str(refused.value) == "list_users needs the role Administrator; ada is User"
    assert refused.value.data == {"required_roles": ["Administrator"]}
    with pytest.raises(ForbiddenError) as refused:
        somebody("User", frozenset({"read"})).require("write", "create_epic")
    assert str(refused.value) == "create_epic needs a token with the scope 'write'"
    assert refused.value.data == {"required_scope": "write"}
    with pytest.raises(ForbiddenError) as refused:
        somebody("User", frozenset({"read", "propose"})).require("write", "create_epic")
    assert str(refused.value) == (
        "create_epic needs a token with the scope 'write': "
        "propose it by propose_changes, for a person to accept"
    )
    with pytest.raises(ForbiddenError) as refused:
        somebody("User", frozenset({"read", "propose"})).require("run", "run_workflow")
    assert "propose" not in str(refused.value)


def test_whoever_is_on_the_machine_itself_may_do_everything() -> None:
    assert all(LOCAL.may(right) and SYSTEM.may(right) for right in RULES)


def test_things_of_others_are_for_administrators() -> None:
    somebody("Administrator", None).require_own("2", "it")
    somebody("User", None).require_own("1", "it")
    with pytest.raises(ForbiddenError, match="it belongs to somebody else"):
        somebody("User", None).require_own("2", "it")
