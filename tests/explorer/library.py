"""A lending library to explore: methods that work, and a document that says all there is to say."""

from __future__ import annotations

import asyncio
from typing import Any

from accord import Context, Router, RpcError

BOOKS: dict[int, dict[str, Any]] = {
    1: {"id": 1, "title": "The Left Hand of Darkness", "kind": "novel", "copies": 2},
    2: {"id": 2, "title": "A Pattern Language", "kind": "reference", "copies": 0},
}


def library(heard: list[Any]) -> Router:
    """The methods; what notifications say is put into `heard`."""
    router = Router()

    @router.method(name="books.get")
    def get(id: int, fields: list[str] | None = None) -> dict[str, Any]:
        if id not in BOOKS:
            raise RpcError("There is no such book", code=404, data={"id": id})
        return {key: value for key, value in BOOKS[id].items() if not fields or key in fields}

    @router.method(name="books.search")
    def search(query: str = "", kind: str | None = None, limit: int = 10) -> list[dict[str, Any]]:
        found = [book for book in BOOKS.values() if query.lower() in book["title"].lower()]
        return [book for book in found if kind in (None, book["kind"])][:limit]

    @router.method(name="books.add")
    def add(book: dict[str, Any]) -> dict[str, Any]:
        return {**book, "id": 3}

    @router.method(name="loans.borrow")
    def borrow(book: int, days: int = 14) -> dict[str, Any]:
        return {"book": book, "days": days}

    @router.method(name="shelves.tree")
    def tree(shelf: dict[str, Any] | None = None) -> Any:
        return shelf

    @router.method(name="desk.note")
    def note(text: str) -> None:
        heard.append(text)

    @router.method(name="desk.echo")
    def echo(value: Any = None) -> Any:
        return value

    @router.method(name="desk.sleep")
    async def sleep() -> None:
        await asyncio.sleep(30)

    @router.method(name="desk.headers")
    def headers(context: Context) -> dict[str, str]:
        return {name: value for name, value in context.headers.items() if name in SHOWN}

    @router.method(name="books.remove")
    def remove(id: int) -> bool:
        return id in BOOKS

    return router


SHOWN = ("authorization", "content-type", "x-desk")

BOOK = {"$ref": "#/components/schemas/Book"}

DOCUMENT: dict[str, Any] = {
    "openrpc": "1.3.2",
    "info": {
        "title": "Lending library",
        "version": "2.1.0",
        "description": "Find books, borrow them, and bring them back.\n\nEvery method can be tried "
        "here; see the [house rules](https://library.example/rules) for how long.",
        "contact": {"name": "The desk", "email": "desk@library.example"},
        "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
    },
    "servers": [{"name": "here", "url": "https://library.example/rpc"}],
    "methods": [
        {
            "name": "books.get",
            "summary": "One book, by its number",
            "description": "Books that were **withdrawn** are still found. The parts that you "
            "name in `fields` are left, in this order:\n\n- the title\n- the kind",
            "tags": [{"name": "books", "summary": "What can be read"}],
            "paramStructure": "either",
            "params": [
                {
                    "name": "id",
                    "description": "The number on the spine.",
                    "required": True,
                    "schema": {"type": "integer", "minimum": 1},
                },
                {
                    "name": "fields",
                    "description": "Which parts to give; all of them by default.",
                    "schema": {
                        "anyOf": [
                            {
                                "type": "array",
                                "items": {"enum": ["id", "title", "kind", "copies"]},
                                "uniqueItems": True,
                            },
                            {"type": "null"},
                        ]
                    },
                },
            ],
            "result": {"name": "book", "description": "The book.", "schema": BOOK},
            "errors": [
                {"code": 404, "message": "There is no book with this number", "data": {"id": 99}},
                {"$ref": "#/components/errors/InvalidParams"},
            ],
            "examples": [
                {
                    "name": "a novel",
                    "summary": "Only its title",
                    "params": [
                        {"name": "id", "value": 1},
                        {"name": "fields", "value": ["title"]},
                    ],
                    "result": {
                        "name": "book",
                        "value": {"title": "The Left Hand of Darkness"},
                    },
                },
                {
                    "name": "a reference work",
                    "params": [{"$ref": "#/components/examples/TwoId"}],
                    "result": {"name": "book", "value": {"id": 2, "title": "A Pattern Language"}},
                },
            ],
            "links": [
                {
                    "name": "borrow it",
                    "method": "loans.borrow",
                    "params": {"book": "${result.id}", "days": 7},
                    "summary": "Take the book home",
                }
            ],
            "externalDocs": {
                "url": "https://library.example/numbers",
                "description": "How books are numbered",
            },
        },
        {
            "name": "books.search",
            "summary": "Books whose title contains some words",
            "tags": [{"name": "books"}],
            "params": [
                {"name": "query", "schema": {"type": "string", "maxLength": 200, "default": ""}},
                {
                    "name": "kind",
                    "schema": {"anyOf": [{"$ref": "#/components/schemas/Kind"}, {"type": "null"}]},
                },
                {
                    "name": "limit",
                    "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
                },
            ],
            "result": {"name": "books", "schema": {"type": "array", "items": BOOK}},
        },
        {
            "name": "books.add",
            "summary": "Add a book",
            "tags": [{"name": "books"}, {"name": "staff"}],
            "paramStructure": "by-name",
            "params": [
                {
                    "name": "book",
                    "required": True,
                    "schema": {"$ref": "#/components/schemas/NewBook"},
                }
            ],
            "result": {"name": "book", "schema": BOOK},
        },
        {
            "name": "books.remove",
            "summary": "Withdraw a book",
            "deprecated": True,
            "tags": [{"name": "books"}, {"name": "staff"}],
            "params": [
                {"name": "id", "required": True, "deprecated": True, "schema": {"type": "integer"}}
            ],
            "result": {"name": "removed", "schema": {"type": "boolean"}},
        },
        {
            "name": "loans.borrow",
            "summary": "Borrow a book",
            "tags": [{"name": "loans", "summary": "Who has what, and until when"}],
            "paramStructure": "by-position",
            "params": [
                {"name": "book", "required": True, "schema": {"type": "integer"}},
                {"name": "days", "schema": {"type": "integer", "default": 14, "maximum": 30}},
            ],
            "result": {"name": "loan", "schema": {"type": "object"}},
        },
        {
            "name": "shelves.tree",
            "summary": "Shelves hold shelves",
            "params": [{"name": "shelf", "schema": {"$ref": "#/components/schemas/Shelf"}}],
            "result": {"name": "shelf", "schema": {"$ref": "#/components/schemas/Shelf"}},
        },
        {
            "name": "desk.note",
            "summary": "Leave a note at the desk",
            "params": [
                {"name": "text", "required": True, "schema": {"type": "string", "minLength": 1}}
            ],
        },
        {
            "name": "desk.echo",
            "summary": "Say it again",
            "params": [{"name": "value", "schema": True}],
            "result": {"name": "value", "schema": True},
        },
        {
            "name": "desk.sleep",
            "summary": "Wait for half a minute",
            "params": [],
            "result": {"name": "nothing", "schema": {"type": "null"}},
        },
        {
            "name": "desk.headers",
            "summary": "The headers that came along",
            "params": [],
            "result": {
                "name": "headers",
                "schema": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        },
    ],
    "components": {
        "schemas": {
            "Kind": {"enum": ["novel", "reference", "poetry"], "description": "Where it stands."},
            "Book": {
                "type": "object",
                "required": ["id", "title"],
                "properties": {
                    "id": {"type": "integer"},
                    "title": {"type": "string", "description": "As printed on the cover."},
                    "kind": {"$ref": "#/components/schemas/Kind"},
                    "copies": {"type": "integer", "minimum": 0},
                    "shelf": {"$ref": "#/components/schemas/Shelf"},
                },
            },
            "NewBook": {
                "type": "object",
                "required": ["title", "kind", "owner"],
                "additionalProperties": False,
                "properties": {
                    "title": {"type": "string", "minLength": 1},
                    "kind": {"$ref": "#/components/schemas/Kind"},
                    "year": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                    "isbn": {"type": "string", "pattern": "^97[89]-[0-9-]+$"},
                    "lent": {"type": "boolean"},
                    "authors": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    "owner": {
                        "oneOf": [
                            {
                                "title": "Person",
                                "type": "object",
                                "required": ["type", "name"],
                                "properties": {
                                    "type": {"const": "person"},
                                    "name": {"type": "string"},
                                },
                            },
                            {
                                "title": "House",
                                "type": "object",
                                "required": ["type", "rooms"],
                                "properties": {
                                    "type": {"const": "house"},
                                    "rooms": {"type": "integer"},
                                },
                            },
                        ]
                    },
                },
            },
            "Shelf": {
                "type": "object",
                "required": ["label"],
                "properties": {
                    "label": {"type": "string"},
                    "shelves": {"type": "array", "items": {"$ref": "#/components/schemas/Shelf"}},
                    "above": {"$ref": "#/components/schemas/Shelf"},
                },
            },
        },
        "errors": {"InvalidParams": {"code": -32602, "message": "Invalid params"}},
        "examples": {"TwoId": {"name": "id", "value": 2}},
    },
}
