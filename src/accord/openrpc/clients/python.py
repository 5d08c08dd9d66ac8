"""The generator of Python clients: one module per API, based on `stub`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from keyword import iskeyword
from typing import Final

from accord.jsonrpc.protocol.errors import RpcError, from_wire
from accord.openrpc.clients.model import (
    ApiError,
    ApiMethod,
    ApiModel,
    ApiParameter,
    ConstantType,
    Declaration,
    RecordField,
    RecordType,
)
from accord.openrpc.clients.names import (
    ClientNamespace,
    IdentifierScope,
    build_namespaces,
    line,
    pascal,
    snake,
)
from accord.openrpc.clients.python_types import (
    BUILTINS,
    STEP,
    WIDTH,
    PythonTypes,
    alias_lines,
    bracketed,
    docstring,
    is_dictionary,
    literal,
    paragraph,
    string,
)

MODULES: Final = {
    "builtins": "import builtins",
    "dt": "import datetime as dt",
    "msgspec": "import msgspec",
}
_STANDARD: Final = {
    "decimal": ("Decimal",),
    "typing": (
        "TYPE_CHECKING",
        "Any",
        "ClassVar",
        "Literal",
        "NotRequired",
        "TypeAlias",
        "TypedDict",
    ),
    "uuid": ("UUID",),
}
_INSTALLED: Final = {
    "accord": ("RpcError",),
    "accord.openrpc.clients.stub": (
        "AsyncClient",
        "BlockingClient",
        "BlockingMethods",
        "Call",
        "Errors",
        "Methods",
        "Returns",
        "either",
        "given",
        "open_record",
        "placed",
    ),
    "accord.sync": ("connect",),
    "msgspec": ("UNSET", "UnsetType"),
}
IMPORTED: Final = frozenset(
    name for home in (_STANDARD, _INSTALLED) for names in home.values() for name in names
)


def imports(body: str) -> list[str]:
    """Return the import lines that `body` needs, sorted as by `ruff check`."""
    used = _names_in(ast.parse(body))
    modules = [line for name, line in MODULES.items() if name in used and name != "msgspec"]
    standard = [*modules, *_from_imports(_STANDARD, used)]
    installed = ["import msgspec"] if "msgspec" in used else []
    installed += _from_imports(_INSTALLED, used)
    return [*standard, *([""] if standard else []), *installed]


def _from_imports(homes: dict[str, tuple[str, ...]], used: set[str]) -> Iterator[str]:
    for home, names in homes.items():
        found = [name for name in names if name in used]
        one = f"from {home} import {', '.join(found)}"
        if found and len(one) <= WIDTH:
            yield one
        elif found:
            yield from (f"from {home} import (", *(f"{STEP}{name}," for name in found), ")")


def _names_in(tree: ast.AST) -> set[str]:
    """Return the names that a syntax tree refers to, including those in quoted types."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(name):
                found.add(name)
            case ast.AnnAssign(annotation=ast.Name("TypeAlias"), value=ast.Constant(str(quoted))):
                found |= _names_in(ast.parse(quoted))
            case ast.Call(func=ast.Name("TypedDict"), args=[_, ast.Dict(values=types)]):
                for each in types:
                    if isinstance(each, ast.Constant):
                        found |= _names_in(ast.parse(str(each.value)))
    return found


_HIDDEN: Final = frozenset({*MODULES, *IMPORTED, "self"})
"""Names that no field, parameter or method may have, because the generated module uses them."""
_OWN: Final = ("batch", "close", "connect", "peer", "using")
"""The members that every client has of its own; no method of the API may take their names."""
_CONNECTABLE: Final = frozenset({"http", "https", "ws", "wss", "tcp", "tls"})
"""Schemes of URLs that a client may take from a document: none starts a program or opens a file."""

Block = list[str]


def write_python(api: ApiModel, *, command: str, flat: bool = False, blocking: bool = False) -> str:
    """Return the source of a Python module with a class `Client` for `api`.

    The same arguments always give the same source. `command` is the command line that the comment
    at the top of the module names.
    """
    return _Writer(api, flat=flat, blocking=blocking).write(command)


class _Writer:
    def __init__(self, api: ApiModel, *, flat: bool, blocking: bool) -> None:
        self._api = api
        self._blocking = blocking
        self._scope = IdentifierScope({"Client", "None", "True", "False", *IMPORTED}, between="")
        self._types = PythonTypes(api.declarations.values(), self._scope)
        self._errors = self._name_errors()
        self._root = build_namespaces(api.methods, flat=flat, identifier=_attribute, taken=_OWN)

    def write(self, command: str) -> str:
        methods = [*self._place(self._root, "Client")]
        records = [self._record(*each) for each in self._types.records()]
        aliases = [row for each in self._types.aliases for row in ("", *alias_lines(each))][1:]
        errors = [*self._error_classes()]
        blocks = [*records, *([aliases] if aliases else []), *errors, *methods]
        body = "\n\n\n".join("\n".join(each) for each in blocks) + "\n"
        gap = ["", ""] if body.startswith("class") else [""]
        return "\n".join([*self._head(command), *imports(body), *gap, body])

    def _head(self, command: str) -> Block:
        called = f"{line(self._api.title)} {line(self._api.version)}".strip()
        about = f"Client of {called or 'an API'}."
        return [
            f"# Generated from {called or 'an OpenRPC document'}; changes made here get lost. By:",
            f"#   {line(command)}",
            *docstring([paragraph(about, ""), paragraph(self._api.description, "")], ""),
            "",
            "from __future__ import annotations",
            "",
        ]

    # Types

    def _record(self, name: str, declared: Declaration, record: RecordType) -> Block:
        if is_dictionary(record):
            return self._open_record(name, declared, record)
        scope = IdentifierScope()
        names = [scope.claim(_attribute(field.name, "field")) for field in record.fields]
        block = [f"class {name}(msgspec.Struct, kw_only=True):"]
        block += docstring([paragraph(declared.doc, STEP)], STEP)
        if len(block) > 1:
            block.append("")
        hidden = BUILTINS.intersection(names)
        for each, field in zip(names, record.fields, strict=True):
            block += self._field(each, field, (*declared.hint, field.name), hidden)
        return block

    def _field(
        self, name: str, field: RecordField, hint: tuple[str, ...], hidden: frozenset[str]
    ) -> Block:
        default = _default(field)
        options = [f"default={default}"] if default else []
        ending = f" = {default}" if default else ""
        if field.name != name:
            options.append(f"name={string(field.name)}")
            ending = " = msgspec.field("
        written = self._types.expression(field.type, hint, hidden)
        if len(f"{STEP}{name}: {written} | UnsetType{ending}") > WIDTH:
            written = self._types.alias(field.type, hint)
        before = f"{name}: {written if field.required else _optional(written)}{ending}"
        texts = [paragraph(field.doc, STEP), ["Deprecated."] if field.deprecated else []]
        doc = docstring(texts, STEP)
        if field.name == name:
            return [f"{STEP}{before}", *doc]
        return [*bracketed(STEP, before, options, ")"), *doc]

    def _open_record(self, name: str, declared: Declaration, record: RecordType) -> Block:
        """Return the source of a record that is represented as a dictionary.

        Type checkers see a `TypedDict`; at run time the type is a stand-in.
        """
        pairs = [
            (field, self._types.expression(field.type, (*declared.hint, field.name)))
            for field in record.fields
        ]
        decoded = [f"{string(field.name)}: {written}" for field, written in pairs]
        required = [string(field.name) for field, _ in pairs if field.required]
        return [
            "if TYPE_CHECKING:",
            *self._typed_dict(name, declared, record),
            "else:",
            f"{STEP}{name} = open_record(",
            f'{STEP * 2}"{name}",',
            *bracketed(STEP * 2, "lambda: {", decoded, "},"),
            *bracketed(STEP * 2, "required=[", required, "],"),
            f"{STEP})",
        ]

    def _typed_dict(self, name: str, declared: Declaration, record: RecordType) -> Block:
        names = [field.name for field in record.fields]
        in_class = all(map(_may_be_key, names))
        hidden = BUILTINS.intersection(names if in_class else ())
        rows = []
        for field in record.fields:
            written = self._types.expression(field.type, (*declared.hint, field.name), hidden)
            shown = written if field.required else f"NotRequired[{written}]"
            if in_class:
                rows.append(f"{STEP * 2}{field.name}: {shown}")
                rows += docstring([paragraph(field.doc, STEP * 2)], STEP * 2)
            else:
                rows.append(f"{string(field.name)}: {string(shown)}")
        if in_class:
            doc = docstring([paragraph(declared.doc, STEP * 2)], STEP * 2)
            return [f"{STEP}class {name}(TypedDict):", *doc, *([""] if doc else []), *rows]
        return [
            f"{STEP}{name} = TypedDict(",
            f'{STEP * 2}"{name}",',
            *bracketed(STEP * 2, "{", rows, "},"),
            f"{STEP})",
        ]

    # Errors

    def _name_errors(self) -> dict[int, str]:
        """Return a class name for each documented error code that has no class in Accord."""
        found: dict[int, str] = {}
        for error in (error for method in self._api.methods for error in method.errors):
            known = error.code == RpcError.code or type(from_wire(error.code, "")) is not RpcError
            if error.code not in found and not known:
                called = pascal([error.message], "Error").removesuffix("Error")
                found[error.code] = self._scope.claim(f"{called}Error")
        return found

    def _error_classes(self) -> Iterator[Block]:
        messages: dict[int, str] = {}
        for method in self._api.methods:
            for error in method.errors:
                messages.setdefault(error.code, error.message)
        for code, name in self._errors.items():
            message = line(messages[code])
            doc = paragraph(f"Error {code}: {message}" if message else f"Error {code}.", STEP)
            yield [
                f"class {name}(RpcError):",
                *docstring([doc], STEP),
                "",
                f"{STEP}code = {code}",
                f"{STEP}default_message = {string(messages[code])}",
            ]

    def _raises(self, error: ApiError) -> str:
        raised = self._errors.get(error.code) or type(from_wire(error.code, "")).__name__
        return f"`{raised}` ({error.code})"

    # Methods

    def _place(self, place: ClientNamespace, name: str) -> Iterator[Block]:
        """Yield the source of each class for a namespace: inner namespaces first."""
        kind = "Blocking" if self._blocking else ""
        below: dict[str, str] = {}
        for attribute, each in place.places.items():
            below[attribute] = self._scope.claim(f"{pascal(each.path, 'Type')}Methods")
            yield from self._place(each, below[attribute])
        hidden = BUILTINS.intersection([*place.places, *place.methods])
        block = [f"class {name}({kind}Methods):"]
        if not place.path:
            block = [f"class {name}({kind or 'Async'}Client):", *self._client()]
        else:
            block += docstring([paragraph(f"The methods of `{'.'.join(place.path)}`.", STEP)], STEP)
        # A place may itself be called `property`, and hides the decorator of those behind it.
        decorator = "builtins.property" if "property" in below else "property"
        for attribute, class_name in below.items():
            block += [
                "",
                f"{STEP}@{decorator}",
                f"{STEP}def {attribute}(self) -> {class_name}:",
                *docstring([paragraph(_first_of(place.places[attribute]), STEP * 2)], STEP * 2),
                f"{STEP * 2}return {class_name}(self._caller)",
            ]
        for attribute, method in place.methods.items():
            block += ["", *self._method(attribute, method, hidden)]
        yield block

    def _client(self) -> Block:
        called = line(self._api.title) or "an API"
        block = docstring([paragraph(f"A connection to {called}.", STEP)], STEP)
        if self._blocking:
            block += ["", f"{STEP}_open = staticmethod(connect)"]
        if url := self._api.url(_CONNECTABLE):
            block += ["", f"{STEP}_url = {string(url)}"]
        if self._errors:
            items = [f"{code}: {name}" for code, name in self._errors.items()]
            block += ["", *bracketed(STEP, "_errors: ClassVar[Errors] = {", items, "}")]
        return block

    def _method(self, name: str, method: ApiMethod, hidden: frozenset[str]) -> Block:
        scope = IdentifierScope()
        names = {
            each.name: scope.claim(_attribute(each.name, "param")) for each in method.parameters
        }
        hidden |= BUILTINS.intersection(names.values())
        result, returns = "None", ""
        if method.result is not None:
            result = self._types.expression(method.result, (method.name, "result"), hidden)
            returns = f"Returns[{result}]"
        result = result if self._blocking else f"Call[{result}]"
        signature = self._signature(method, names, hidden)
        return [
            *bracketed(STEP, f"def {name}(", signature, f") -> {result}:"),
            *docstring(self._about(method, names), STEP * 2),
            *_body(method, names, returns, local=scope.claim("params")),
        ]

    def _signature(
        self, method: ApiMethod, names: dict[str, str], hidden: frozenset[str]
    ) -> list[str]:
        found, optional, further = ["self"], [], []
        for each in method.parameters:
            written = self._parameter(method, each, names, hidden)
            if each.variadic:
                further.append(written)
            elif each.required:
                found.append(written)
            else:
                optional.append(f"{_optional(written)} = UNSET")
        if method.by_position:
            found += [f"*{each}" for each in further[:1]] or (["*"] if optional else [])
            return found + optional
        return [
            *found,
            *(["*"] if optional else []),
            *optional,
            *(f"**{each}" for each in further[:1]),
        ]

    def _parameter(
        self,
        method: ApiMethod,
        parameter: ApiParameter,
        names: dict[str, str],
        hidden: frozenset[str],
    ) -> str:
        name, hint = names[parameter.name], (method.name, parameter.name)
        written = self._types.expression(parameter.type, hint, hidden)
        if len(f"{STEP * 2}{name}: {written} | UnsetType = UNSET,") > WIDTH:
            written = self._types.alias(parameter.type, hint)
        return f"{name}: {written}"

    def _about(self, method: ApiMethod, names: dict[str, str]) -> Iterator[list[str]]:
        indent = STEP * 2
        named = "" if method.description else f"Call `{method.name}`."
        yield paragraph(method.summary or named, indent)
        yield paragraph(method.description, indent)
        yield ["Deprecated."] if method.deprecated else []
        texts = []
        for each in method.parameters:
            text = f"{'Deprecated. ' if each.deprecated else ''}{line(each.doc)}".strip()
            if text:
                texts += _hanging(f"- `{names[each.name]}`: {text}", indent)
        yield texts
        yield paragraph(f"Returns: {line(method.result_doc)}" if method.result_doc else "", indent)
        if method.errors:
            raised = ", ".join(map(self._raises, method.errors))
            yield paragraph(f"Raises {raised}.", indent)


def _may_be_key(name: str) -> bool:
    """Return whether a key can be a field of a `TypedDict` class under the same name."""
    hides = iskeyword(name) or name.startswith("__") or name in _HIDDEN
    return name.isidentifier() and name.isascii() and not hides


def _attribute(name: str, otherwise: str = "method") -> str:
    """Return the Python identifier of a field, a parameter or a method."""
    found = snake(name, otherwise)
    return f"{found}_" if iskeyword(found) or found in _HIDDEN else found


def _default(field: RecordField) -> str:
    """Return the source of a field's default; empty if the field has none.

    It is UNSET for an optional field, and the value of a field that allows only one string, boolean
    or null.
    """
    match field.type:
        case _ if not field.required:
            return "UNSET"
        case ConstantType((str() | bool() | None as value,)):
            return literal(value)
        case _:
            return ""


def _optional(written: str) -> str:
    """Add `UnsetType` to the source of a type; `None` stays last in the union."""
    if written == "None":
        return "UnsetType | None"
    if written.endswith(" | None"):
        return f"{written.removesuffix(' | None')} | UnsetType | None"
    return f"{written} | UnsetType"


def _hanging(text: str, indent: str) -> list[str]:
    first, *others = paragraph(text, f"{indent}  ") or [""]
    return [first, *(f"  {other}" for other in others)]


def _body(method: ApiMethod, names: dict[str, str], returns: str, *, local: str) -> Block:
    """Return the source of a method's body.

    Params that do not fit on the line of the call are first assigned to a variable. Its name is the
    argument `local`.
    """
    indent, wire = STEP * 2, string(method.name)
    before = f"return self._caller.{'call' if returns else 'notify'}("
    last = [returns] if returns else []
    if not method.parameters:
        return bracketed(indent, before, [wire, "UNSET", *last], ")")
    listed = _listed(method, names)
    start, end = "[]" if method.by_position else "{}"
    complete = all(each.required or each.variadic for each in method.parameters)
    given = "" if complete else "placed" if method.by_position else "given"
    opened, closed = (f"{given}(", ")") if given else ("", "")
    one = [wire, f"{opened}{start}{', '.join(listed)}{end}{closed}", *last]
    if len(f"{indent}{before}{', '.join(one)})") <= WIDTH:
        return bracketed(indent, before, one, ")")
    return [
        *bracketed(indent, f"{local} = {start}", listed, end),
        *bracketed(indent, before, [wire, f"{opened}{local}{closed}", *last], ")"),
    ]


def _listed(method: ApiMethod, names: dict[str, str]) -> list[str]:
    """Return the source of each item in the array or object of params."""
    if method.by_position:
        return [
            f"*{names[each.name]}" if each.variadic else names[each.name]
            for each in method.parameters
        ]
    return [
        f"**{names[each.name]}" if each.variadic else f"{string(each.name)}: {names[each.name]}"
        for each in method.parameters
    ]


def _first_of(place: ClientNamespace) -> str:
    return f"The methods of `{'.'.join(place.path)}`."
