"""Names of A2A 0.3 and 1.0 as tables: versions, methods, and the members of JSON objects. Pure.

Classes such as `TaskObject` declare the members of both versions. `V03` and `V10` list the members
that each version has, in the order of the wire. The classes that msgspec encodes and decodes are
built from the declarations and these lists. A list consists of words:

    historyLength                   the attribute history_length
    config=pushNotificationConfig   the attribute config, which has another name on the wire
    text!                           the attribute text, which must not be null

Without `!`, null counts as a missing value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum, StrEnum
from functools import reduce
from operator import or_
from sys import intern
from types import NoneType
from typing import Any, Final, TypeVar, cast, get_args, get_type_hints

import msgspec
from msgspec import NODEFAULT, UNSET, Struct, UnsetType, defstruct
from msgspec.structs import FieldInfo, fields

from accord.a2a.protocol.model import STATE_NAMES_10, Role, TaskState

VERSION: Final = "A2A-Version"
"""The header that names a request's version; without it a request is 0.3 (1.0, section 3.6)."""


class Wire(StrEnum):
    """The version of an A2A wire format: 0.3 or 1.0."""

    V03 = "0.3"
    V10 = "1.0"


class Verb(Enum):
    """A kind of request to an agent; the name of its method depends on the version."""

    SEND = "send"
    STREAM = "stream"
    GET = "get"
    LIST = "list"
    CANCEL = "cancel"
    SUBSCRIBE = "subscribe"
    SET_PUSH = "set_push"
    GET_PUSH = "get_push"
    LIST_PUSH = "list_push"
    DELETE_PUSH = "delete_push"
    EXTENDED_CARD = "extended_card"


METHODS: Final[dict[Wire, dict[Verb, str]]] = {
    Wire.V03: {
        Verb.SEND: "message/send",
        Verb.STREAM: "message/stream",
        Verb.GET: "tasks/get",
        Verb.CANCEL: "tasks/cancel",
        Verb.SUBSCRIBE: "tasks/resubscribe",
        Verb.SET_PUSH: "tasks/pushNotificationConfig/set",
        Verb.GET_PUSH: "tasks/pushNotificationConfig/get",
        Verb.LIST_PUSH: "tasks/pushNotificationConfig/list",
        Verb.DELETE_PUSH: "tasks/pushNotificationConfig/delete",
        Verb.EXTENDED_CARD: "agent/getAuthenticatedExtendedCard",
    },
    Wire.V10: {
        Verb.SEND: "SendMessage",
        Verb.STREAM: "SendStreamingMessage",
        Verb.GET: "GetTask",
        Verb.LIST: "ListTasks",
        Verb.CANCEL: "CancelTask",
        Verb.SUBSCRIBE: "SubscribeToTask",
        Verb.SET_PUSH: "CreateTaskPushNotificationConfig",
        Verb.GET_PUSH: "GetTaskPushNotificationConfig",
        Verb.LIST_PUSH: "ListTaskPushNotificationConfigs",
        Verb.DELETE_PUSH: "DeleteTaskPushNotificationConfig",
        Verb.EXTENDED_CARD: "GetExtendedAgentCard",
    },
}
VERBS: Final = {
    wire: {method: verb for verb, method in methods.items()} for wire, methods in METHODS.items()
}

_MAJOR_MINOR: Final = re.compile(r"(\d{1,4}\.\d{1,4})(?:\.[0-9A-Za-z.+-]{1,40})?")
_WIRES_OF_CARDS: Final = {"0.2": Wire.V03, "0.3": Wire.V03, "1.0": Wire.V10}
"""Formats by the version in a card. 0.2 is a subset of 0.3, and therefore read as 0.3."""


def wire_asked(version: str) -> Wire | None:
    """Return the format for the header A2A-Version of a request; None if unsupported."""
    # 1.0, section 3.6.2: an empty value is 0.3; patch versions do not count.
    number = _number(version.strip()) if version.strip() else Wire.V03.value
    return Wire(number) if number in (Wire.V03.value, Wire.V10.value) else None


def wire_of_card(version: str) -> Wire | None:
    """Return the format of an interface with this version, or None if unsupported."""
    return _WIRES_OF_CARDS.get(_number(version))


def _number(version: str) -> str:
    match = _MAJOR_MINOR.fullmatch(version)
    return "" if match is None else match[1]


class JsonObject(Struct, frozen=True, kw_only=True):
    pass


T = TypeVar("T", bound=JsonObject)


class KindObject(JsonObject, frozen=True, kw_only=True):
    """The base class of objects that have a member `kind` in 0.3."""

    kind: str = ""


class FileObject(JsonObject, frozen=True, kw_only=True):
    bytes: str | None = None
    uri: str | None = None
    name: str | None = None
    mime_type: str | None = None


class PartObject(KindObject, frozen=True, kw_only=True):
    text: str | None | UnsetType = UNSET
    file: FileObject | UnsetType = UNSET
    raw: str | None = None
    url: str | None = None
    data: Any = UNSET
    filename: str | None = None
    media_type: str | None = None
    metadata: dict[str, Any] | None = None


class MessageObject(KindObject, frozen=True, kw_only=True):
    message_id: str
    role: str
    parts: list[PartObject]
    context_id: str | None = None
    task_id: str | None = None
    metadata: dict[str, Any] | None = None
    extensions: list[str] | None = None
    reference_task_ids: list[str] | None = None


class StatusObject(JsonObject, frozen=True, kw_only=True):
    state: str
    message: MessageObject | None = None
    timestamp: str | None = None


class ArtifactObject(JsonObject, frozen=True, kw_only=True):
    artifact_id: str
    parts: list[PartObject]
    name: str | None = None
    description: str | None = None
    metadata: dict[str, Any] | None = None
    extensions: list[str] | None = None


class TaskObject(KindObject, frozen=True, kw_only=True):
    id: str
    context_id: str | None = None
    status: StatusObject
    artifacts: list[ArtifactObject] | None = None
    history: list[MessageObject] | None = None
    metadata: dict[str, Any] | None = None


class StatusUpdateObject(KindObject, frozen=True, kw_only=True):
    task_id: str
    context_id: str
    status: StatusObject
    final: bool | UnsetType = UNSET
    metadata: dict[str, Any] | None = None


class ArtifactUpdateObject(KindObject, frozen=True, kw_only=True):
    task_id: str
    context_id: str
    artifact: ArtifactObject
    append: bool | None = None
    last_chunk: bool | None = None
    metadata: dict[str, Any] | None = None


class EventObject(JsonObject, frozen=True, kw_only=True):
    """An event in 1.0, which has exactly one of the members declared here."""

    task: TaskObject | None = None
    message: MessageObject | None = None
    status_update: StatusUpdateObject | None = None
    artifact_update: ArtifactUpdateObject | None = None


class AuthenticationObject(JsonObject, frozen=True, kw_only=True):
    schemes: tuple[str, ...] = ()
    scheme: str = ""
    credentials: str | None = None


class PushObject(JsonObject, frozen=True, kw_only=True):
    task_id: str | None = None
    url: str
    id: str | None = None
    token: str | None = None
    authentication: AuthenticationObject | None = None


class TaskPushObject(JsonObject, frozen=True, kw_only=True):
    """The webhook of a task in 0.3; 1.0 has the task's id in the webhook itself."""

    task_id: str
    config: PushObject


class ConfigurationObject(JsonObject, frozen=True, kw_only=True):
    accepted_output_modes: list[str] | None = None
    blocking: bool | None = None
    push: PushObject | None = None
    history_length: int | None = None
    return_immediately: bool | None = None


class SendObject(JsonObject, frozen=True, kw_only=True):
    tenant: str | None = None
    message: MessageObject
    configuration: ConfigurationObject | None = None
    metadata: dict[str, Any] | None = None


class TaskQueryObject(JsonObject, frozen=True, kw_only=True):
    tenant: str | None = None
    id: str
    history_length: int | None = None


class ListQueryObject(JsonObject, frozen=True, kw_only=True):
    context_id: str | None = None
    status: str | None = None
    page_size: int | None = None
    page_token: str | None = None
    history_length: int | None = None
    status_timestamp_after: str | None = None
    include_artifacts: bool | None = None


class PushQueryObject(JsonObject, frozen=True, kw_only=True):
    task_id: str
    config_id: str | None = None


class TasksObject(JsonObject, frozen=True, kw_only=True):
    # 1.0, section 3.1.4: all of these are there, empty or not.
    tasks: list[TaskObject]
    next_page_token: str
    page_size: int
    total_size: int


class FieldTable(Struct, frozen=True, kw_only=True):
    """The names of members, roles and states in one version."""

    version: str
    members: dict[type[JsonObject], str]
    """The members of each object, in the order of the wire; nested objects are listed first."""
    roles: dict[Role, str]
    states: dict[TaskState, str]
    kinds: dict[type[KindObject], str] = {}
    """The value of the member `kind`, for objects in which it is constant."""


_MESSAGE: Final = "messageId role parts contextId taskId metadata extensions referenceTaskIds"
_ARTIFACT: Final = "artifactId parts name description metadata extensions"
_STATUS: Final = "state message timestamp"
_ARTIFACT_UPDATE: Final = "taskId contextId artifact append lastChunk metadata"

V03: Final = FieldTable(
    version=Wire.V03.value,
    members={
        FileObject: "bytes uri name mimeType",
        PartObject: "kind text! file data metadata",
        MessageObject: "kind " + _MESSAGE,
        StatusObject: _STATUS,
        ArtifactObject: _ARTIFACT,
        TaskObject: "kind id contextId! status artifacts history metadata",
        StatusUpdateObject: "kind taskId contextId status final metadata",
        ArtifactUpdateObject: "kind " + _ARTIFACT_UPDATE,
        AuthenticationObject: "schemes credentials",
        PushObject: "url id token authentication",
        TaskPushObject: "taskId config=pushNotificationConfig",
        ConfigurationObject: "acceptedOutputModes blocking historyLength "
        "push=pushNotificationConfig",
        SendObject: "message configuration metadata",
        TaskQueryObject: "id historyLength",
        PushQueryObject: "task_id=id config_id=pushNotificationConfigId",
    },
    roles={"user": "user", "agent": "agent"},
    states={state: state.value for state in TaskState},
    kinds={
        TaskObject: "task",
        MessageObject: "message",
        StatusUpdateObject: "status-update",
        ArtifactUpdateObject: "artifact-update",
    },
)
V10: Final = FieldTable(
    version=Wire.V10.value,
    members={
        PartObject: "text raw url data filename mediaType metadata",
        MessageObject: _MESSAGE,
        StatusObject: _STATUS,
        ArtifactObject: _ARTIFACT,
        TaskObject: "id contextId status artifacts history metadata",
        StatusUpdateObject: "taskId contextId status metadata",
        ArtifactUpdateObject: _ARTIFACT_UPDATE,
        EventObject: "task message statusUpdate artifactUpdate",
        AuthenticationObject: "scheme credentials",
        PushObject: "taskId url id token authentication",
        ConfigurationObject: "acceptedOutputModes push=taskPushNotificationConfig historyLength "
        "returnImmediately",
        SendObject: "tenant message configuration metadata",
        TaskQueryObject: "tenant id historyLength",
        ListQueryObject: "contextId status pageSize pageToken historyLength statusTimestampAfter "
        "includeArtifacts",
        PushQueryObject: "taskId config_id=id",
        TasksObject: "tasks nextPageToken pageSize totalSize",
    },
    roles={"user": "ROLE_USER", "agent": "ROLE_AGENT"},
    states=STATE_NAMES_10,
)


class Codec:
    """Classes to encode and decode one version, built from its table."""

    def __init__(self, table: FieldTable) -> None:
        self._readable: dict[str, type[JsonObject]] = {}
        self._writable: dict[str, type[JsonObject]] = {}
        for declared, words in table.members.items():
            name, members = declared.__name__, [_member(word) for word in words.split()]
            self._readable[name] = _readable(declared, members, self._readable)
            self._writable[name] = _writable(declared, members, _kind(table, declared))

    def has(self, declared: type[JsonObject], attribute: str) -> bool:
        """Return whether an object has this member in the version."""
        return attribute in {field.name for field in self._fields(declared)}

    def requires(self, declared: type[JsonObject], attribute: str) -> bool:
        """Return whether an object without this member is refused."""
        return attribute in {field.name for field in self._fields(declared) if field.required}

    def _fields(self, declared: type[JsonObject]) -> tuple[FieldInfo, ...]:
        return fields(self._readable[declared.__name__])

    def writer(self, declared: type[T]) -> type[T]:
        """Return the class for encoding an object; it adds a constant member `kind`."""
        return cast("type[T]", self._writable[declared.__name__])

    def decoder(self, declared: type[T]) -> Callable[[bytes], T]:
        """Return the decoder of an object.

        The decoder ignores members that the version does not have; their attributes get default
        values.
        """
        built = cast("type[T]", self._readable[declared.__name__])
        return msgspec.json.Decoder(built).decode


class _Member(Struct, frozen=True):
    """A member of an object, parsed from one word of a field table.

    The word is `attribute` or `attribute=name`. A `!` at its end means that null is refused.
    """

    attribute: str
    name: str
    never_null: bool


def _member(word: str) -> _Member:
    attribute, _, name = word.removesuffix("!").partition("=")
    return _Member(_snake_case(attribute), name or attribute, word.endswith("!"))


def _kind(table: FieldTable, declared: type[JsonObject]) -> str | None:
    return table.kinds.get(declared) if issubclass(declared, KindObject) else None


def _defaults(declared: type[JsonObject]) -> dict[str, Any]:
    return {field.name: field.default for field in fields(declared)}


def _readable(declared: type[T], members: list[_Member], within: Mapping[str, type]) -> type[T]:
    """Build a class for decoding; `within` has the classes of nested objects."""
    types, defaults = get_type_hints(declared, localns=dict(within)), _defaults(declared)
    read: list[tuple[str, Any, Any]] = []
    for member in members:
        kind, default = types[member.attribute], defaults.pop(member.attribute)
        if member.never_null:
            kind = reduce(or_, (each for each in get_args(kind) if each is not NoneType))
            default = NODEFAULT if default is None else default
        read.append((member.attribute, kind, default))
    # Declared members outside the table become class attributes.
    return _build(declared, read, members, namespace=defaults)


def _writable(declared: type[T], members: list[_Member], kind: str | None) -> type[T]:
    """Build a class for encoding: all declared members, in the order of the table.

    Members outside the table keep their default and are therefore not encoded. A constant `kind`
    is msgspec's tag.
    """
    defaults = _defaults(declared)
    listed = [member.attribute for member in members]
    order = dict.fromkeys([*listed, *(name for name in defaults if name != "kind")])
    tag: dict[str, Any] = {}
    if kind is not None:
        del order["kind"]
        tag = {"tag_field": "kind", "tag": kind}
    return _build(declared, [(name, Any, defaults[name]) for name in order], members, **tag)


def _build(
    declared: type[T], typed: list[tuple[str, Any, Any]], members: list[_Member], **options: Any
) -> type[T]:
    built = defstruct(
        declared.__name__,
        typed,
        frozen=True,
        kw_only=True,
        omit_defaults=True,
        rename={member.attribute: member.name for member in members},
        **options,
    )
    return cast("type[T]", built)


_CAPITAL: Final = re.compile("([A-Z])")


def _snake_case(name: str) -> str:
    # interned, as msgspec compares the names of keyword arguments by identity first
    return intern(_CAPITAL.sub(r"_\1", name).lower())


# The names of the proto file

_SNAKE_MEMBER: Final = re.compile(rb'"[a-z]+(?:_[a-z]+)+"\s*:')
_FREE: Final = frozenset(("metadata", "data"))
"""Members with free content, inside which `camel` renames nothing."""
_PROTO_NAMES: Final = {
    _snake_case(name): name
    for words in V10.members.values()
    for name in (_member(word).name for word in words.split())
}


def camel(raw: bytes) -> bytes:
    """Rename members from the names of the proto file to camel case.

    ProtoJSON readers accept both names.

    {"history_length": 1}  ──▶  {"historyLength": 1}
    """
    if _SNAKE_MEMBER.search(raw) is None:
        return raw
    return msgspec.json.encode(_renamed(msgspec.json.decode(raw)))


def _renamed(value: Any) -> Any:
    match value:
        case dict():
            return {
                _PROTO_NAMES.get(name, name): each if name in _FREE else _renamed(each)
                for name, each in value.items()
            }
        case list():
            return [_renamed(each) for each in value]
        case _:
            return value
