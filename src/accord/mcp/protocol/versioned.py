"""Values in the form of one version of the protocol.

Programs use the newest form of each value. Two tables list the members that a version added or
removed; members that a version lacks are left out. Content of a kind that a version lacks becomes
content of another kind.
"""

from __future__ import annotations

from functools import cache
from operator import is_
from typing import Any, Final, TypeVar

from msgspec import NODEFAULT, UNSET, Raw, Struct
from msgspec.structs import fields, replace

from accord.jsonrpc.protocol.messages import encode
from accord.mcp.protocol.content import (
    Annotations,
    AudioContent,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    ResourceLink,
    TextContent,
)
from accord.mcp.protocol.definitions import (
    ClientCapabilities,
    Elicitation,
    Implementation,
    Prompt,
    PromptArgument,
    Resource,
    ResourceTemplate,
    SamplingCapability,
    ServerCapabilities,
    Tool,
)
from accord.mcp.protocol.input_requests import (
    CreateMessage,
    ElicitForm,
    ElicitResult,
    ElicitUrlParams,
    ListRootsResult,
    Root,
    SamplingMessage,
)
from accord.mcp.protocol.messages import (
    COMPLETE,
    CacheableResult,
    CallToolParams,
    CallToolResult,
    ProgressParams,
    PromptReference,
    Result,
)
from accord.mcp.protocol.versions import (
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
)

S = TypeVar("S", bound=Struct)
R = TypeVar("R", bound=Result)

AUDIO_URI: Final = "urn:accord:audio"
"""The URI of audio that can only be sent as a resource."""

_WITH_META: Final = {"meta": V2025_06_18}
_NAMED: Final = {"title": V2025_06_18, "meta": V2025_06_18, "icons": V2025_11_25}

SINCE: Final[dict[type[Struct], dict[str, str]]] = {
    Annotations: {"last_modified": V2025_06_18},
    AudioContent: _WITH_META,
    CacheableResult: {"ttl_ms": V2026_07_28, "cache_scope": V2026_07_28},
    CallToolParams: {"task": V2025_11_25},
    CallToolResult: {"structured_content": V2025_06_18},
    ClientCapabilities: {
        "elicitation": V2025_06_18,
        "tasks": V2025_11_25,
        "extensions": V2026_07_28,
    },
    CreateMessage: {"tools": V2025_11_25, "tool_choice": V2025_11_25, "task": V2025_11_25},
    ElicitForm: {"mode": V2025_11_25, "task": V2025_11_25},
    Elicitation: {"form": V2025_11_25, "url": V2025_11_25},
    EmbeddedResource: _WITH_META,
    ImageContent: _WITH_META,
    Implementation: {
        "title": V2025_06_18,
        "description": V2025_11_25,
        "website_url": V2025_11_25,
        "icons": V2025_11_25,
    },
    ProgressParams: {"message": V2025_03_26},
    Prompt: _NAMED,
    PromptArgument: {"title": V2025_06_18},
    PromptReference: {"title": V2025_06_18},
    Resource: _NAMED,
    ResourceContents: _WITH_META,
    ResourceLink: {"icons": V2025_11_25},
    ResourceTemplate: _NAMED,
    Result: {"result_type": V2026_07_28},
    Root: _WITH_META,
    SamplingCapability: {"context": V2025_11_25, "tools": V2025_11_25},
    SamplingMessage: {"meta": V2025_11_25},
    ServerCapabilities: {
        "completions": V2025_03_26,
        "tasks": V2025_11_25,
        "extensions": V2026_07_28,
    },
    Tool: {
        "annotations": V2025_03_26,
        "output_schema": V2025_06_18,
        "execution": V2025_11_25,
        **_NAMED,
    },
    TextContent: _WITH_META,
}
"""For each type, the version that introduced each of its members; subtypes have the same. Members
that are not listed have existed from the start."""

UNTIL: Final[dict[type[Struct], dict[str, str]]] = {
    CallToolParams: {"task": V2025_11_25},
    ClientCapabilities: {"tasks": V2025_11_25},
    CreateMessage: {"task": V2025_11_25, "meta": V2025_11_25},
    ElicitForm: {"task": V2025_11_25, "meta": V2025_11_25},
    ElicitResult: {"meta": V2025_11_25},
    ElicitUrlParams: {"elicitation_id": V2025_11_25, "task": V2025_11_25, "meta": V2025_11_25},
    ListRootsResult: {"meta": V2025_11_25},
    ServerCapabilities: {"tasks": V2025_11_25},
    Tool: {"execution": V2025_11_25},
}
"""For each type, the last version that has each of the members that were removed later; subtypes
have the same."""


def in_version(version: str, value: S) -> S:
    """Return `value` without the members that `version` does not have.

    Values inside `value` are changed in the same way.
    """
    left_out = _left_out(version, type(value))
    changes = {}
    for name in value.__struct_fields__:
        old = getattr(value, name)
        new = left_out[name] if name in left_out else _inside(version, old)
        if new is not old:
            changes[name] = new
    return replace(value, **changes) if changes else value


def result_in(version: str, result: R) -> R:
    """Return a result in the form that a client of `version` can read.

    The result may come from this program or from another server. The member `resultType` of a
    complete result is added when the result is sent.
    """
    # The encoder omits the constant itself, but not an equal text that was decoded.
    own = result.result_type is COMPLETE
    if version >= V2026_07_28:
        if own or result.result_type != COMPLETE:
            return result
        return replace(result, result_type=COMPLETE)
    if isinstance(result, CallToolResult) and result.structured_content is not UNSET:
        result = _with_structured(version, result)
    if own and version >= V2025_11_25 and not isinstance(result, CacheableResult):
        return result
    return in_version(version, result)


def _with_structured(version: str, result: Any) -> Any:
    value = result.structured_content
    if version < V2025_06_18:
        # without other content, the model reads the value that is meant for programs
        text = TextContent(text=encode(value).decode())
        return result if result.content else replace(result, content=[text])
    if isinstance(value, dict | Raw):
        return result
    # 2025-06-18 and 2025-11-25, tools: structured content is an object
    data = encode(value)
    return replace(
        result, structured_content=Raw(data if data[:1] == b"{" else b'{"result":%b}' % data)
    )


def _inside(version: str, value: Any) -> Any:
    if isinstance(value, Struct):
        return in_version(version, _of_known_kind(version, value))
    if not isinstance(value, list | tuple):
        return value
    known = type(value)(_inside(version, it) for it in value)
    return value if all(map(is_, known, value)) else known


def _of_known_kind(version: str, value: Struct) -> Struct:
    """Return `value`, converted if `version` lacks its kind of content."""
    if isinstance(value, AudioContent) and version < V2025_03_26:
        contents = ResourceContents(uri=AUDIO_URI, mime_type=value.mime_type, blob=value.data)
        return EmbeddedResource(resource=contents, annotations=value.annotations)
    if isinstance(value, ResourceLink) and version < V2025_06_18:
        about = f"\n{value.description}" if value.description else ""
        text = f"{value.title or value.name}: {value.uri}{about}"
        return TextContent(text=text, annotations=value.annotations)
    return value


@cache
def _left_out(version: str, kind: type[Struct]) -> dict[str, Any]:
    """Return the members that `kind` has but `version` lacks, with their defaults."""
    kinds = kind.__mro__
    names = {it for each in kinds for it, first in SINCE.get(each, {}).items() if version < first}
    names |= {it for each in kinds for it, last in UNTIL.get(each, {}).items() if version > last}
    known = {it.name: it.default for it in fields(kind) if it.default is not NODEFAULT}
    return {name: known[name] for name in names & known.keys()}
