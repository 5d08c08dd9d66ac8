"""What others say about our documents: OpenRPC's meta-schemas, its own tools, its generator."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator
from referencing import Registry
from referencing.jsonschema import DRAFT7

from tests.interop.programs import environment
from tests.node_packages import node_packages
from tests.patience import PATIENCE as PATIENCE

HERE = Path(__file__).parent

_PARSE = """
const { parseOpenRPCDocument } = require("@open-rpc/schema-utils-js");
const read = async (document) => {
  try { await parseOpenRPCDocument(document, { dereference: false }); return "ok"; }
  catch (error) { return error.message; }
};
const documents = JSON.parse(require("fs").readFileSync(0, "utf8"));
Promise.all(documents.map(read)).then((outcomes) => console.log(JSON.stringify(outcomes)));
"""


class Judges:
    """The validators, installed."""

    def __init__(self) -> None:
        self._packages = node_packages(HERE / "validators")
        schemas = json.loads(self._file("@json-schema-tools/meta-schema/schema.json"))
        # Some of its references end with a slash and some do not.
        registry: Registry[Any] = Registry().with_resources(
            (
                f"https://meta.json-schema.tools{end}",
                DRAFT7.create_resource(schemas),
            )
            for end in ("", "/")
        )
        self._validators = {
            version: Draft7Validator(
                json.loads(self._file(f"@open-rpc/spec/dist/{folder}/schema.json")),
                registry=registry,
            )
            for version, folder in (("1.3", "1_3"), ("1.4", "1_4"))
        }

    def meta_schema(self, document: Any) -> list[str]:
        """What jsonschema says about a document, by the meta-schema of its version."""
        validator = self._validators[document["openrpc"][:3]]
        return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]

    def schema_utils(self, *documents: Any) -> list[str]:
        """What @open-rpc/schema-utils-js says about each document: `ok`, or what is wrong."""
        done = subprocess.run(
            ["node", "-e", _PARSE],
            input=json.dumps(documents),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
            env=environment(self._packages),
        )
        outcomes: list[str] = json.loads(done.stdout)
        return outcomes

    def _file(self, path: str) -> str:
        return (self._packages / path).read_text()
