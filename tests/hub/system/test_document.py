"""The whole system does what its OpenAPI document says, whatever it is sent.

`make fuzz-rest` tries longer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import booleans
from msgspec import Struct
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

from tests.hub.system.installation import Installation, Wire, running
from tests.hub.system.things import made, run_of, things_of, workflow_things

EXAMPLES = int(os.environ.get("ACCORD_FUZZ_EXAMPLES", "2"))
"""For each operation, of each kind."""
SEED = os.environ.get("ACCORD_FUZZ_EXAMPLES") is None
UNSAFE = {
    "set_password": "it would end the session of whoever asks",
    "change_own_password": "the same",
    "sign_out_everywhere": "the same",
    "update_user": "the same",
}
"""Operations that are left out."""


@pytest.fixture(params=["sqlite", "postgresql"], scope="module")
def here(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    database = ""
    if request.param == "postgresql":
        database = request.getfixturevalue("cluster").database()
    data: Path = tmp_path_factory.mktemp("document") / "data"
    with running(data, database) as found:
        yield found


class Known(Struct, frozen=True):
    """An administrator who has something of every kind, so that not everything is not found."""

    session: str
    things: dict[str, str]

    def place(self, case: Any) -> None:
        """Have a case be about something that there is."""
        noun = case.operation.path.split("/")[1]
        if "id" in (case.path_parameters or {}):
            case.path_parameters["id"] = self.things[NOUNS.get(noun, "requirement")]
        for name, kind in NAMES.items():
            for part in (case.path_parameters, case.query, case.body):
                if isinstance(part, dict) and name in part:
                    part[name] = self.things[kind]


NOUNS = {
    "acceptance-criteria": "criteria",
    "baselines": "baseline",
    "changes": "change",
    "comments": "comment",
    "dead-letters": "letter",
    "epics": "epic",
    "labels": "label",
    "prompts": "prompt",
    "proposals": "proposal",
    "relationships": "relationship",
    "runs": "run",
    "steering-documents": "document",
    "user-stories": "story",
    "views": "view",
}
"""What paths call things."""
NAMES = {
    "acceptance_criteria_id": "criteria",
    "change_id": "change",
    "epic_id": "epic",
    "label": "label",
    "run": "run",
    "source_id": "second",
    "target_id": "requirement",
    "user_story_id": "story",
    "a": "baseline",
    "b": "baseline",
}
"""What parameters call them."""


@pytest.fixture(scope="module")
def known(here: Installation) -> Known:
    token = here.add("ada", "Administrator")
    wire = here.wire(token)
    prompt = made(wire.rest("POST", "/prompts", name="kind", content="Be kind."))
    things = things_of(wire, "ada", prompt["reference_id"]) | workflow_things(wire)
    return Known(token, {**things, "run": run_of(wire)})


def _document(here: Installation) -> Any:
    # Over a connection of its own: one that rested while much was tried is closed by now.
    wire = Wire(here.url)
    found = wire.ask("GET", "/api/v1/openapi.json").json
    wire.close()
    return found


@pytest.mark.req("H-02", "H-13")
@pytest.mark.timeout(1_000_000 if not SEED else 300)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_the_system_does_what_its_document_says(
    here: Installation, known: Known, mode: GenerationMode
) -> None:
    document = _document(here)
    schema = schemathesis.openapi.from_dict(document)
    headers = {"authorization": f"Bearer {known.session}"}
    for each in schema.get_all_operations():
        assert isinstance(each, Ok)
        operation = each.ok()
        if operation.definition.raw["operationId"] in UNSAFE:
            continue

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=SEED,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode), placed=booleans())
        def attempt(case: Any, placed: bool) -> None:
            if placed and mode is GenerationMode.POSITIVE:
                known.place(case)
            answer = case.call(base_url=f"{here.url}/api/v1", headers=headers)
            if answer.status_code == 431:  # which schemathesis takes for an acceptance
                return
            # The token is given in every case, and what a schema lets pass may still be refused
            # for what it says.
            excluded = [ignored_auth, positive_data_acceptance]
            case.validate_response(answer, headers=headers, excluded_checks=excluded)

        attempt()


@pytest.mark.req("H-13")
def test_what_is_described_needs_somebody_who_asks(here: Installation) -> None:
    nobody = Wire(here.url)
    for path, items in _document(here)["paths"].items():
        for verb, item in items.items():
            if item["operationId"] == "sign_in":
                continue
            answer = nobody.ask(verb.upper(), f"/api/v1{path.replace('{', '').replace('}', '')}")
            assert answer.status == 401, (verb, path)
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json["code"] == "unauthenticated"
    nobody.close()
