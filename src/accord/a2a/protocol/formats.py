"""The wire formats of 0.3 and 1.0: from the model to the encoded objects, and back. Pure.

One walk through the model (`wire`) serves both versions; `fields` has the names of each version.
Further differences:

                        0.3                             1.0
    kind of an object:  member `kind`                   name of the member that holds the object
    kind of a part:     member `kind`                   name of its member: text, raw, url, data
    file in a part:     in the member `file`            directly in the part
    webhook of a task:  {task id, webhook}              the webhook has a member for the task id
    list of webhooks:   an array                        an object with the member `configs`
    option to wait:     `blocking`                      `returnImmediately`, with opposite meaning
    data in a part:     objects only (see COMPAT)       any value

Answers are read strictly, except that null is allowed for a missing value; `tolerant` reads answers
that break the format. Clients of 0.3 may leave out the `kind` of parts.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from accord.a2a.protocol import fields
from accord.a2a.protocol.fields import (
    ArtifactUpdateObject,
    EventObject,
    FileObject,
    ListQueryObject,
    PartObject,
    PushObject,
    StatusUpdateObject,
    TaskPushObject,
    TasksObject,
    Wire,
    camel,
)
from accord.a2a.protocol.model import (
    Answer,
    ArtifactUpdate,
    DataPart,
    Event,
    FilePart,
    ListQuery,
    Part,
    PushConfig,
    Send,
    StatusUpdate,
    Task,
    TaskPush,
    TaskState,
    TextPart,
    Unrecognized,
    whole_numbers,
)
from accord.a2a.protocol.wire import WireFormat, length

T = TypeVar("T")

UNREADABLE: Final = (ValueError, msgspec.ValidationError)
MAX_PAGE: Final = 100
COMPAT: Final = "data_part_compat"
"""The metadata key that marks a data part of 0.3 with wrapped data.

0.3 requires an object as data. Any other data is wrapped in an object with the member `value`, as
in the official SDKs.
"""


class _KindMember(Struct, frozen=True):
    kind: str


class _EventWrapper(Struct, frozen=True):
    task: Raw | UnsetType = UNSET
    message: Raw | UnsetType = UNSET


_decode_any: Final = msgspec.json.Decoder().decode
_decode_kind: Final = msgspec.json.Decoder(_KindMember).decode
_decode_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_wrapped: Final = msgspec.json.Decoder(_EventWrapper).decode


class _Format03(WireFormat):
    """The format of 0.3: objects have a member `kind`."""

    __slots__ = (
        "_decode_artifact_update",
        "_decode_status_update",
        "_decode_task_push",
        "_file_object",
        "_task_push_object",
    )

    def __init__(self) -> None:
        super().__init__(fields.V03)
        codec = self._codec
        self._file_object = codec.writer(FileObject)
        self._task_push_object = codec.writer(TaskPushObject)
        self._decode_task_push = codec.decoder(TaskPushObject)
        self._decode_status_update = codec.decoder(StatusUpdateObject)
        self._decode_artifact_update = codec.decoder(ArtifactUpdateObject)

    def _write_part(self, part: Part) -> PartObject:
        metadata = part.metadata or None
        match part:
            case TextPart(text=text):
                return self._part_object(kind="text", text=text, metadata=metadata)
            case FilePart(content=content, url=url):
                file = self._file_object(
                    bytes=content,
                    uri=url if content is None else None,
                    name=part.name or None,
                    mime_type=part.media_type or None,
                )
                return self._part_object(kind="file", file=file, metadata=metadata)
            case DataPart(data=dict(data)):
                return self._part_object(kind="data", data=data, metadata=metadata)
            case _:
                marked = {**part.metadata, COMPAT: True}
                return self._part_object(kind="data", data={"value": part.data}, metadata=marked)

    def _read_part(self, part: PartObject) -> Part:
        metadata = part.metadata or {}
        kind = part.kind
        match kind:
            case "text" if isinstance(part.text, str):
                return TextPart(text=part.text, metadata=metadata)
            case "file" if part.file is not UNSET:
                return _read_file(part.file, metadata)
            case "data" if part.data is not UNSET:
                data = whole_numbers(part.data)
                if metadata.get(COMPAT) is True and isinstance(data, dict) and "value" in data:
                    rest = {name: each for name, each in metadata.items() if name != COMPAT}
                    return DataPart(data=data["value"], metadata=rest)
                return DataPart(data=data, metadata=metadata)
            case "text" | "file" | "data":
                raise ValueError(f"a part of kind {kind!r} has no member {kind!r}")
            case "":
                raise ValueError("a part has no kind")
            case _:
                raise ValueError(
                    f"a part is of kind {kind[:40]!r}, which is not text, file or data"
                )

    def answer(self, answer: Answer) -> Any:
        return self.task(answer) if isinstance(answer, Task) else self.message(answer)

    def event(self, event: Event) -> Any:
        match event:
            case StatusUpdate():
                return self._status_update(event)
            case ArtifactUpdate():
                return self._artifact_update(event)
            case _:
                return self.answer(event)

    def read_task(self, raw: bytes) -> Task:
        task = self._decode_task(raw)
        if task.kind != "task":
            raise ValueError(
                f"a task is of kind {task.kind[:40]!r}" if task.kind else "a task has no kind"
            )
        return self._read_task(task)

    def read_answer(self, raw: bytes) -> Answer | Unrecognized:
        if not raw.startswith(b"{"):
            return Unrecognized(_decode_any(raw))
        members = _decode_members(raw)
        kind = bytes(members.get("kind", b"null"))
        if kind == b'"task"':
            return self._read_task(self._decode_task(raw))
        if kind == b'"message"':
            return self._read_message(self._decode_message(raw))
        if members.keys() & {"status", "artifacts", "history", "parts"}:
            problem = "has no kind" if kind == b"null" else f"is of kind {kind[:40].decode()}"
            raise ValueError(f"the result {problem}")
        return Unrecognized(_decode_any(raw))

    def read_event(self, raw: bytes) -> Event:
        match _decode_kind(raw).kind:
            case "task":
                return self._read_task(self._decode_task(raw))
            case "message":
                return self._read_message(self._decode_message(raw))
            case "status-update":
                return self._read_status_update(self._decode_status_update(raw))
            case "artifact-update":
                return self._read_artifact_update(self._decode_artifact_update(raw))
            case kind:
                raise ValueError(f"an event is of kind {kind[:40]!r}, which nobody knows")

    def push(self, push: TaskPush) -> TaskPushObject:
        return self._task_push_object(task_id=push.task_id, config=self._push(push.config))

    def pushes(self, pushes: Sequence[TaskPush]) -> list[TaskPushObject]:
        return [self.push(each) for each in pushes]

    def nothing(self) -> None:
        return None

    def read_push(self, raw: bytes) -> PushConfig:
        return self._read_push(self._decode_task_push(raw).config)

    def read_push_params(self, raw: bytes) -> TaskPush:
        push = self._decode_task_push(raw)
        return TaskPush(task_id=push.task_id, config=self._read_push(push.config))

    def read_send(self, raw: bytes) -> Send:
        send = self._decode_send(raw)
        parts = [_with_kind(part) for part in send.message.parts]
        return self._read_send(replace(send, message=replace(send.message, parts=parts)))


def _with_kind(part: PartObject) -> PartObject:
    """Return a part with its `kind`, which clients may leave out."""
    for kind in ("text", "file", "data"):
        if not part.kind and getattr(part, kind) is not UNSET:
            return replace(part, kind=kind)
    return part


def _read_file(file: FileObject, metadata: dict[str, Any]) -> FilePart:
    if (file.bytes is None) is (file.uri is None):
        raise ValueError("a file has either bytes or a uri")
    return FilePart(
        content=file.bytes,
        url=file.uri or "",
        name=file.name or "",
        media_type=file.mime_type or "",
        metadata=metadata,
    )


class _Format10(WireFormat):
    """The format of 1.0, ProtoJSON: the member present tells the kind of an object.

    Requests may also use the names of the proto file.
    """

    __slots__ = (
        "_decode_event",
        "_decode_list_query",
        "_decode_push",
        "_decode_push_params",
        "_event_object",
        "_tasks_object",
    )

    def __init__(self) -> None:
        super().__init__(fields.V10)
        codec = self._codec
        self._event_object = codec.writer(EventObject)
        self._tasks_object = codec.writer(TasksObject)
        self._decode_event = codec.decoder(EventObject)
        self._decode_push = codec.decoder(PushObject)
        self._decode_push_params = _with_proto_names(self._decode_push)
        self._decode_list_query = _with_proto_names(codec.decoder(ListQueryObject))
        self._decode_send = _with_proto_names(self._decode_send)
        self._decode_task_query = _with_proto_names(self._decode_task_query)
        self._decode_push_query = _with_proto_names(self._decode_push_query)

    def _write_part(self, part: Part) -> PartObject:
        name, media_type, metadata = part.name or None, part.media_type or None, part.metadata
        match part:
            case TextPart():
                return self._part_object(
                    text=part.text,
                    filename=name,
                    media_type=media_type,
                    metadata=metadata or None,
                )
            case FilePart():
                return self._part_object(
                    raw=part.content,
                    url=part.url if part.content is None else None,
                    filename=name,
                    media_type=media_type,
                    metadata=metadata or None,
                )
            case _:
                return self._part_object(
                    data=part.data, filename=name, media_type=media_type, metadata=metadata or None
                )

    def _read_part(self, part: PartObject) -> Part:
        text, data = part.text, part.data
        contents = isinstance(text, str) + (part.raw is not None) + (part.url is not None)
        if contents + (data is not UNSET) != 1:
            raise ValueError("a part has one of text, raw, url and data")
        name, media_type = part.filename or "", part.media_type or ""
        metadata = part.metadata or {}
        if isinstance(text, str):
            return TextPart(text=text, name=name, media_type=media_type, metadata=metadata)
        if data is not UNSET:
            return DataPart(
                data=whole_numbers(data), name=name, media_type=media_type, metadata=metadata
            )
        if part.raw is not None:
            _check_base64(part.raw)
        return FilePart(
            content=part.raw,
            url=part.url or "",
            name=name,
            media_type=media_type,
            metadata=metadata,
        )

    def answer(self, answer: Answer) -> EventObject:
        if isinstance(answer, Task):
            return self._event_object(task=self.task(answer))
        return self._event_object(message=self.message(answer))

    def event(self, event: Event) -> EventObject:
        match event:
            case StatusUpdate():
                return self._event_object(status_update=self._status_update(event))
            case ArtifactUpdate():
                return self._event_object(artifact_update=self._artifact_update(event))
            case _:
                return self.answer(event)

    def read_answer(self, raw: bytes) -> Answer | Unrecognized:
        if not raw.startswith(b"{"):
            return Unrecognized(_decode_any(raw))
        found = _decode_wrapped(raw)
        if found.task is not UNSET:
            return self._read_task(self._decode_task(found.task))
        if found.message is not UNSET:
            return self._read_message(self._decode_message(found.message))
        return Unrecognized(_decode_any(raw))

    def read_event(self, raw: bytes) -> Event:
        event = self._decode_event(raw)
        if event.task is not None:
            return self._read_task(event.task)
        if event.message is not None:
            return self._read_message(event.message)
        if event.status_update is not None:
            return self._read_status_update(event.status_update)
        if event.artifact_update is not None:
            return self._read_artifact_update(event.artifact_update)
        raise ValueError("an event has one of task, message, statusUpdate and artifactUpdate")

    def push(self, push: TaskPush) -> PushObject:
        return self._push(push.config, push.task_id)

    def pushes(self, pushes: Sequence[TaskPush]) -> dict[str, list[PushObject]]:
        return {"configs": [self.push(each) for each in pushes]}

    def nothing(self) -> dict[str, Any]:
        return {}  # google.protobuf.Empty

    def read_push(self, raw: bytes) -> PushConfig:
        return self._read_push(self._decode_push(raw))

    def read_push_params(self, raw: bytes) -> TaskPush:
        push = self._decode_push_params(raw)
        if not push.task_id:
            raise ValueError("taskId is missing")
        return TaskPush(task_id=push.task_id, config=self._read_push(push))

    # Lists of tasks, which 0.3 does not have

    def tasks(self, tasks: Sequence[Task], *, next_page: str, size: int, total: int) -> TasksObject:
        return self._tasks_object(
            tasks=[self.task(each) for each in tasks],
            next_page_token=next_page,
            page_size=size,
            total_size=total,
        )

    def read_list_query(self, raw: bytes) -> ListQuery:
        query = self._decode_list_query(raw)
        size = 50 if query.page_size is None else query.page_size
        if not 1 <= size <= MAX_PAGE:
            raise ValueError(f"pageSize must be from 1 to {MAX_PAGE}, got {size}")
        state = None if not query.status else self._read_state(query.status)
        return ListQuery(
            context_id=query.context_id or "",
            # proto3: the first value of an enumeration is the default
            state=None if state is TaskState.UNKNOWN else state,
            page_size=size,
            page_token=query.page_token or "",
            history_length=length(query.history_length),
            updated_after=query.status_timestamp_after or "",
            include_artifacts=bool(query.include_artifacts),
        )


def _with_proto_names(decode: Callable[[bytes], T]) -> Callable[[bytes], T]:
    return lambda raw: decode(camel(raw))


def _check_base64(text: str) -> None:
    """Raise ValueError unless this is ProtoJSON base64: standard or URL-safe, padded or not."""
    padded = text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4)
    try:
        b64decode(padded, validate=True)
    except ValueError as error:
        raise ValueError(f"the raw content of a part is not base64: {error}") from None


V03: Final = _Format03()
V10: Final = _Format10()
FORMATS: Final[dict[Wire, WireFormat]] = {Wire.V03: V03, Wire.V10: V10}
