"""The OpenAPI document: valid, complete, and what the server does."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from openapi_spec_validator import OpenAPIV31SpecValidator
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

from tests.operations.adapters.shop import Shop, operations

EXAMPLES = 15
"""For each operation, of each kind."""


async def document(shop: Shop) -> dict[str, Any]:
    async with httpx.AsyncClient(base_url=shop.url) as nobody:
        answer = await nobody.get("/api/v1/openapi.json")
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.req("H-13")
async def test_the_document_is_valid_and_has_every_route(local: Shop) -> None:
    found = await document(local)
    OpenAPIV31SpecValidator(found).validate()
    described = {
        (verb.upper(), path): item["operationId"]
        for path, items in found["paths"].items()
        for verb, item in items.items()
    }
    assert described == {
        **{
            (rest.verb, rest.path): each.name if index == 0 else f"{each.name}_{index + 1}"
            for each in operations
            for index, rest in enumerate(each.rest)
        },
        ("POST", "/sessions"): "sign_in",
        ("DELETE", "/sessions/current"): "sign_out",
    }


async def test_the_document_is_sent_once(local: Shop) -> None:
    first = await local.get("/openapi.json")
    tag = first.headers["etag"]
    again = await local.get("/openapi.json", headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert first.headers["cache-control"] == "no-cache"


async def test_an_update_is_described_with_its_conditions(local: Shop) -> None:
    found = (await document(local))["paths"]["/pens/{id}"]["patch"]
    assert [(each["in"], each["name"], each["required"]) for each in found["parameters"]] == [
        ("path", "id", True),
        ("query", "dry_run", False),
        ("header", "Idempotency-Key", False),
        ("header", "If-Match", False),
    ]
    body = found["requestBody"]
    schema = body["content"]["application/json"]["schema"]
    assert (body["required"], schema["additionalProperties"]) == (False, False)
    assert sorted(schema["properties"]) == [
        *("dry_run", "expected_version", "idempotency_key", "price", "title"),
    ]
    assert sorted(found["responses"]) == [
        *("200", "400", "401", "403", "404", "409", "412", "413", "415", "422", "429"),
        *("431", "500", "503"),
    ]


async def test_words_of_the_query_have_their_short_names(local: Shop) -> None:
    found = (await document(local))["paths"]["/found"]["get"]
    described = {each["name"]: each["schema"] for each in found["parameters"]}
    assert sorted(described) == ["c", "cheap", "limit", "tags"]
    assert described["c"] == {"enum": ["blue", "red"]}
    assert described["limit"] == {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}


@pytest.mark.req("H-13")
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
async def test_the_server_does_what_the_document_says(shop: Shop, mode: GenerationMode) -> None:
    found = await document(shop)
    await shop.pen()
    await asyncio.to_thread(try_all, found, shop.url.rstrip("/") + "/api/v1", shop.token, mode)


def try_all(found: dict[str, Any], url: str, token: str, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_dict(found)
    for each in schema.get_all_operations():
        assert isinstance(each, Ok)
        operation = each.ok()

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def attempt(case: Any) -> None:
            headers = {"authorization": f"Bearer {token}"}
            answer = case.call(base_url=url, headers=headers)
            if answer.status_code == 431:  # which schemathesis takes for an acceptance
                return
            # The token is given here in every case; and what a schema lets pass may still be
            # refused for what it says.
            excluded = [ignored_auth, positive_data_acceptance]
            case.validate_response(answer, headers=headers, excluded_checks=excluded)

        attempt()
