"""The generator of TypeScript clients: one module per API, which calls by `fetch`.

The module has no dependencies. Text of the document enters the source only through `string`,
`literal`, `comment`, or as an identifier made by `names`. The code that all clients share is
`runtime.ts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from accord.openrpc.clients.model import (
    AnyType,
    ApiMethod,
    ApiModel,
    ApiParameter,
    Array,
    ConstantType,
    Declaration,
    Map,
    NeverType,
    Primitive,
    RecordField,
    RecordType,
    Scalar,
    Tuple,
    Type,
    TypeReference,
    Union,
)
from accord.openrpc.clients.names import (
    ClientNamespace,
    IdentifierScope,
    build_namespaces,
    camel,
    line,
    lines,
    pascal,
)

WIDTH: Final = 88
STEP: Final = "  "

_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_EXACT: Final = 2**53


def literal(value: Scalar) -> str:
    """Return the literal type of a value.

    The type is `number` for a number that JavaScript cannot hold exactly.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return string(value)
        case _:
            return "number" if abs(value) > _EXACT else repr(value)


def string(text: str) -> str:
    """Return the source of a string literal; unprintable characters are escaped."""
    return '"' + "".join(map(_escaped, text)) + '"'


def member(name: str) -> str:
    """Return the name of a type's member, in quotes if it is not an identifier."""
    return name if _IDENTIFIER.fullmatch(name) else string(name)


def access(value: str, name: str) -> str:
    """Return the expression for a member of `value`, which is an expression too.

    A `value` that ends with `?` may be undefined at run time.
    """
    if _IDENTIFIER.fullmatch(name):
        return f"{value}.{name}"
    return f"{value}{'.' if value.endswith('?') else ''}[{string(name)}]"


def comment(paragraphs: Iterable[Sequence[str]], indent: str) -> list[str]:
    """Return the lines of a documentation comment; none if there is no text.

    Each paragraph is a sequence of lines.
    """
    found = [line for each in paragraphs if each for line in ("", *each)][1:]
    text = [line.replace("*/", "*\\/").replace("/*", "/\\*") for line in found]
    if not text:
        return []
    if len(text) == 1 and len(indent) + len(text[0]) + 7 <= WIDTH:
        return [f"{indent}/** {text[0]} */"]
    return [f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in text), f"{indent} */"]


def paragraph(text: str, indent: str) -> list[str]:
    """Return a text of the document, wrapped to lines of a comment."""
    return lines(text, WIDTH - len(indent) - 3)


def bracketed(indent: str, before: str, items: Sequence[str], after: str) -> list[str]:
    """Return the items between `before` and `after`, on one line or on one line each."""
    one = f"{indent}{before}{', '.join(items)}{after}"
    if len(one) <= WIDTH or not items:
        return [one]
    return [f"{indent}{before}", *(f"{indent}{STEP}{item}," for item in items), f"{indent}{after}"]


def _escaped(character: str) -> str:
    if character in ('"', "\\"):
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\u{{{code:x}}}"


MAX_INLINE_TYPE: Final = 60
"""Maximum length in characters of a type that is written inline; a longer type gets an alias."""

Hint = tuple[str, ...]

_PRIMITIVES: Final = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


class TypescriptAlias(Struct, frozen=True):
    """An alias for a type that is not an interface."""

    name: str
    members: tuple[str, ...]
    """The members of a union, or a single type that is not a union."""
    doc: str = ""


class TypescriptTypes:
    """The types of one generated module."""

    def __init__(self, declarations: Iterable[Declaration], scope: IdentifierScope) -> None:
        self._scope = scope
        self._declared = {each.key: each for each in declarations}
        self._names = {
            key: scope.claim(pascal(each.hint, "Type")) for key, each in self._declared.items()
        }
        self._in_place: dict[tuple[Type, Hint], str] = {}
        self._written: dict[tuple[Type, Hint], list[str]] = {}
        self.aliases: list[TypescriptAlias] = []
        for key, each in self._declared.items():
            if not isinstance(each.type, RecordType):
                members = tuple(self._members(each.type, each.hint))
                self.aliases.append(TypescriptAlias(self._names[key], members, each.doc))

    def records(self) -> Iterator[tuple[str, Declaration, RecordType]]:
        """Yield the name, the declaration and the type of each record."""
        for key, declaration in self._declared.items():
            if isinstance(declaration.type, RecordType):
                yield self._names[key], declaration, declaration.type

    def expression(self, type: Type, hint: Hint) -> str:
        """Return the source of a type; a type that is too long gets an alias named by `hint`."""
        text = " | ".join(self._members(type, hint))
        return text if len(text) <= MAX_INLINE_TYPE else self._alias(type, hint)

    def _alias(self, type: Type, hint: Hint) -> str:
        if isinstance(type, TypeReference):
            return self._names[type.key]
        if (type, hint) not in self._in_place:
            self._in_place[type, hint] = name = self._scope.claim(pascal(hint, "Type"))
            self.aliases.append(TypescriptAlias(name, tuple(self._members(type, hint))))
        return self._in_place[type, hint]

    def _members(self, type: Type, hint: Hint) -> list[str]:
        """Return the source of each member of a union, or of a type that is not a union."""
        found = self._written.get((type, hint))
        if found is None:
            found = self._written[type, hint] = [*dict.fromkeys(self._write(type, hint))]
        return found

    def _write(self, type: Type, hint: Hint) -> list[str]:
        match type:
            case Union(members):
                return [text for member in members for text in self._members(member, hint)]
            case ConstantType(values):
                return [literal(value) for value in values] or ["never"]
            case _:
                return [self._one(type, hint)]

    def _one(self, type: Type, hint: Hint) -> str:
        match type:
            case NeverType():
                return "never"
            case Primitive(kind):
                return _PRIMITIVES[kind]
            case Array(item):
                return f"{self._bracketed(item, (*hint, 'item'))}[]"
            case Map(value):
                return f"{{ [key: string]: {self.expression(value, (*hint, 'value'))} }}"
            case Tuple(items, least, rest):
                return f"[{', '.join(self._places(items, least, rest, (*hint, 'item')))}]"
            case TypeReference(key):
                return self._names[key]
            case AnyType() | ConstantType() | Union():
                return "unknown"

    def _places(
        self, items: tuple[Type, ...], least: int, rest: Type | None, hint: Hint
    ) -> Iterator[str]:
        for index, item in enumerate(items):
            text = self._bracketed(item, (*hint, str(index + 1)))
            yield text if index < least else f"{text}?"
        if rest is not None:
            yield f"...{self._bracketed(rest, hint)}[]"

    def _bracketed(self, type: Type, hint: Hint) -> str:
        text, members = self.expression(type, hint), self._members(type, hint)
        return f"({text})" if len(members) > 1 and text == " | ".join(members) else text


_RUNTIME: Final = (
    "BatchCaller",
    "CallOptions",
    "Client",
    "ClientOptions",
    "DirectCaller",
    "ErrorCode",
    "InvalidResponseError",
    "Message",
    "Outcomes",
    "RpcError",
    "Transport",
)
_GLOBALS: Final = (
    "AbortSignal",
    "Array",
    "Awaited",
    "Error",
    "JSON",
    "Map",
    "Number",
    "Promise",
    "PromiseSettledResult",
    "Readonly",
    "Record",
    "String",
    "TypeError",
)
"""JavaScript globals that the runtime uses; no type of the API may have their names."""
_OWN: Final = ("batch", "constructor", "then")
"""Reserved names, which no method of the API may take. With a method `then`, a client could not be
awaited."""

Block = list[str]


def write_typescript(api: ApiModel, *, command: str, flat: bool = False) -> str:
    """Return the source of a TypeScript module with a class `Client` for `api`.

    The same arguments always give the same source. `command` is the command line that the comment
    at the top of the module names.
    """
    return _Writer(api, flat=flat).write(command)


class _Writer:
    def __init__(self, api: ApiModel, *, flat: bool) -> None:
        self._api = api
        self._scope = IdentifierScope({*_RUNTIME, *_GLOBALS}, between="")
        self._types = TypescriptTypes(api.declarations.values(), self._scope)
        self._root = build_namespaces(api.methods, flat=flat, identifier=_attribute, taken=_OWN)
        self._params: list[Block] = []

    def write(self, command: str) -> str:
        client = self._client()
        records = [self._record(*each) for each in self._types.records()]
        aliases = [_alias(each) for each in self._types.aliases]
        runtime = files(__package__).joinpath("runtime.ts").read_text("utf-8").rstrip().split("\n")
        blocks = [self._head(command), *records, *aliases, *self._params]
        blocks += [*self._error_codes(), client, runtime]
        return "\n\n".join("\n".join(block) for block in blocks) + "\n"

    def _head(self, command: str) -> Block:
        called = f"{line(self._api.title)} {line(self._api.version)}".strip()
        about = f"Client of {called}." if called else "Client of an API."
        return [
            f"// Generated from {called or 'an OpenRPC document'}; changes made here get lost. By:",
            f"//   {line(command)}",
            "",
            *comment([paragraph(about, ""), paragraph(self._api.description, "")], ""),
        ]

    # Types

    def _record(self, name: str, declared: Declaration, record: RecordType) -> Block:
        block = [
            *comment([paragraph(declared.doc, "")], ""),
            f"export interface {name} {{",
        ]
        for field in record.fields:
            block += self._member(field, (*declared.hint, field.name))
        if record.open:
            block.append(f"{STEP}[key: string]: unknown;")
        return [*block, "}"]

    def _member(self, field: RecordField | ApiParameter, hint: tuple[str, ...]) -> Block:
        texts = [paragraph(field.doc, STEP), ["@deprecated"] if field.deprecated else []]
        optional = "" if field.required else "?"
        written = self._types.expression(field.type, hint)
        return [*comment(texts, STEP), f"{STEP}{member(field.name)}{optional}: {written};"]

    def _error_codes(self) -> Iterator[Block]:
        scope, names = IdentifierScope(between=""), dict[int, str]()
        for error in (error for method in self._api.methods for error in method.errors):
            if error.code not in names:
                names[error.code] = scope.claim(pascal([error.message], "Error"))
        if names:
            rows = [f"{STEP}{name}: {code}," for code, name in names.items()]
            about = comment([["The codes of the errors that the API says it answers with."]], "")
            yield [*about, "export const ErrorCode = {", *rows, "} as const;"]

    # Methods

    def _client(self) -> Block:
        called = line(self._api.title) or "an API"
        return [
            *comment([paragraph(f"Calls the methods of {called}.", "")], ""),
            "export class Client {",
            f"{STEP}readonly #caller: DirectCaller | BatchCaller;",
            "",
            f"{STEP}constructor(options: ClientOptions | BatchCaller = {{}}) {{",
            f"{STEP * 2}this.#caller =",
            f"{STEP * 3}options instanceof BatchCaller",
            f"{STEP * 4}? options",
            f"{STEP * 4}: new DirectCaller(options, {string(self._api.url(('http', 'https')))});",
            f"{STEP}}}",
            "",
            *comment([_BATCH], STEP),
            f"{STEP}async batch<T extends readonly unknown[] | []>(",
            f"{STEP * 2}calls: (batch: Client) => T,",
            f"{STEP * 2}options?: CallOptions,",
            f"{STEP}): Promise<Outcomes<T>> {{",
            f"{STEP * 2}const caller = new BatchCaller(this.#caller);",
            f"{STEP * 2}const results = Promise.allSettled(calls(new Client(caller)));",
            f"{STEP * 2}await caller.send(options);",
            f"{STEP * 2}return results;",
            f"{STEP}}}",
            *self._members(self._root),
            "}",
        ]

    def _members(self, root: ClientNamespace) -> Iterator[str]:
        """Yield the members of the class `Client`: methods, and objects for namespaces."""
        for name, place in root.places.items():
            yield ""
            yield from comment([paragraph(_about_place(place), STEP)], STEP)
            yield f"{STEP}readonly {name} = {{"
            yield from self._place(place, STEP * 2)
            yield f"{STEP}}};"
        for name, method in root.methods.items():
            before, call = self._signature(method)
            yield ""
            yield from comment(_about(method, STEP), STEP)
            yield from bracketed(STEP, f"{name}(", before, f"): Promise<{call.result}> {{")
            yield from bracketed(STEP * 2, f"return {call.function}(", call.arguments, ");")
            yield f"{STEP}}}"

    def _place(self, place: ClientNamespace, indent: str) -> Iterator[str]:
        """Yield the members of the object for a namespace in the class `Client`."""
        for name, below in place.places.items():
            yield from comment([paragraph(_about_place(below), indent)], indent)
            yield f"{indent}{name}: {{"
            yield from self._place(below, f"{indent}{STEP}")
            yield f"{indent}}},"
        for name, method in place.methods.items():
            before, call = self._signature(method)
            yield from comment(_about(method, indent), indent)
            after = f"): Promise<{call.result}> =>"
            yield from bracketed(indent, f"{name}: (", before, after)
            inner = f"{indent}{STEP}"
            yield from bracketed(inner, f"{call.function}(", call.arguments, "),")

    def _signature(self, method: ApiMethod) -> tuple[list[str], _Call]:
        """Return two parts of a method's source: its parameters, the call in its body."""
        taken, params = [], "undefined"
        if method.parameters:
            name = self._declare_params(method)
            optional = "" if any(each.required for each in method.parameters) else "?"
            taken.append(f"params{optional}: {name}")
            params = "params"
            if method.by_position:
                places = [_place_of(each, f"params{optional}") for each in method.parameters]
                params = f"positional([{', '.join(places)}])"
            elif further := [each for each in method.parameters if each.variadic]:
                params = f"spread(params, {string(further[0].name)})"
        taken.append("options?: CallOptions")
        arguments = [string(method.name), params, "options"]
        if method.result is None:
            return taken, _Call("void", "this.#caller.notify", arguments)
        result = self._types.expression(method.result, (method.name, "result"))
        return taken, _Call(result, "this.#caller.call", arguments)

    def _declare_params(self, method: ApiMethod) -> str:
        name = self._scope.claim(pascal([method.name, "params"], "Params"))
        block = [
            *comment([paragraph(f"The params of `{method.name}`.", "")], ""),
            f"export interface {name} {{",
        ]
        for each in method.parameters:
            if each.variadic:
                many = Array(each.type) if method.by_position else Map(each.type)
                each = replace(each, type=many)
            block += self._member(each, (method.name, each.name))
        self._params.append([*block, "}"])
        return name


class _Call(Struct, frozen=True):
    result: str
    function: str
    arguments: list[str]


_BATCH: Final = (
    "Sends all calls that `calls` makes in one message. Their outcomes come in the order of",
    "what it returns, as from `Promise.allSettled`:",
    "",
    "    const [first, second] = await client.batch((batch) => [batch.a(), batch.b()]);",
)


def _attribute(name: str) -> str:
    return camel(name, "method")


def _place_of(parameter: ApiParameter, params: str) -> str:
    value = access(params, parameter.name)
    return f"...({value} ?? [])" if parameter.variadic else value


def _about_place(place: ClientNamespace) -> str:
    return f"The methods of `{'.'.join(place.path)}`."


def _about(method: ApiMethod, indent: str) -> Iterator[list[str]]:
    named = "" if method.description else f"Calls `{method.name}`."
    yield paragraph(method.summary or named, indent)
    yield paragraph(method.description, indent)
    tags = []
    if method.result_doc:
        tags += paragraph(f"@returns {line(method.result_doc)}", indent)
    for error in method.errors:
        tags += paragraph(f"@throws RpcError {error.code}: {line(error.message)}", indent)
    if method.deprecated:
        tags.append("@deprecated")
    yield tags


def _alias(alias: TypescriptAlias) -> Block:
    doc = comment([paragraph(alias.doc, "")], "")
    one = f"export type {alias.name} = {' | '.join(alias.members)};"
    if len(one) <= WIDTH or len(alias.members) == 1:
        return [*doc, one]
    *rows, last = [f"{STEP}| {each}" for each in alias.members]
    return [*doc, f"export type {alias.name} =", *rows, f"{last};"]
