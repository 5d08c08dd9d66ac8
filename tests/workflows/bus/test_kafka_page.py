"""The messages that the page shows are messages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from accord.workflows.bus.envelope import read_answer, read_request, read_to_bridge
from accord.workflows.bus.topics import TopicNames, TopicShape
from tests.markdown import read_blocks

PAGE = Path(__file__).parents[3] / "docs" / "workflows" / "kafka.md"
READERS: dict[str, Callable[[bytes], object]] = {
    "asked": read_request,
    "to bridge": read_to_bridge,
    "answer": read_answer,
}


def test_every_message_of_the_page_can_be_read() -> None:
    blocks = [block for block in read_blocks("kafka", PAGE) if block.kind == "read as"]
    read = [type(READERS[block.text](block.code.encode())).__name__ for block in blocks]
    assert read == [
        *["StartRun", "StartRun", "SignalRun", "CancelRun"],
        *["TaskSent", "TaskAnswered"],
    ]


def test_the_page_names_the_defaults() -> None:
    text = PAGE.read_text()
    assert all(f"`{name}`" in text for name in TopicNames().all())
    assert f"| {TopicShape().partitions} |" in text
