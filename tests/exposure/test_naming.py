"""What the methods of routes are called."""

from __future__ import annotations

from functools import partial, wraps
from typing import Any

import pytest

from accord import RegistrationError
from accord.exposure import Naming, Route, name_routes, rpc_hidden, rpc_name
from accord.exposure.routes import Mark, mark_of


def route(text: str, **more: Any) -> Route:
    method, path = text.split()
    return Route(method=method, path=path, **more)


def named(naming: Naming, found: Route, prefix: str = "") -> str:
    [name] = name_routes([found], naming=naming, prefix=prefix)
    return name


@pytest.mark.req("O-04")
@pytest.mark.parametrize(
    ("text", "by_path", "by_method"),
    [
        ("GET /users", "users.get", "get_users"),
        ("POST /users", "users.post", "post_users"),
        ("GET /users/{id}", "users.id.get", "get_users_id"),
        ("DELETE /users/{user_id}/posts/{id}", "users.user_id.posts.id.delete", "delete_users_user_id_posts_id"),
        ("GET /users/", "users.get", "get_users"),
        ("GET /", "get", "get"),
        ("GET /api/v1.2/user-list", "api.v1_2.user_list.get", "get_api_v1_2_user_list"),
        ("GET /files/{name}.json", "files.name_json.get", "get_files_name_json"),
        ("GET /größe/%20", "größe.20.get", "get_größe_20"),
        ("GET /__init__", "init.get", "get_init"),
    ],
)  # fmt: skip
def test_names_by_path_and_by_method(text: str, by_path: str, by_method: str) -> None:
    found = route(text)
    assert (named("path", found), named("method", found)) == (by_path, by_method)


@pytest.mark.req("O-04")
def test_names_by_operation() -> None:
    assert named("operation", route("GET /a", name="read", operation_id="readA")) == "readA"
    assert named("operation", route("GET /a", name="read")) == "read"
    with pytest.raises(
        RegistrationError, match=r"^GET /a has neither an operation id nor a name: "
    ):
        named("operation", route("GET /a"))


@pytest.mark.req("O-04")
def test_names_by_a_function() -> None:
    assert (
        named(lambda found: f"{found.tags[0]}.{found.name}", route("GET /a", name="n", tags=("t",)))
        == "t.n"
    )


@pytest.mark.parametrize("wrong", ["", None, 3])
def test_a_function_that_gives_no_name_is_refused(wrong: Any) -> None:
    with pytest.raises(
        RegistrationError, match=r"^the naming of GET /a: a name is a string that is not empty$"
    ):
        named(lambda found: wrong, route("GET /a"))


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(
        RegistrationError,
        match=r"^naming is 'path', 'method', 'operation' or a function, not 'paths'$",
    ):
        named("paths", route("GET /a"))  # type: ignore[arg-type]


@pytest.mark.req("O-05")
def test_a_name_set_on_the_route_always_wins() -> None:
    found = route("GET /a", rpc_name="mine", name="n", operation_id="o")
    strategies: list[Naming] = ["path", "method", "operation", lambda route: "x"]
    assert [named(each, found) for each in strategies] == ["mine"] * 4


@pytest.mark.req("O-06")
def test_a_prefix_stands_before_every_name() -> None:
    found = name_routes(
        [route("GET /a"), route("GET /b", rpc_name="mine")], naming="method", prefix="shop."
    )
    assert list(found) == ["shop.get_a", "shop.mine"]


@pytest.mark.parametrize("prefix", ["", "rpc."])
def test_names_of_the_protocol_are_refused(prefix: str) -> None:
    with pytest.raises(
        RegistrationError,
        match=r"^GET /rpc/a would be method '(rpc\.)?rpc\.a\.get': names that begin with 'rpc\.' are kept for the protocol$",
    ):
        named("path", route("GET /rpc/a"), prefix)
    assert named("path", route("GET /rpc/a"), "x.") == "x.rpc.a.get"


@pytest.mark.req("O-04")
def test_a_collision_names_the_routes_and_the_ways_out() -> None:
    with pytest.raises(RegistrationError) as caught:
        name_routes([route("GET /users"), route("PUT /users"), route("GET /users/")])
    assert str(caught.value) == (
        "method 'users.get' would be GET /users and GET /users/: give one of them a name of its "
        "own with rpc_name or x-rpc-name, leave it out with rpc_hidden or exclude=…, or choose "
        "another naming"
    )


def test_many_collisions_are_told_in_part() -> None:
    routes = [route(f"{method} /{n}") for n in range(7) for method in ("GET", "PUT")]
    with pytest.raises(RegistrationError) as caught:
        name_routes(routes, naming=lambda route: route.path)
    message = str(caught.value)
    assert (message.count("would be"), "; and 2 more: give one" in message) == (5, True)


def test_marks_are_found_through_partials_and_wrappers() -> None:
    @rpc_hidden
    @rpc_name("name")
    def function(number: int) -> int:
        return number

    @wraps(function)
    def wrapper(*args: Any) -> int:
        return function(*args)

    both = Mark("name", hidden=True)
    assert [mark_of(it) for it in (function, partial(function, 1), wrapper)] == [both] * 3
    assert mark_of(rpc_name("other")(partial(function, 1))) == Mark("other", hidden=True)
    assert function(3) == 3
    assert mark_of(print) == Mark()


def test_a_mark_needs_a_name() -> None:
    with pytest.raises(
        RegistrationError, match=r"^rpc_name: a name is a string that is not empty$"
    ):
        rpc_name("")
    with pytest.raises(
        RegistrationError, match=r"^rpc_name: a name is a string that is not empty$"
    ):
        rpc_name(lambda: None)  # type: ignore[arg-type]
