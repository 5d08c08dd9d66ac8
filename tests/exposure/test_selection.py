"""Which routes are selected."""

from __future__ import annotations

import pytest

from accord import RegistrationError
from accord.exposure import Route, Select, Selection, select

ROUTES = [
    Route(method="GET", path="/users", name="list_users", tags=("users",)),
    Route(method="POST", path="/users", name="add_user", tags=("users", "staff")),
    Route(method="GET", path="/users/{id}", name="read_user", operation_id="readUser"),
    Route(method="DELETE", path="/users/{id}", name="drop_user", tags=("staff",)),
    Route(method="GET", path="/users/{id}/posts/{post}", rpc_name="posts.read"),
    Route(method="GET", path="/users-old"),
    Route(method="GET", path="/api"),
    Route(method="GET", path="/api/"),
    Route(method="GET", path="/api/v1/users"),
    Route(method="GET", path="/apiary"),
    Route(method="GET", path="/secret", hidden=True),
]


def chosen(include: Selection = (), exclude: Selection = ()) -> list[str]:
    return [str(each) for each in select(ROUTES, include=include, exclude=exclude)]


@pytest.mark.req("O-03")
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("/users", ["GET /users", "POST /users"]),
        ("/users/{id}", ["GET /users/{id}", "DELETE /users/{id}"]),
        ("/users/*", ["GET /users/{id}", "DELETE /users/{id}", "GET /users/{id}/posts/{post}"]),
        (
            "/users/**",
            [
                "GET /users",
                "POST /users",
                "GET /users/{id}",
                "DELETE /users/{id}",
                "GET /users/{id}/posts/{post}",
            ],
        ),
        ("/users*", ["GET /users", "POST /users", "GET /users-old"]),
        ("/users/*/posts/*", ["GET /users/{id}/posts/{post}"]),
        ("/users/**/{post}", ["GET /users/{id}/posts/{post}"]),
        ("/api/*", ["GET /api/", "GET /api/v1/users"]),
        ("/api/**", ["GET /api", "GET /api/", "GET /api/v1/users"]),
        ("/api*", ["GET /api", "GET /apiary"]),
        ("/**/users", ["GET /users", "POST /users", "GET /api/v1/users"]),
        ("/*/v1/*", ["GET /api/v1/users"]),
        ("GET /users", ["GET /users"]),
        ("delete /users/*", ["DELETE /users/{id}"]),
        ("POST /*", ["POST /users"]),
        ("DELETE /**", ["DELETE /users/{id}"]),
    ],
)
def test_patterns_of_paths(pattern: str, expected: list[str]) -> None:
    assert chosen(pattern) == expected


def test_a_star_and_a_slash_are_all_routes_that_are_not_hidden() -> None:
    assert chosen("/*") == chosen("/**") == chosen() == [str(each) for each in ROUTES[:-1]]


@pytest.mark.req("O-03")
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Select(tag="users"), ["GET /users", "POST /users"]),
        (Select(tag=("nobody", "st*")), ["POST /users", "DELETE /users/{id}"]),
        (Select(method="DELETE"), ["DELETE /users/{id}"]),
        (Select(method=("POST", "DELETE")), ["POST /users", "DELETE /users/{id}"]),
        (Select(method=("POST", "DELETE"), tag="users"), ["POST /users"]),
        (Select(method="post"), ["POST /users"]),
        (Select(name="read_user"), ["GET /users/{id}"]),
        (Select(name="readUser"), ["GET /users/{id}"]),
        (Select(name="posts.*"), ["GET /users/{id}/posts/{post}"]),
        (Select(name=("*_user", "*_users"), path="/users"), ["GET /users", "POST /users"]),
        (lambda route: route.path.endswith("y"), ["GET /apiary"]),
        (["/apiary", Select(tag="staff"), lambda route: route.path == "/api"],
         ["POST /users", "DELETE /users/{id}", "GET /api", "GET /apiary"]),
    ],
)  # fmt: skip
def test_conditions(condition: Selection, expected: list[str]) -> None:
    assert chosen(condition) == expected


@pytest.mark.req("O-03")
def test_what_is_excluded_is_left_out_of_what_is_included() -> None:
    assert chosen("/users/**", ["DELETE /**", Select(name="posts.*")]) == [
        "GET /users",
        "POST /users",
        "GET /users/{id}",
    ]
    assert chosen(exclude=["/api/**", "/users*", "/users/*"]) == ["GET /apiary"]
    assert chosen("/api", "/users") == ["GET /api"]


def test_a_predicate_may_match_nothing() -> None:
    assert chosen(lambda route: False) == []
    assert chosen("/api", lambda route: False) == ["GET /api"]


def test_excluding_what_is_hidden_already_is_no_mistake() -> None:
    assert chosen("/api", "/secret") == ["GET /api"]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("/userz/*", "no route matches path '/userz/*'; there are /users, /users/{id}, /users-old, /api/v1/users, …"),
        ("/Users", "no route matches path '/Users'; there are /users, /users-old, /users/{id}, /api/v1/users, …"),
        ("/zzz", "no route matches path '/zzz'; there are /api, /api/, /api/v1/users, /apiary, /users, …"),
        ("PUT /users/{id}", "no route matches method 'PUT', path '/users/{id}'; there are GET /users/{id}, DELETE /users/{id}, POST /users, GET /users, GET /users-old, …"),
        (Select(tag="user"), "no route matches tag 'user'; there are users, …"),
        (Select(name=("adduser", "x")), "no route matches name 'adduser' or 'x'; there are add_user, read_user, readUser, drop_user, list_users, …"),
        (Select(method="HEAD"), "no route matches method 'HEAD'; there are DELETE, GET, POST"),
        ("/secret", "no route matches path '/secret', but for those that are hidden where they are defined"),
        ("users", "'users' is no pattern: write a path, as in '/users/*', a method and a path, as in 'GET /users/*', or Select(tag=…) or Select(name=…)"),
        ("GET", "'GET' is no pattern: write a path, as in '/users/*', a method and a path, as in 'GET /users/*', or Select(tag=…) or Select(name=…)"),
        ("", "'' is no pattern: write a path, as in '/users/*', a method and a path, as in 'GET /users/*', or Select(tag=…) or Select(name=…)"),
        (Select(), "a Select without any condition would match all routes"),
    ],
)  # fmt: skip
def test_a_pattern_that_matches_nothing_is_refused(condition: Selection, message: str) -> None:
    with pytest.raises(RegistrationError) as caught:
        chosen(condition)
    assert str(caught.value) == f"include: {message}"


def test_a_pattern_that_excludes_nothing_is_refused_too() -> None:
    with pytest.raises(
        RegistrationError, match=r"^exclude: no route matches path '/secrets'; there"
    ):
        chosen(exclude="/secrets")


def test_an_application_without_routes_or_tags_says_so() -> None:
    with pytest.raises(
        RegistrationError, match=r"^include: no route matches path '/x'; there are no"
    ):
        select([], include="/x")
    with pytest.raises(
        RegistrationError, match=r"^include: no route matches tag 'x'; no route has one$"
    ):
        select([Route(method="GET", path="/x")], include=Select(tag="x"))
