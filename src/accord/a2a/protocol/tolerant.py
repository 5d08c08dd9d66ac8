"""Tolerant reader: tasks, messages and events out of results that break their format.

The strict readers of `formats` come first. Results that they refuse are read here, with names of
either version, despite missing ids, unknown parts or members of another type. Every deviation from
the format becomes a warning. A result that is neither a task nor a message is kept raw
(`Unrecognized`).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from accord.a2a.protocol.model import (
    STATE_NAMES_10,
    TERMINAL,
    Answer,
    Artifact,
    ArtifactUpdate,
    DataPart,
    Event,
    FilePart,
    Message,
    Part,
    Role,
    StatusUpdate,
    Task,
    TaskState,
    TaskStatus,
    TextPart,
    Unrecognized,
    state_of,
    whole_numbers,
)

MAX_WARNINGS: Final = 8
"""The limit of deviations from the format that are reported for one answer."""
MAX_SHOWN: Final = 40
"""The limit of characters of an agent's text that are quoted in a warning."""

_CAMEL: Final = (
    "artifactId",
    "artifactUpdate",
    "contextId",
    "lastChunk",
    "mediaType",
    "messageId",
    "mimeType",
    "referenceTaskIds",
    "statusUpdate",
    "taskId",
)
_SPELLINGS: Final = {name.lower(): name for name in _CAMEL}
_TASK_MEMBERS: Final = ("artifacts", "artifact", "history", "messages")
_TEXT_MEMBERS: Final = ("text", "content", "value")
_OUTPUT_MEMBERS: Final = ("parts", "output", "result", "content", "text", "answer", "response")
_WRAPPERS: Final = ("task", "message", "result", "response", "data", "answer", "output")
_PART_MEMBERS: Final = frozenset(
    ("kind", "type", *_TEXT_MEMBERS, "metadata", "mimetype", "mediatype", "filename", "name")
)
_PART_KINDS: Final = frozenset(("text", "file", "data", "image", "audio", "video"))
_CLIENT_ROLES: Final = frozenset(
    ("user", "roleuser", "human", "client", "system", "developer", "tool", "function")
)
_AGENT_ROLES: Final = frozenset(("agent", "roleagent"))
_NUMBERED_ROLES: Final = {1: "roleuser", 2: "roleagent"}


class TolerantAnswer(Struct, frozen=True, kw_only=True):
    """A task or message read from a result, with warnings."""

    answer: Answer | Unrecognized
    state: str = ""
    """The state in the agent's own words; "" if there is none."""
    warnings: tuple[str, ...] = ()


class TolerantEvent(Struct, frozen=True, kw_only=True):
    """An event read from a result, with warnings."""

    event: Event | Unrecognized
    warnings: tuple[str, ...] = ()


def read_answer(value: Any) -> TolerantAnswer:
    """Return the task or message in a decoded result."""
    reader = _Reader()
    answer = reader.answer(value)
    return TolerantAnswer(
        answer=Unrecognized(value) if answer is None else answer,
        state=reader.state,
        warnings=tuple(reader.warnings),
    )


def read_event(value: Any) -> TolerantEvent:
    """Return the event in a decoded result."""
    reader = _Reader()
    event = reader.event(value)
    return TolerantEvent(
        event=Unrecognized(value) if event is None else event, warnings=tuple(reader.warnings)
    )


class _Reader:
    """A reader of one result, which collects the faults of the result as warnings."""

    def __init__(self) -> None:
        self.warnings: dict[str, None] = {}
        self.state = ""

    def _warn(self, text: str) -> None:
        if len(self.warnings) < MAX_WARNINGS:
            self.warnings[text] = None

    def _members(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return the non-null members, by their names in lower case without separators."""
        members: dict[str, Any] = {}
        for name, each in value.items():
            if each is None:
                continue
            plain = _plain(name)
            if _SPELLINGS.get(plain, name) != name:
                self._warn(f"the member {_SPELLINGS[plain]} is spelled {name!r}")
            members.setdefault(plain, each)
        return members

    # Events

    def event(self, value: Any) -> Event | None:
        if isinstance(value, dict):
            members = self._members(value)
            kind = _word(members.get("kind"))
            status, artifact = members.get("statusupdate"), members.get("artifactupdate")
            if isinstance(status, dict) or kind == "statusupdate":
                return self._status_update(status if isinstance(status, dict) else value)
            if isinstance(artifact, dict) or kind == "artifactupdate":
                return self._artifact_update(artifact if isinstance(artifact, dict) else value)
            if not kind and "taskid" in members and "id" not in members:
                if "artifact" in members:
                    self._warn("an event does not say its kind")
                    return self._artifact_update(value)
                if "status" in members:
                    self._warn("an event does not say its kind")
                    return self._status_update(value)
        return self.answer(value)

    def _status_update(self, value: dict[str, Any]) -> StatusUpdate:
        members = self._members(value)
        return StatusUpdate(
            task_id=_id(members.get("taskid")),
            context_id=_id(members.get("contextid")),
            status=self._status(members),
            metadata=_object(members.get("metadata")),
        )

    def _artifact_update(self, value: dict[str, Any]) -> ArtifactUpdate:
        members = self._members(value)
        return ArtifactUpdate(
            task_id=_id(members.get("taskid")),
            context_id=_id(members.get("contextid")),
            artifact=self._artifact(members.get("artifact", {})),
            append=members.get("append") is True,
            last_chunk=members.get("lastchunk") is True,
            metadata=_object(members.get("metadata")),
        )

    # Tasks and messages

    def answer(self, value: Any) -> Answer | None:
        if isinstance(value, list):
            return self._listed(value)
        if not isinstance(value, dict):
            return None
        members = self._members(value)
        kind = _word(members.get("kind", members.get("type")))
        if _is_task(members, kind):
            return self._task(members)
        if _is_message(members, kind):
            if not isinstance(members.get("parts"), list):
                self._warn("a message has no list of parts")
            return self._message(value)
        for name in _WRAPPERS:
            found = self._wrapped(name, members.get(name))
            if found is not None:
                return found
        if _is_text_part(members, kind):
            self._warn("the result is a part, and no message")
            return Message(message_id="", role="agent", parts=self._part(value))
        return None

    def _wrapped(self, name: str, value: Any) -> Answer | None:
        if name == "message" and isinstance(value, str):
            self._warn("the message is a text, and no object")
            return Message(message_id="", role="agent", parts=(TextPart(text=value),))
        found = self.answer(value) if isinstance(value, dict) else None
        if found is not None and name not in ("task", "message"):  # where 1.0 has it
            self._warn(f"the result is inside of a member {name!r}")
        return found

    def _listed(self, value: list[Any]) -> Answer | None:
        objects = [self._members(each) for each in value if isinstance(each, dict)]
        if len(objects) != len(value) or not objects:
            return None
        if all(_is_listed_part(each) for each in objects):
            self._warn("the result is a list of parts, and no message")
            return Message(message_id="", role="agent", parts=self._parts(value))
        found = self.answer(value[-1])
        if found is not None:
            self._warn("the result is a list: its last item is taken")
        return found

    def _task(self, members: dict[str, Any]) -> Task:
        status = self._status(members)
        made = members.get("artifacts", members.get("artifact"))
        if "artifacts" not in members and made is not None:
            self._warn("the task has a member 'artifact' instead of a list of artifacts")
        artifacts = self._artifacts(made)
        if not any(each.parts for each in artifacts) and status.state is not TaskState.FAILED:
            beside = self._beside(members)
            artifacts = artifacts if beside is None else (beside,)
        return Task(
            id=_id(members.get("id", members.get("taskid"))),
            context_id=_id(members.get("contextid")),
            status=status,
            artifacts=artifacts,
            history=self._history(self._said_in(members)),
            metadata=_object(members.get("metadata")),
        )

    def _said_in(self, members: dict[str, Any]) -> Any:
        if "history" not in members and "messages" in members:
            self._warn("the history is in a member 'messages'")
            return members["messages"]
        return members.get("history")

    def _beside(self, members: dict[str, Any]) -> Artifact | None:
        """Return a task's output from non-standard members, as an artifact, or None."""
        for name in _OUTPUT_MEMBERS:
            value = members.get(name)
            if isinstance(value, str) or (
                isinstance(value, list | dict) and name in ("parts", "content")
            ):
                self._warn(f"the output of the task is in its member {name!r}, not in artifacts")
                return Artifact(artifact_id="", parts=self._parts(value))
        return None

    def _status(self, members: dict[str, Any]) -> TaskStatus:
        status = members.get("status")
        inner = self._members(status) if isinstance(status, dict) else {}
        said = inner.get("state", inner.get("status"))
        if said is None:
            said = members.get("state") if isinstance(status, dict | None) else status
            if said is not None:
                self._warn("the state is not in status.state")
        state = state_of(said)
        if said is None:
            self._warn("the task has no status")
        else:
            self.state = _excerpt(said)
            if state is None:
                self._warn(f"the state {self.state!r} is not known")
            elif said not in (state.value, STATE_NAMES_10[state]):
                self._warn(f"the state {self.state!r} is taken as {state.value!r}")
        message = inner.get("message", members.get("message"))
        if message is None and state in TERMINAL and state is not TaskState.COMPLETED:
            message = _reason(inner) or _reason(members)
        timestamp = inner.get("timestamp", members.get("timestamp"))
        return TaskStatus(
            state=state or TaskState.UNKNOWN,
            message=None if message is None else self._message(message),
            timestamp=timestamp if isinstance(timestamp, str) else "",
        )

    def _artifacts(self, value: Any) -> tuple[Artifact, ...]:
        if value is None:
            return ()
        if isinstance(value, dict):
            self._warn("the artifacts are an object, and no list")
            if not _is_artifact(self._members(value)):
                value = [
                    {"artifactId": name, **each}
                    if isinstance(each, dict) and _is_artifact(self._members(each))
                    else {"artifactId": name, "parts": each}
                    for name, each in value.items()
                ]
        made = self._flat(_listed(value), "artifacts")
        return tuple(self._artifact(each) for each in made if each is not None)

    def _flat(self, values: list[Any], what: str) -> list[Any]:
        """Flatten nested lists."""
        while any(isinstance(each, list) for each in values):
            self._warn(f"the {what} are a list of lists")
            values = [inner for each in values for inner in _as_list(each)]
        return values

    def _artifact(self, value: Any) -> Artifact:
        if not isinstance(value, dict):
            self._warn("an artifact is no object")
            return Artifact(artifact_id="", parts=self._parts(value))
        members = self._members(value)
        artifact_id = _id(members.get("artifactid", members.get("id")))
        if not artifact_id:
            self._warn("an artifact has no artifactId")
        return Artifact(
            artifact_id=artifact_id,
            parts=self._contained(value, members),
            name=_text(members.get("name")),
            description=_text(members.get("description")),
            metadata=_object(members.get("metadata")),
            extensions=_texts(members.get("extensions")),
        )

    def _history(self, value: Any) -> tuple[Message, ...]:
        if value is not None and not isinstance(value, list):
            self._warn("the history is no list")
        return tuple(self._message(each) for each in _listed(value) if each is not None)

    def _message(self, value: Any) -> Message:
        if not isinstance(value, dict):
            self._warn("a message is no object")
            return Message(message_id="", role="agent", parts=self._parts(value))
        members = self._members(value)
        message_id = _id(members.get("messageid", members.get("id")))
        if not message_id:
            self._warn("a message has no messageId")
        return Message(
            message_id=message_id,
            role=self._role(members.get("role")),
            parts=self._contained(value, members),
            context_id=_id(members.get("contextid")),
            task_id=_id(members.get("taskid")),
            metadata=_object(members.get("metadata")),
            extensions=_texts(members.get("extensions")),
            reference_task_ids=_texts(members.get("referencetaskids")),
        )

    def _role(self, role: Any) -> Role:
        word = _NUMBERED_ROLES.get(role, "") if isinstance(role, int) else _word(role)
        if word not in _AGENT_ROLES and word not in ("user", "roleuser"):
            self._warn(f"the role {_excerpt(role)!r} is not known" if role else "a role is missing")
        return "user" if word in _CLIENT_ROLES else "agent"

    # Parts

    def _contained(self, value: dict[str, Any], members: dict[str, Any]) -> tuple[Part, ...]:
        """Return the parts of a message or artifact, from standard or other members."""
        for name in ("parts", "part"):
            if name in members:
                return self._parts(members[name])
        found = members.get("content")
        if found is None and members.keys() & {"text", "data", "file"}:
            found = {
                name: each
                for name, each in value.items()
                if _plain(name) not in ("kind", "type", "name", "metadata")
            }
        self._warn("there are no parts where parts belong")
        return self._parts(found)

    def _parts(self, value: Any) -> tuple[Part, ...]:
        if value is not None and not isinstance(value, list):
            self._warn("the parts are no list")
        parts = self._flat(_listed(value), "parts")
        return tuple(part for each in parts for part in self._part(each))

    def _part(self, value: Any) -> tuple[Part, ...]:
        """Convert one raw part to parts of the model, usually to one.

        Returns no parts for null, and two parts if the raw part has both a text and a file.
        """
        if value is None:
            return ()
        if not isinstance(value, dict):
            self._warn("a part is no object")
            is_text = isinstance(value, str)
            return (TextPart(text=value) if is_text else DataPart(data=whole_numbers(value)),)
        members = self._members(value)
        root = members.get("root", members.get("part"))
        if isinstance(root, dict):
            self._warn("a part is inside of another object")
            return self._part(root)
        kind = _word(members.get("kind", members.get("type")))
        if kind not in ("", "text", "file", "data"):
            self._warn(f"a part is of the unknown kind {_excerpt(kind)!r}")
        found: list[Part] = []
        metadata = _object(members.get("metadata"))
        text = self._part_text(members, kind)
        if text is not None:
            found.append(TextPart(text=text, metadata=metadata))
        file = _file(members, kind)
        if file is not None:
            found.append(file)
        elif "data" in members or _has_null(value, "data"):
            found.append(DataPart(data=whole_numbers(members.get("data")), metadata=metadata))
        if not found:
            self._warn("a part has neither text nor file nor data: it is taken as data")
            found.append(DataPart(data=whole_numbers(value)))
        return tuple(found)

    def _part_text(self, members: dict[str, Any], kind: str) -> str | None:
        names = _TEXT_MEMBERS if kind == "text" else _TEXT_MEMBERS[:2]
        for name in names:
            value = members.get(name)
            if isinstance(value, dict):
                value = self._members(value).get("text")
            if value is None or (name == "content" and kind not in ("", "text")):
                continue
            if not isinstance(value, str):
                self._warn(f"the {name} of a part is no text")
                return msgspec.json.encode(value).decode()
            return value
        return None


def _is_task(members: dict[str, Any], kind: str) -> bool:
    """Return true for a task, but not for another object with a member `status`."""
    if kind == "task" or any(name in members for name in _TASK_MEMBERS):
        return True
    status = members.get("status", members.get("state"))
    if isinstance(status, dict):
        return any(_plain(name) in ("state", "status") for name in status)
    known = state_of(status)
    if known is None or kind == "message":
        return False
    # {"status": "active"} may be anything; the words for an end are not as ambiguous
    return known in TERMINAL or "contextid" in members


def _is_message(members: dict[str, Any], kind: str) -> bool:
    if kind == "message" or "parts" in members:
        return True
    content = members.get("content")
    if isinstance(content, list) and content:
        return all(isinstance(each, dict) for each in content)
    return "role" in members and bool(members.keys() & {"content", "text"})


def _is_text_part(members: dict[str, Any], kind: str) -> bool:
    """Return true for an object that is a text part and nothing else."""
    if not members.keys() <= _PART_MEMBERS or kind not in ("", "text"):
        return False
    return any(isinstance(members.get(name), str) for name in _TEXT_MEMBERS[:2])


def _is_listed_part(members: dict[str, Any]) -> bool:
    kind = _word(members.get("kind", members.get("type")))
    return kind in _PART_KINDS or _is_text_part(members, kind)


def _is_artifact(members: dict[str, Any]) -> bool:
    return bool(members.keys() & {"artifactid", "parts", "part", "content", "text", "data"})


def _file(members: dict[str, Any], kind: str) -> FilePart | None:
    """Return the file in a part of either format or a similar one, or None."""
    file = members.get("file", members.get("image"))
    inner = {_plain(name): each for name, each in file.items()} if isinstance(file, dict) else {}
    both: dict[str, Any] = {**members, **inner}
    content = _text(both.get("raw")) or _text(both.get("bytes"))
    if not content and kind in ("image", "audio", "video", "file"):
        content = _text(both.get("data"))
    url = _text(both.get("url")) or _text(both.get("uri")) or _text(file)
    if not content and not url:
        return None
    return FilePart(
        content=content or None,
        url="" if content else url,
        name=_text(both.get("filename")) or _text(both.get("name")),
        media_type=_text(both.get("mediatype")) or _text(both.get("mimetype")),
        metadata=_object(members.get("metadata")),
    )


def _reason(members: dict[str, Any]) -> Any:
    """Return the reason of a failure from non-standard members, or None."""
    for name in ("error", "reason", "details", "detail"):
        value = members.get(name)
        if isinstance(value, dict):
            value = value.get("message")
        if isinstance(value, str) and value:
            return value
    return None


def _has_null(value: dict[str, Any], name: str) -> bool:
    return name in value and value[name] is None


def _listed(value: Any) -> list[Any]:
    return [] if value is None else _as_list(value)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _word(value: Any) -> str:
    return _plain(value) if isinstance(value, str) else ""


def _id(value: Any) -> str:
    """Return an id as a text: some agents use numbers as ids."""
    if isinstance(value, bool):
        return ""
    return str(value) if isinstance(value, str | int) else ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(each for each in _listed(value) if isinstance(each, str))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _excerpt(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
