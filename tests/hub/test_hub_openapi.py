"""The OpenAPI document of the whole hub."""

from __future__ import annotations

import msgspec
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from accord.app.composition import all_operations
from accord.operations.adapters.openapi import openapi_document


@pytest.mark.req("H-13")
def test_the_document_of_the_hub_is_valid_and_says_what_everything_is_about() -> None:
    registry = all_operations()
    made = openapi_document(registry, title="Accord", version="1", root="/api/v1")
    document = msgspec.json.decode(made)
    OpenAPIV31SpecValidator(document).validate()
    described = [item for items in document["paths"].values() for item in items.values()]
    names = [item["operationId"] for item in described]
    assert len(set(names)) == len(names)
    assert {each.name for each in registry if each.rest} <= set(names)
    assert [item["operationId"] for item in described if item["tags"] == ["other"]] == []


@pytest.mark.req("H-12", "H-13")
@pytest.mark.parametrize(
    ("path", "verbs"),
    [
        ("/prompts", {"get", "post"}),
        ("/prompts/{id}", {"get", "put", "delete"}),
        ("/prompts/{id}/activate", {"patch"}),
        ("/prompts/active", {"get"}),
        ("/epics", {"get", "post"}),
        ("/user-stories", {"get", "post"}),
        ("/acceptance-criteria", {"get", "post"}),
        ("/requirements", {"get", "post"}),
        ("/relationships", {"get", "post"}),
        ("/comments", {"get", "post"}),
        ("/users", {"get", "post"}),
        ("/tokens", {"get", "post"}),
        ("/audit-events", {"get"}),
        ("/search", {"get"}),
        ("/sessions", {"post"}),
    ],
)
def test_the_routes_that_programs_rely_on_are_there(path: str, verbs: set[str]) -> None:
    made = openapi_document(all_operations(), title="Accord", version="1", root="/api/v1")
    assert verbs <= set(msgspec.json.decode(made)["paths"][path])
