"""OpenRPC documents of others, as clients are written from: what documents say in all ways there are."""

from __future__ import annotations

from typing import Any, TypeAlias

from accord.openrpc import Api, expose
from tests.exposure.shop import make_shop
from tests.openrpc.zoo import described, zoo

Json: TypeAlias = dict[str, Any]


def document(*methods: Json, schemas: Json | None = None, **more: Any) -> Json:
    """A document with these methods and schemas."""
    return {
        "openrpc": "1.3.2",
        "info": {"title": "Things", "version": "1.0"},
        "methods": list(methods),
        "components": {"schemas": schemas or {}},
        **more,
    }


def method(name: str, *params: Json, result: Any = True, **more: Any) -> Json:
    """A method whose result has a schema; `result=None` for one that is a notification."""
    answer = {} if result is None else {"result": {"name": "result", "schema": result}}
    return {"name": name, "params": list(params), **answer, **more}


def param(name: str, schema: Any = True, *, required: bool = True, **more: Any) -> Json:
    return {"name": name, "schema": schema, "required": required, **more}


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


PETS = document(
    method(
        "list_pets",
        param("limit", {"type": "integer"}, required=False, description="At most this many."),
        result=ref("Pets"),
        summary="All pets",
        tags=[{"name": "pets"}],
        errors=[{"code": 100, "message": "Pets busy"}],
    ),
    method(
        "create_pet",
        param("newPetName", {"type": "string"}),
        param("newPetTag", {"type": "string"}, required=False),
        result=ref("PetId"),
    ),
    method("get_pet", {"$ref": "#/components/contentDescriptors/PetId"}, result=ref("Pet")),
    schemas={
        "PetId": {"type": "integer", "minimum": 0},
        "Pet": {
            "type": "object",
            "required": ["id", "name"],
            "properties": {"id": ref("PetId"), "name": {"type": "string"}, "tag": {"type": "string"}},
        },
        "Pets": {"type": "array", "items": ref("Pet")},
    },
    servers=[{"url": "http://localhost:8080"}],
)  # fmt: skip
PETS["components"]["contentDescriptors"] = {"PetId": param("petId", ref("PetId"))}

METRICS = document(
    method(
        "link_clicked",
        param("link href", {"type": "string"}, required=False),
        param("link label", {"type": "string"}, required=False),
        result=None,
        examples=[{"name": "login", "params": [{"name": "href", "value": "https://example.com"}]}],
    )
)

SUMS = document(
    method(
        "addition",
        param("a", ref("Integer")),
        param("b", ref("Integer")),
        result=ref("Integer"),
        paramStructure="by-position",
    ),
    method("rpc.discover", result={"$ref": "https://example.com/openrpc/schema.json"}),
    schemas={"Integer": {"type": "integer"}},
)

EVERYTHING = document(
    method(
        "things.list",
        param("limit", {"type": ["integer", "null"]}, required=False),
        param("list", {"type": "array", "items": {"type": "string"}}, required=False),
        param("where", {"anyOf": [{"type": "string"}, ref("Range"), {"type": "null"}]}, required=False),
        result={"type": "array", "items": ref("Thing")},
        description='Says """quotes""", back\\slashes and */ ends of comments /*.\n\nTwice.',
    ),
    method(
        "things.get",
        param("id", {"type": "string", "format": "uuid"}, description="Which one."),
        result={"oneOf": [ref("Thing"), {"type": "null"}]},
        errors=[
            {"code": 1001, "message": "Thing not found"},
            {"$ref": "#/components/errors/Gone"},
            {"code": -32602, "message": "Invalid params"},
        ],
        deprecated=True,
    ),
    method(
        "things.add.now",
        param("thing", ref("Thing")),
        param("notes", {"type": ["string", "null"]}, required=False, deprecated=True),
        param("at", {"type": "string", "format": "date-time"}, required=False),
        result=ref("Thing"),
        paramStructure="by-position",
    ),
    method("things", result={"type": "integer"}),
    method("tree", param("from", ref("Tree")), result=ref("Tree")),
    method("pair", param("of", ref("Pair")), result=ref("Pair")),
    method("Log.Write", param("message", {"type": "string"}), result=None),
    method("close", result={"type": "null"}),
    method("batch", result={"const": "batch"}),
    method("constructor", param("class", ref("Class")), result=ref("Error")),
    method(
        "choose",
        param("option", {"enum": ["a", "b", 1, 2.5, True, None]}),
        param("self", {"type": "number"}, required=False),
        param("given", {"type": "boolean"}, required=False),
        param("str", {"type": "string"}),
        result={"type": "array", "items": [{"type": "integer"}, {"type": "string"}], "minItems": 1},
    ),
    schemas={
        "Thing": {
            "description": "A cup or a lamp.",
            "oneOf": [ref("Cup"), ref("Lamp")],
            "discriminator": {"propertyName": "kind"},
        },
        "Base": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"type": "string", "description": "What it is called."},
                "madeOn": {"type": ["string", "null"], "format": "date"},
                "price": {"type": "string", "format": "decimal"},
            },
        },
        "Cup": {
            "allOf": [
                ref("Base"),
                {
                    "type": "object",
                    "required": ["kind"],
                    "properties": {
                        "kind": {"const": "cup"},
                        "litres": {"type": "number", "exclusiveMinimum": 0},
                        "saucer": {"anyOf": [ref("Thing"), {"type": "boolean"}]},
                    },
                },
            ]
        },
        "Lamp": {
            "title": "A lamp",
            "type": "object",
            "required": ["kind", "on"],
            "properties": {
                "kind": {"const": "lamp"},
                "on": {"type": "boolean"},
                "colour": ref("Colour"),
                "parts": {"type": "array", "items": {"type": "object", "properties": {"x": True}}},
                "size": {"enum": ["small", "large", None]},
                "extra": {"type": "object", "additionalProperties": {"type": "integer"}},
            },
        },
        "Colour": {"type": "string", "enum": ["red", "green", "blue"]},
        "Range": {
            "type": "object",
            "additionalProperties": True,
            "required": ["from-id"],
            "properties": {
                "from-id": {"type": "integer"},
                "until": {"type": "string", "format": "date-time"},
                "thing": ref("Thing"),
            },
        },
        "Tree": {
            "anyOf": [
                {"type": "object", "additionalProperties": ref("Tree")},
                {"type": "array", "items": ref("Tree")},
                {"type": "string"},
                {"type": "null"},
            ]
        },
        "Jungle": {
            "description": "Trees and trees.",
            "anyOf": [
                {"type": "object", "additionalProperties": ref("Jungle")},
                *({"type": "array", "items": {"anyOf": [ref("Jungle"), ref(name)]}} for name in ("Cup", "Lamp", "Colour", "Range")),
            ],
        },
        "Loop": {"type": "array", "items": {"type": "array", "items": ref("Loop")}},
        "Pair": {
            "type": "array",
            "items": [ref("Colour"), {"type": "string", "format": "byte"}],
            "minItems": 2,
            "maxItems": 2,
        },
        "Class": {
            "type": "object",
            "properties": {
                "class": {"type": "string"},
                "str": {"type": "string"},
                "list": {"type": "array", "items": {"type": "integer"}},
                "date": {"type": "string", "format": "date"},
                "dt": {"type": "string", "format": "time"},
                "msgspec": {"type": "string", "format": "duration"},
                "": {"type": "integer"},
                "__proto__": {"type": "integer"},
                "1st": {"type": "integer"},
                "fooBar": {"type": "integer"},
                "foo_bar": {"type": "integer"},
                "grüße": {"type": "integer"},
            },
        },
        "Error": {"type": "object", "required": ["code"], "properties": {"code": {"type": "integer"}}},
        "Client": {"type": "object", "properties": {"id": {"type": "integer"}}},
        "Never": False,
        "Always": True,
        "Itself": ref("Itself"),
        "Here": ref("There"),
        "There": {"anyOf": [ref("Here"), {"type": "integer"}]},
        "Nobody": {"type": "object", "additionalProperties": False},
        "Long": {"enum": [f"a value of some length, number {number}" for number in range(12)]},
        "Longer": {"anyOf": [ref("Long"), {"type": "array", "items": {"enum": [f"value {n}" for n in range(20)]}}, ref("Cup")]},
        "P": {"type": "object", "properties": {"next": ref("P")}},
        "Q": {"type": "object", "properties": {"next": ref("Q")}},
        "Both": {"allOf": [ref("P"), ref("Q")]},
        "snake_case": {"type": "object", "properties": {"nullable": {"type": "string", "nullable": True}}},
        "SnakeCase": {"type": "integer"},
        "a/b~c%d": {"type": "object", "properties": {"x": ref("a~1b~0c%25d")}},
    },
    servers=[{"url": "stdio:touch started"}, {"url": "https://${x}.example.com"}, {"url": "https://example.com/rpc"}],
    info={"title": 'Every "thing"', "version": "2.0", "description": "All there is.\nOf all."},
)  # fmt: skip
EVERYTHING["components"]["errors"] = {"Gone": {"code": 1002, "message": "It's gone."}}


def all_documents() -> dict[str, Json]:
    """Ours and theirs, by names that modules can have."""
    place = "http://127.0.0.1:8000/rpc/"
    return {
        "pets": PETS,
        "metrics": METRICS,
        "sums": SUMS,
        "everything": EVERYTHING,
        "empty": document(),
        "zoo": Api(zoo(), title="Zoo", version="1").document(place),
        "described": Api(described(), title="Described", version="1").document(place),
        "shop": expose(make_shop()).document(place),
        "shop_nested": expose(make_shop(), nested=True).document(place),
    }
