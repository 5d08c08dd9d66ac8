"""The TypeScript client of an API: one module without dependencies, which posts by `fetch`.

Everything from the document enters the source through `string`, `literal`, `comment`, or as an
identifier made by `names`; nothing else of it does, whatever it says. The part that is the same
in all clients is `runtime.ts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from accord.openrpc.clients.model import (
    ApiMethod,
    ApiModel,
    ApiParameter,
    Array,
    Declaration,
    Map,
    RecordField,
    RecordType,
)
from accord.openrpc.clients.names import (
    ClientNamespace,
    IdentifierScope,
    build_namespaces,
    camel,
    line,
    pascal,
)
from accord.openrpc.clients.typescript_types import (
    STEP,
    WIDTH,
    TypescriptAlias,
    TypescriptTypes,
    access,
    bracketed,
    comment,
    member,
    paragraph,
    string,
)

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
"""What the runtime takes from JavaScript, and no type of the API may hide."""
_OWN: Final = ("batch", "constructor", "then")
"""What a client has beside the methods of the API; one with a `then` could not be awaited."""

Block = list[str]


def write_typescript(api: ApiModel, *, command: str, flat: bool = False) -> str:
    """The source of a module with a class `Client`: always the same for the same API."""
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
        said = [paragraph(field.doc, STEP), ["@deprecated"] if field.deprecated else []]
        optional = "" if field.required else "?"
        written = self._types.expression(field.type, hint)
        return [*comment(said, STEP), f"{STEP}{member(field.name)}{optional}: {written};"]

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
        """What stands in the class: methods, and objects that hold methods."""
        for name, place in root.places.items():
            yield ""
            yield from comment([paragraph(_about_place(place), STEP)], STEP)
            yield f"{STEP}readonly {name} = {{"
            yield from self._place(place, STEP * 2)
            yield f"{STEP}}};"
        for name, method in root.methods.items():
            before, call = self._signature(method, STEP * 2)
            yield ""
            yield from comment(_about(method, STEP), STEP)
            yield from bracketed(STEP, f"{name}(", before, f"): Promise<{call.result}> {{")
            yield from bracketed(STEP * 2, f"return {call.function}(", call.arguments, ");")
            yield f"{STEP}}}"

    def _place(self, place: ClientNamespace, indent: str) -> Iterator[str]:
        """The members of an object that holds methods."""
        for name, below in place.places.items():
            yield from comment([paragraph(_about_place(below), indent)], indent)
            yield f"{indent}{name}: {{"
            yield from self._place(below, f"{indent}{STEP}")
            yield f"{indent}}},"
        for name, method in place.methods.items():
            before, call = self._signature(method, indent)
            yield from comment(_about(method, indent), indent)
            after = f"): Promise<{call.result}> =>"
            yield from bracketed(indent, f"{name}: (", before, after)
            inner = f"{indent}{STEP}"
            yield from bracketed(inner, f"{call.function}(", call.arguments, "),")

    def _signature(self, method: ApiMethod, indent: str) -> tuple[list[str], _Call]:
        """What a method takes, and how it calls."""
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
