"""Resources and resource templates, and their index by URI.

Resources are made from functions, fixed values, files and folders.

The URI of a resource is looked up directly; any other URI is matched only with templates that begin
the same way. Files are read for each request, in a thread. Files of a textual type in UTF-8 are
sent as text, all others as blobs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from inspect import getdoc, isawaitable
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypedDict, Unpack

from msgspec import UNSET, UnsetType

from accord.jsonrpc.methods.method import where
from accord.jsonrpc.methods.signature import innermost
from accord.jsonrpc.protocol.errors import RegistrationError
from accord.jsonrpc.protocol.messages import encode
from accord.mcp.protocol.content import Annotations, Icon, Meta, ResourceContents
from accord.mcp.protocol.definitions import Resource, ResourceTemplate
from accord.mcp.protocol.messages import CompleteParams
from accord.mcp.protocol.uri_template import UriTemplate
from accord.mcp.server.components.content import UNKNOWN, Media, mime_type_of, recognized
from accord.mcp.server.components.handler import Completions, Handler, choices_of
from accord.mcp.server.components.parameters import TextArguments
from accord.mcp.server.components.registry import Allow, ComponentRegistry, Enabled, check_allow
from accord.mcp.server.context import Context


class ResourceNotFoundError(Exception):
    """An error that handlers of templates raise for a URI without a resource."""


class ResourceOptions(TypedDict, total=False):
    """Options of a resource."""

    name: str | None
    """The resource's name; by default the function's name."""
    title: str
    """The resource's name for people."""
    description: str | None
    """The resource's description; by default the function's docstring."""
    mime_type: str
    """Media type of the contents; by default text/plain, application/json or
    application/octet-stream, depending on the return value."""
    size: int | None
    """Size in bytes, if known; not for templates."""
    annotations: Annotations | None
    icons: tuple[Icon, ...]
    meta: Meta | None
    """`_meta` of the resource's definition."""
    inline: bool
    """For quick plain functions: run on the event loop instead of a thread."""
    timeout: float | None
    """Time limit of reading in seconds, None for unlimited; by default the server's limit."""
    scopes: tuple[str, ...]
    """The scopes that a principal needs to see and read the resource."""
    allow: Allow | None
    """An additional condition for principals to see and read it: `lambda principal: …`."""
    enabled: Enabled | None
    """Decides for each request if its client sees the resource."""
    ttl_ms: int
    """Time for which clients may cache the contents, in milliseconds."""


class ServedResource:
    """A resource at one URI, or a resource template; subclasses read the contents."""

    __slots__ = (
        *("allow", "choices", "definition", "enabled", "scopes", "template", "timeout"),
        "ttl_ms",
    )

    def __init__(
        self,
        definition: Resource | ResourceTemplate,
        *,
        scopes: tuple[str, ...] | frozenset[str] = (),
        allow: Allow | None = None,
        enabled: Enabled | None = None,
        timeout: float | None | UnsetType = UNSET,
        ttl_ms: int = 0,
        choices: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.definition = definition
        self.template: UriTemplate | None = None
        if isinstance(definition, ResourceTemplate):
            self.template = UriTemplate(definition.uri_template)
        self.scopes = frozenset(scopes)
        self.allow = check_allow(allow)
        self.enabled = enabled
        self.timeout = timeout
        self.ttl_ms = ttl_ms
        self.choices: Mapping[str, Sequence[str]] = choices or {}
        """Possible values of the template's variables, for completion."""

    @property
    def address(self) -> str:
        """The URI of the resource, or the template as the application wrote it."""
        return address_of(self.definition)

    def read(
        self, uri: str, variables: dict[str, Any], context: Context
    ) -> list[ResourceContents] | Awaitable[list[ResourceContents]]:
        """Return the contents of the resource, or a coroutine of them.

        Raises the exceptions of the code that reads the contents.
        """
        raise NotImplementedError

    def watch(self, uri: str) -> None:
        """Start watching for changed contents at `uri`, so that clients are notified.

        Only resources of other servers need this; by default nothing happens.
        """

    @property
    def completes(self) -> bool:
        """True if the resource itself can suggest values of its variables."""
        return bool(self.choices)

    def complete(self, params: CompleteParams, context: Context, by: Completions) -> Any:
        """Return suggestions for a variable of the template, or a coroutine of them."""
        return by.complete(params, context, self.choices)


def address_of(definition: Resource | ResourceTemplate) -> str:
    return definition.uri if isinstance(definition, Resource) else definition.uri_template


class ResourceIndex:
    """An index of a registry's resources and templates, to find them by URI.

    The index is rebuilt after the registry has changed.
    """

    def __init__(self, registry: ComponentRegistry[ServedResource]) -> None:
        self._registry = registry
        self._version = -1
        self._by_start: dict[str, list[tuple[int, ServedResource, UriTemplate]]] = {}
        self._lengths: tuple[int, ...] = ()

    def find(self, uri: str) -> tuple[ServedResource, dict[str, Any]] | None:
        """Return the resource for a URI, and the values of its template's variables.

        Of several matching templates, the template added first is used. None if nothing matches.
        """
        found = self._registry.get(uri)
        if found is not None and found.template is None:
            return found, {}
        if self._version != self._registry.version:
            self._make()
        candidates = [
            each for length in self._lengths for each in self._by_start.get(uri[:length], ())
        ]
        if len(self._lengths) > 1:
            candidates.sort(key=lambda each: each[0])
        for _, resource, template in candidates:
            variables = template.match(uri)
            if variables is not None:
                return resource, dict(variables)
        return None

    def _make(self) -> None:
        self._by_start = {}
        for number, resource in self._registry.numbered():
            if resource.template is not None:
                start = _literal_start(resource.template.text)
                entry = (number, resource, resource.template)
                self._by_start.setdefault(start, []).append(entry)
        self._lengths = tuple(sorted(map(len, self._by_start)))
        self._lengths = tuple(dict.fromkeys(self._lengths))
        self._version = self._registry.version


def _literal_start(template: str) -> str:
    """Return the text that all URIs of a template begin with.

    Return an empty text if URIs may spell this text in several ways.
    """
    start = template.partition("{")[0]
    return start if start.isascii() and "%" not in start else ""


class FunctionResource(ServedResource):
    """A resource with contents from a function.

    The options are those of `ResourceOptions`.
    """

    __slots__ = ("_arguments", "_handler", "_mime_type")

    def __init__(
        self,
        uri: str,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str = "",
        description: str | None = None,
        mime_type: str = "",
        size: int | None = None,
        annotations: Annotations | None = None,
        icons: tuple[Icon, ...] = (),
        meta: Meta | None = None,
        inline: bool = False,
        timeout: float | None | UnsetType = UNSET,
        scopes: tuple[str, ...] = (),
        allow: Allow | None = None,
        enabled: Enabled | None = None,
        ttl_ms: int = 0,
    ) -> None:
        name = getattr(function, "__name__", "") if name is None else name
        if description is None:
            description = getdoc(innermost(function)) or ""
        try:
            template = UriTemplate(uri)
            self._handler = Handler(function, inline=inline, timeout=timeout)
            _check(template, self._handler)
        except (RegistrationError, ValueError) as error:
            raise RegistrationError(f"resource '{uri}' ({where(function)}): {error}") from error
        self._arguments = TextArguments(self._handler.parameters)
        self._mime_type = mime_type
        definition: Resource | ResourceTemplate
        if template.variables:
            definition = ResourceTemplate(
                uri_template=uri,
                name=name,
                title=title,
                description=description,
                mime_type=mime_type,
                annotations=annotations,
                icons=icons,
                meta=meta,
            )
        else:
            definition = Resource(
                uri=uri,
                name=name,
                title=title,
                description=description,
                mime_type=mime_type,
                size=size,
                annotations=annotations,
                icons=icons,
                meta=meta,
            )
        super().__init__(
            definition,
            scopes=scopes,
            allow=allow,
            enabled=enabled,
            timeout=timeout,
            ttl_ms=ttl_ms,
            choices=choices_of(self._handler.parameters),
        )

    def read(
        self, uri: str, variables: dict[str, Any], context: Context
    ) -> list[ResourceContents] | Awaitable[list[ResourceContents]]:
        """Decode the variables of the URI into the parameters' types; call the function.

        Raises the function's exceptions, and `InvalidParamsError` for a variable that does not fit
        its parameter.
        """
        bound = self._handler.bind(self._arguments.encode(variables), context)
        value = self._handler.begin(bound, context)
        return self._finish(uri, value) if isawaitable(value) else self._contents(uri, value)

    async def _finish(self, uri: str, value: Awaitable[Any]) -> list[ResourceContents]:
        return self._contents(uri, await value)

    def _contents(self, uri: str, value: Any) -> list[ResourceContents]:
        if isinstance(value, ResourceContents):
            return [value]
        if isinstance(value, list) and value and isinstance(value[0], ResourceContents):
            return value
        if isinstance(value, str):
            return [ResourceContents.of(uri, value, self._mime_type or "text/plain")]
        if isinstance(value, Media):
            return [ResourceContents.of(uri, value.data, self._mime_type or value.type)]
        if isinstance(value, bytes | bytearray | memoryview):
            data = bytes(value)
            return [ResourceContents.of(uri, data, self._mime_type or recognized(data))]
        text = encode(value).decode()
        return [ResourceContents.of(uri, text, self._mime_type or "application/json")]


def _check(template: UriTemplate, handler: Handler) -> None:
    """Check that variables have parameters, and required parameters have variables.

    Raises RegistrationError otherwise.
    """
    parameters = handler.parameters
    takes_any = any(each.kind == "var_keyword" for each in parameters)
    names = {each.name for each in parameters if each.kind != "var_keyword"}
    missing = [name for name in template.variables if name not in names and not takes_any]
    if missing:
        raise RegistrationError(f"nothing takes '{missing[0]}' of the template")
    extra = [it.name for it in parameters if it.required and it.name not in template.variables]
    if extra:
        raise RegistrationError(f"the template does not give parameter '{extra[0]}'")


_TEXTUAL: Final = ("json", "xml", "javascript", "yaml", "toml", "sql", "x-sh", "svg")


def fixed_resource(
    uri: str, contents: str | bytes, **options: Unpack[ResourceOptions]
) -> FunctionResource:
    """Return a resource with constant contents."""
    _complete(options, name=uri, size=len(_bytes(contents)), inline=True)
    return FunctionResource(uri, partial(_itself, contents), **options)


def file_resource(
    path: str | PathLike[str], uri: str | None = None, **options: Unpack[ResourceOptions]
) -> FunctionResource:
    """Return a resource for the file at `path`.

    Raises RegistrationError if there is no such file.
    """
    file = Path(path).absolute()
    if not file.is_file():
        raise RegistrationError(f"there is no file {file}")
    address = file.as_uri() if uri is None else uri
    _complete(options, name=file.name, mime_type=mime_type_of(file))
    return FunctionResource(address, partial(_read, file, address), **options)


def folder_resource(
    uri: str, path: str | PathLike[str], **options: Unpack[ResourceOptions]
) -> FunctionResource:
    """Return a template resource that serves all files below the folder `path`.

    Raises RegistrationError if there is no such folder, or if the template does not have exactly
    one variable.
    """
    folder = Path(path).resolve()
    if not folder.is_dir():
        raise RegistrationError(f"there is no folder {folder}")
    try:
        template = UriTemplate(uri)
    except ValueError as error:
        raise RegistrationError(f"resource '{uri}': {error}") from error
    if len(template.variables) != 1:
        raise RegistrationError(f"resource '{uri}': a folder needs one variable, as in {{+path}}")
    _complete(options, name=folder.name)
    variable = template.variables[0]

    def read(**variables: Any) -> ResourceContents:
        return _read_below(folder, str(variables[variable]), template)

    return FunctionResource(uri, read, **options)


def _read_below(folder: Path, below: str, template: UriTemplate) -> ResourceContents:
    file = _inside(folder, below)
    if file is None:
        raise ResourceNotFoundError(below)
    return _read(file, template.expand({template.variables[0]: below}))


def _inside(folder: Path, below: str) -> Path | None:
    """Return the path of the file `below` in `folder`, with links resolved.

    Return None if there is no such file, or if it lies outside of the folder.
    """
    try:
        file = (folder / below).resolve()
        return file if file.is_relative_to(folder) and file.is_file() else None
    except (OSError, ValueError):  # too long, or with a zero byte in it
        return None


def _read(file: Path, uri: str) -> ResourceContents:
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        raise ResourceNotFoundError(uri) from None
    kind = mime_type_of(file) or (UNKNOWN if recognized(data) == UNKNOWN else recognized(data))
    text = _text(data, kind)
    if text is None:
        return ResourceContents.of(uri, data, kind)
    return ResourceContents.of(uri, text, "text/plain" if kind == UNKNOWN else kind)


def _text(data: bytes, kind: str) -> str | None:
    """Return the contents of a file as text; None for binary data."""
    if kind != UNKNOWN and not kind.startswith("text/") and not kind.endswith(_TEXTUAL):
        return None
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None


def _complete(options: ResourceOptions, **known: Any) -> None:
    """Set the options of a resource that the caller left out.

    `known` are their default values. The description is empty by default, because the docstrings of
    our own functions do not describe the resource.
    """
    options.setdefault("description", "")
    for name, value in known.items():
        options.setdefault(name, value)  # type: ignore[misc]


def _itself(contents: Any) -> Any:
    return contents


def _bytes(contents: str | bytes) -> bytes:
    return contents.encode() if isinstance(contents, str) else contents
