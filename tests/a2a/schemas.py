"""Whether what is written is what the official schemas of 0.3 say.

The schemas are not part of the project: ACCORD_A2A_SCHEMAS names their folder (`0.3.0.json`),
else it is `shared/schemas/a2a` beside the project. Without them, `validate` skips its test.
What 1.0 says is checked with the protocol buffers of the official SDK: see `interop`.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

_BESIDE = Path(__file__).parents[3] / "shared" / "schemas" / "a2a"
SCHEMA = Path(os.environ.get("ACCORD_A2A_SCHEMAS", _BESIDE)) / "0.3.0.json"


def validate(message: Any, definition: str) -> None:
    """Fails unless `message` is what `definition` says. Skips the test without the schemas."""
    if not SCHEMA.is_file():
        pytest.skip("only on machines with the official A2A schemas (ACCORD_A2A_SCHEMAS)")
    problems = [
        f"{definition}: {error.json_path}: {error.message[:500]}"
        for error in _validator(definition).iter_errors(message)
    ]
    assert not problems, "\n".join(problems)


@cache
def _validator(definition: str) -> Any:
    document = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for each in document["definitions"].values():
        # We send no member that the schema does not know, though it would allow it.
        if each.get("properties") and "additionalProperties" not in each:
            each["additionalProperties"] = False
    schema = {**document, "$ref": f"#/definitions/{definition}"}
    return jsonschema.validators.validator_for(document)(schema)
