"""Values of the model: one of each with everything in it, and strategies for any."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from accord.a2a.protocol.model import (
    Artifact,
    ArtifactUpdate,
    DataPart,
    Event,
    FilePart,
    Message,
    Part,
    PushConfig,
    StatusUpdate,
    Task,
    TaskState,
    TaskStatus,
    TextPart,
)

ASKED = Message(
    message_id="m-1",
    role="user",
    parts=(
        TextPart(text="hello", metadata={"lang": "en"}),
        FilePart.of(b"tck", name="a.txt", media_type="text/plain"),
        FilePart(url="https://example.com/b.png", media_type="image/png"),
        DataPart(data={"n": 1}),
    ),
    context_id="c-1",
    task_id="r-1",
    metadata={"skill": "shout"},
    extensions=("https://example.com/ext",),
    reference_task_ids=("r-0",),
)
SAID = Message(message_id="m-2", role="agent", parts=(TextPart(text="hi"),))
MADE = Artifact(
    artifact_id="a-1",
    parts=(TextPart(text="one"),),
    name="Answer",
    description="The answer",
    metadata={"k": "v"},
    extensions=("https://example.com/ext",),
)
STATUS = TaskStatus(
    state=TaskState.INPUT_REQUIRED, message=SAID, timestamp="2026-11-15T09:30:00.000Z"
)
TASK = Task(
    id="r-1",
    context_id="c-1",
    status=STATUS,
    artifacts=(MADE,),
    history=(ASKED, SAID),
    metadata={"k": [1]},
)
EVENTS: tuple[Event, ...] = (
    TASK,
    SAID,
    StatusUpdate(task_id="r-1", context_id="c-1", status=STATUS, metadata={"k": "v"}),
    StatusUpdate(task_id="r-1", context_id="c-1", status=TaskStatus(state=TaskState.WORKING)),
    ArtifactUpdate(task_id="r-1", context_id="c-1", artifact=MADE),
    ArtifactUpdate(
        task_id="r-1",
        context_id="c-1",
        artifact=MADE,
        append=True,
        last_chunk=True,
        metadata={"a": 1},
    ),
)
PUSH = PushConfig(
    url="https://example.com/hook", id="p-1", token="t", scheme="Bearer", credentials="c"
)

# Any value. 0.3 has no media type but that of files, and numbers come back whole.

ids = st.text(min_size=1, max_size=8)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
metadata = st.dictionaries(st.text(max_size=5), json_values, max_size=2)
files: st.SearchStrategy[Part] = st.builds(
    lambda data, name, kind: FilePart.of(data, name=name, media_type=kind),
    st.binary(max_size=9),
    st.text(max_size=5),
    st.sampled_from(["", "image/png"]),
) | st.builds(FilePart, url=ids, metadata=metadata)
parts: st.SearchStrategy[Part] = (
    st.builds(TextPart, text=st.text(max_size=9), metadata=metadata)
    | files
    | st.builds(DataPart, data=json_values, metadata=metadata)
)
some_parts = st.lists(parts, max_size=3).map(tuple)
messages = st.builds(
    Message,
    message_id=ids,
    role=st.sampled_from(["user", "agent"]),
    parts=some_parts,
    context_id=st.text(max_size=5),
    task_id=st.text(max_size=5),
    metadata=metadata,
    extensions=st.lists(ids, max_size=2).map(tuple),
    reference_task_ids=st.lists(ids, max_size=2).map(tuple),
)
statuses = st.builds(
    TaskStatus,
    state=st.sampled_from(TaskState),
    message=st.none() | messages,
    timestamp=st.text(max_size=5),
)
artifacts = st.builds(
    Artifact, artifact_id=ids, parts=some_parts, name=st.text(max_size=5), metadata=metadata
)
tasks = st.builds(
    Task,
    id=ids,
    context_id=st.text(max_size=5),
    status=statuses,
    artifacts=st.lists(artifacts, max_size=2).map(tuple),
    history=st.lists(messages, max_size=2).map(tuple),
    metadata=metadata,
)
events: st.SearchStrategy[Event] = (
    tasks
    | messages
    | st.builds(StatusUpdate, task_id=ids, context_id=ids, status=statuses, metadata=metadata)
    | st.builds(
        ArtifactUpdate,
        task_id=ids,
        context_id=ids,
        artifact=artifacts,
        append=st.booleans(),
        last_chunk=st.booleans(),
    )
)
