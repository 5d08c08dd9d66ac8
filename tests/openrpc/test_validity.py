"""Every document we make is accepted by the validators that others wrote, and by our linter."""

from __future__ import annotations

from typing import Any

import pytest

from accord import Router
from accord.cli.demo import demo_router
from accord.openrpc import Api, Contact, ExternalDocs, License, Server, ServerVariable, Tag, expose
from accord.openrpc.linter import lint
from tests.exposure.shop import make_shop
from tests.openrpc.judges import Judges
from tests.openrpc.zoo import described, zoo


@pytest.fixture(scope="module")
def judges() -> Judges:
    return Judges()


def complete(router: Router) -> Api:
    """An API of which all is said that can be said."""
    return Api(
        router,
        title="Things",
        version="1.0",
        description="All *things*.",
        terms_of_service="https://example.com/terms",
        contact=Contact(name="Ann", url="https://example.com", email="ann@example.com"),
        license=License("MIT", "https://example.com/mit"),
        servers=[
            Server(
                "https://${region}.example.com/rpc",
                "production",
                variables={"region": ServerVariable("eu", ("eu", "us"), "Where.")},
            ),
            "wss://example.com/rpc",
        ],
        tags=[Tag("users", description="People.")],
        external_docs=ExternalDocs("https://example.com/docs"),
    )


def documents(openrpc: str) -> dict[str, Any]:
    place = "http://127.0.0.1:8000/rpc/"
    named: Any = {"title": "X", "version": "1", "openrpc": openrpc}
    return {
        "empty": Api(Router(), **named).document(),
        "demo": Api(demo_router(), **named).document(place),
        "zoo": Api(zoo(), **named).document(place),
        "described": Api(described(), **named).document(place),
        "shop": expose(make_shop(), openrpc=openrpc).document(place),
        "shop, nested": expose(make_shop(), openrpc=openrpc, nested=True).document(place),
    }


@pytest.mark.req("O-08")
@pytest.mark.parametrize("openrpc", ["1.3.2", "1.4.0"])
def test_every_document_is_valid_to_all(judges: Judges, openrpc: str) -> None:
    made = documents(openrpc)
    assert {each["openrpc"] for each in made.values()} == {openrpc}
    for name, document in made.items():
        assert judges.meta_schema(document) == [], name
        assert lint(document) == [], name
    outcomes = dict(zip(made, judges.schema_utils(*made.values()), strict=True))
    assert outcomes == dict.fromkeys(made, "ok")


@pytest.mark.req("O-08")
def test_a_document_that_says_all_is_valid_to_all(judges: Judges) -> None:
    document = complete(described()).document()
    assert judges.meta_schema(document) == []
    assert judges.schema_utils(document) == ["ok"]
    assert lint(document) == []


def test_the_judges_judge(judges: Judges) -> None:
    broken = {"openrpc": "1.3.2", "info": {"title": "x"}, "methods": [{"name": "a"}]}
    assert judges.meta_schema(broken) != []
    assert judges.schema_utils(broken) != ["ok"]
    assert [each.rule for each in lint(broken)].count("shape") == 2
