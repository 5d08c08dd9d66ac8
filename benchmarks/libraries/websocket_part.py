"""WebSocket frames without sockets: reading, writing, limits."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any, Final

from websockets.extensions import Extension
from websockets.frames import Frame, Opcode as TheirOpcode
from websockets.protocol import OPEN
from websockets.server import ServerProtocol
from wsproto.connection import Connection, ConnectionType
from wsproto.events import Message as WsprotoMessage, TextMessage
from wsproto.utilities import RemoteProtocolError

from accord.transports.websocket.frames import FrameReader, Message, Opcode, Violation, frame
from benchmarks.libraries.figures import import_cost, micro, show, versions

KEY: Final = b"\x12\x34\x56\x78"
SMALL: Final = frame(Opcode.TEXT, b"x" * 923, KEY)
BATCH: Final = SMALL * 64
LARGE: Final = frame(Opcode.TEXT, b"x" * 1024 * 1024, KEY)
LIMIT: Final = 1024 * 1024


def ours() -> Callable[[bytes], int]:
    reader = FrameReader(masked=True, max_message_bytes=LIMIT)
    return lambda data: sum(type(each) is Message for each in reader.receive(data))


def websockets() -> Callable[[bytes], int]:
    protocol = ServerProtocol(state=OPEN, max_size=LIMIT)
    no_extensions: list[Extension] = []
    protocol.extensions = no_extensions

    def receive(data: bytes) -> int:
        protocol.receive_data(data)
        return len(protocol.events_received())

    return receive


def wsproto() -> Callable[[bytes], int]:
    connection = Connection(ConnectionType.SERVER)

    def receive(data: bytes) -> int:
        connection.receive_data(data)
        return sum(
            isinstance(each, WsprotoMessage) and each.message_finished
            for each in connection.events()
        )

    return receive


SUBJECTS: Final = {"ours": ours, "websockets": websockets, "wsproto": wsproto}


def reading(receive: Callable[[bytes], int], data: bytes, messages: int) -> Any:
    def operate(count: int) -> None:
        for _ in range(count):
            assert receive(data) == messages

    return operate


def in_pieces(receive: Callable[[bytes], int], data: bytes) -> Any:
    pieces = [data[at : at + 65_536] for at in range(0, len(data), 65_536)]

    def operate(count: int) -> None:
        for _ in range(count):
            assert sum(map(receive, pieces)) == 1

    return operate


def writing() -> list[tuple[str, object]]:
    payload = b"x" * 923
    protocol = ServerProtocol(state=OPEN)
    connection = Connection(ConnectionType.SERVER)
    text = payload.decode()

    def we(count: int) -> None:
        for _ in range(count):
            frame(Opcode.TEXT, payload)

    def they(count: int) -> None:
        for _ in range(count):
            protocol.send_text(payload)
            protocol.data_to_send()

    def others(count: int) -> None:
        for _ in range(count):
            connection.send(TextMessage(text))

    return [
        (name, micro(each, 5_000)) for name, each in zip(SUBJECTS, (we, they, others), strict=True)
    ]


def too_large(name: str) -> str:
    """What becomes of a message over the limit, and of the one after it."""
    data = frame(Opcode.TEXT, b"x" * (LIMIT + 1), KEY) + SMALL
    if name == "ours":
        reader = FrameReader(masked=True, max_message_bytes=LIMIT)
        return " then ".join(type(each).__name__ for each in reader.receive(data))
    if name == "websockets":
        protocol = ServerProtocol(state=OPEN, max_size=LIMIT)
        protocol.receive_data(data)
        return f"{protocol.parser_exc}; {len(protocol.events_received())} messages"
    connection = Connection(ConnectionType.SERVER)
    connection.receive_data(data)
    return f"{[len(each.data) for each in connection.events()]}: there is no limit"


def fragments(name: str) -> str:
    """Memory held for a message in 100,000 fragments of one byte."""
    first = Frame(TheirOpcode.TEXT, b"x", fin=False).serialize(mask=True, extensions=[])
    more = Frame(TheirOpcode.CONT, b"x", fin=False).serialize(mask=True, extensions=[])
    data = [first, *[more * 1_000] * 100]

    tracemalloc.start()
    kept: list[Any] = []
    said = ""
    if name == "ours":
        reader = FrameReader(masked=True, max_message_bytes=LIMIT)
        for each in data:
            for event in reader.receive(each):
                if isinstance(event, Violation):
                    said = f"refused: {event.reason}"
    elif name == "websockets":
        protocol = ServerProtocol(state=OPEN, max_size=LIMIT)
        for each in data:
            protocol.receive_data(each)
            kept += protocol.events_received()
    else:
        connection = Connection(ConnectionType.SERVER)
        try:
            for each in data:
                connection.receive_data(each)
                kept += [event.data for event in connection.events()]
        except RemoteProtocolError as error:
            said = str(error)
    held = tracemalloc.get_traced_memory()[0] / 1024
    tracemalloc.stop()
    return f"{held:,.0f} KiB held {said}"


def main() -> None:
    versions("websockets", "wsproto")
    for title, data, messages, count in (
        ("64 masked texts of 923 B in one read, µs for each", BATCH, 64, 200),
        ("one masked text of 923 B, µs", SMALL, 1, 5_000),
    ):
        show(
            title,
            [
                (name, micro(reading(make(), data, messages), count) / messages)
                for name, make in SUBJECTS.items()
            ],
        )
    show(
        "a masked text of 1 MiB in pieces of 64 KiB, µs",
        [
            (name, micro(in_pieces(make(), LARGE), 10))
            for name, make in SUBJECTS.items()
            if name != "wsproto"
        ],
    )
    show("writing a text of 923 B, µs", writing())
    show("a message of 1 B over the limit", [(name, too_large(name)) for name in SUBJECTS])
    show("100,000 fragments of one byte", [(name, fragments(name)) for name in SUBJECTS])
    show(
        "import",
        [
            (
                "accord.transports.websocket.frames",
                import_cost("import accord.transports.websocket.frames"),
            ),
            ("websockets.server", import_cost("import websockets.server")),
            ("websockets.asyncio.server", import_cost("import websockets.asyncio.server")),
            ("wsproto", import_cost("import wsproto")),
        ],
    )


main()
