"""Contents that stand somewhere already, as resources: values, files and folders.

Files are read anew each time, in a thread. What is UTF-8 and of a textual type is sent as text,
anything else as a blob.
"""

from __future__ import annotations

from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Final, Unpack

from accord.jsonrpc.errors import RegistrationError
from accord.mcp.protocol.content import ResourceContents
from accord.mcp.protocol.uri_template import UriTemplate
from accord.mcp.server.function_resource import FunctionResource
from accord.mcp.server.media import UNKNOWN, mime_type_of, recognized
from accord.mcp.server.resource import ResourceNotFoundError, ResourceOptions

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

    Raises RegistrationError if there is none.
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
    """Return a resource for all files below `path`, by a template.

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
    """Return the file, links followed, if it is below the folder."""
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
    """Return the data as text; None for binary data."""
    if kind != UNKNOWN and not kind.startswith("text/") and not kind.endswith(_TEXTUAL):
        return None
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None


def _complete(options: ResourceOptions, **known: Any) -> None:
    """Set options that the caller left out.

    The description is empty by default: the docstrings of our own functions describe nothing.
    """
    options.setdefault("description", "")
    for name, value in known.items():
        options.setdefault(name, value)  # type: ignore[misc]


def _itself(contents: Any) -> Any:
    return contents


def _bytes(contents: str | bytes) -> bytes:
    return contents.encode() if isinstance(contents, str) else contents
