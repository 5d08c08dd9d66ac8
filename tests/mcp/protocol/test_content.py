"""Content and capabilities: what is read, and what is made of bytes."""

from __future__ import annotations

import msgspec
import pytest

from accord.mcp.protocol.content import (
    AudioContent,
    ImageContent,
    ResourceContents,
    SamplingContent,
    TextContent,
)
from accord.mcp.protocol.definitions import Elicitation
from accord.mcp.protocol.messages import InputRequiredResult
from accord.mcp.protocol.tasks import TRANSITIONS, TaskStatus, is_over


@pytest.mark.req("M-08")
def test_binary_content_is_base64_with_its_type() -> None:
    assert ImageContent.of(b"\0\1", "image/png") == ImageContent(data="AAE=", mime_type="image/png")
    assert AudioContent.of(b"\0\1", "audio/wav") == AudioContent(data="AAE=", mime_type="audio/wav")
    assert ResourceContents.of("x:y", b"\0\1", "a/b") == ResourceContents(
        uri="x:y", blob="AAE=", mime_type="a/b"
    )
    assert ResourceContents.of("x:y", "text") == ResourceContents(uri="x:y", text="text")


@pytest.mark.parametrize("data", [b'{"uri":"x:y"}', b'{"uri":"x:y","text":"","blob":""}'])
def test_resource_contents_are_either_text_or_blob(data: bytes) -> None:
    with pytest.raises(msgspec.ValidationError, match="resource contents have either text or blob"):
        msgspec.json.decode(data, type=ResourceContents)


def test_content_is_told_apart_by_its_type() -> None:
    found = msgspec.json.decode(b'{"text":"t","type":"text","new":1}', type=SamplingContent)
    assert found == TextContent(text="t")
    with pytest.raises(msgspec.ValidationError, match="Invalid value 'video'"):
        msgspec.json.decode(b'{"type":"video"}', type=SamplingContent)


@pytest.mark.parametrize(
    ("capability", "form"),
    [
        (Elicitation(), True),
        (Elicitation(form={}), True),
        (Elicitation(form={}, url={}), True),
        (Elicitation(url={}), False),
    ],
)
def test_who_says_nothing_about_forms_takes_forms(capability: Elicitation, form: bool) -> None:
    assert capability.takes_form is form


@pytest.mark.req("M-07")
@pytest.mark.parametrize("status", TRANSITIONS)
def test_a_task_that_is_over_stays_so(status: TaskStatus) -> None:
    assert is_over(status) is (status in ("completed", "failed", "cancelled"))
    assert status not in TRANSITIONS[status]
    assert TRANSITIONS[status] <= set(TRANSITIONS)


def test_a_result_that_is_not_complete_says_so() -> None:
    assert msgspec.json.encode(InputRequiredResult(request_state="s")) == (
        b'{"resultType":"input_required","requestState":"s"}'
    )
