"""JSON Schema: arguments of a tool, hostile schemas, imports."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from typing import Any, Final

import fastjsonschema
import jsonschema
import jsonschema_rs

from accord.schema.validator import JsonSchema
from benchmarks.libraries.figures import attempt, import_cost, micro, show, versions

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1, "maxLength": 200},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        "kinds": {"type": "array", "items": {"enum": ["epic", "story", "requirement"]}},
        "owner": {"anyOf": [{"$ref": "#/$defs/user"}, {"type": "null"}]},
    },
    "required": ["query"],
    "additionalProperties": False,
    "$defs": {
        "user": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "active": {"type": "boolean"}},
            "required": ["name"],
        }
    },
}
GOOD: Final = {
    "query": "ferry",
    "limit": 20,
    "kinds": ["epic", "requirement"],
    "owner": {"name": "ada", "active": True},
}
BAD: Final = {**GOOD, "owner": {"name": 7}}
LONG: Final = {"type": "array", "items": {"$ref": "#/$defs/user"}, "$defs": SCHEMA["$defs"]}
USERS: Final = [{"name": f"user {n}", "active": True} for n in range(10_000)]

SUBJECTS: Final = {
    "ours": "from accord.schema.validator import JsonSchema\n"
    "def check(schema, value): return JsonSchema(schema).problem(value)",
    "jsonschema": "import jsonschema\n"
    "def check(schema, value): return jsonschema.Draft202012Validator(schema).is_valid(value)",
    "jsonschema-rs": "import jsonschema_rs\n"
    "def check(schema, value): return jsonschema_rs.validator_for(schema).is_valid(value)",
    "fastjsonschema": "import fastjsonschema\n"
    "def check(schema, value): return fastjsonschema.compile(schema)(value)",
}
HOSTILE: Final = {
    "pattern (a+)+$ for a text of 30": ("{'pattern': '(a+)+$'}", "'a' * 30 + 'b'"),
    "pattern ^(\\\\w+\\\\s?)*$ for a text of 40": (
        "{'pattern': r'^(\\w+\\s?)*$'}",
        "'a' * 40 + '!'",
    ),
    "a schema that refers to itself": ("{'allOf': [{'$ref': '#'}, {'$ref': '#'}]}", "1"),
    "20 levels of two alternatives": (
        "{'$ref': '#/$defs/d0', '$defs': {**{f'd{n}': {'anyOf': [{'$ref': f'#/$defs/d{n+1}'}] * 3}"
        " for n in range(20)}, 'd20': False}}",
        "1",
    ),
    "an enum of 200,000 for each of 1,000 items": (
        "{'items': {'enum': [{'a': n} for n in range(200_000)]}}",
        "[{'a': -1}] * 1000",
    ),
    "a value nested 100,000 times": (
        "{'items': {'$ref': '#'}}",
        "__import__('functools').reduce(lambda v, _: [v], range(100_000), 1)",
    ),
    "a keyword of a wrong type": ("{'properties': 5, 'required': 7}", "{}"),
}

FETCHED: Final = """
import http.server, threading, warnings
warnings.simplefilter("ignore")
asked = []
class Host(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(self.path)
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(b"{}")
    def log_message(self, *_): pass
host = http.server.HTTPServer(("127.0.0.1", 0), Host)
threading.Thread(target=host.serve_forever, daemon=True).start()
check({"$ref": f"http://127.0.0.1:{host.server_port}/schema"}, 1)
print("fetched" if asked else "not fetched")
"""


def times(check: Any, value: Any) -> Any:
    def operate(count: int) -> None:
        for _ in range(count):
            check(value)

    return operate


def making(make: Any) -> Any:
    def operate(count: int) -> None:
        for _ in range(count):
            make(SCHEMA)

    return operate


def raising(check: Any) -> Any:
    def judge(value: Any) -> bool:
        try:
            check(value)
        except fastjsonschema.JsonSchemaValueException:
            return False
        return True

    return judge


def main() -> None:
    versions("jsonschema", "jsonschema-rs", "fastjsonschema")
    made: dict[str, tuple[Any, Any]] = {
        "ours": (
            JsonSchema,
            lambda schema: lambda value: JsonSchema(schema).problem(value) is None,
        ),
        "jsonschema": (
            jsonschema.Draft202012Validator,
            lambda schema: jsonschema.Draft202012Validator(schema).is_valid,
        ),
        "jsonschema-rs": (
            jsonschema_rs.validator_for,
            lambda schema: jsonschema_rs.validator_for(schema).is_valid,
        ),
        "fastjsonschema": (
            fastjsonschema.compile,
            lambda schema: raising(fastjsonschema.compile(schema)),
        ),
    }
    for name, (make, checker) in made.items():
        check, check_long = checker(SCHEMA), checker(LONG)
        assert check(GOOD)
        assert not check(BAD)
        assert check_long(USERS)
        show(
            name,
            [
                ("make a validator, µs", micro(making(make), 20)),
                ("check a value that fits, µs", micro(times(check, GOOD), 2_000)),
                ("check a value that does not, µs", micro(times(check, BAD), 2_000)),
                ("check 10,000 objects, ms", micro(times(check_long, USERS), 3) / 1e3),
            ],
        )
    for about, (schema, value) in HOSTILE.items():
        found = []
        for name, code in SUBJECTS.items():
            found.append((name, attempt(f"{code}\nprint(check({schema}, {value}))")))
        show(about, found)
    show(
        "a $ref to another host",
        [(name, attempt(f"{code}\n{FETCHED}")) for name, code in SUBJECTS.items()],
    )
    show(
        "import",
        [
            (module, import_cost(f"import {module}"))
            for module in (
                "accord.schema.validator",
                "jsonschema",
                "jsonschema_rs",
                "fastjsonschema",
            )
        ],
    )


main()
