"""What workers tell each other. Values only."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec
from msgspec import Raw, Struct


class Settled(Struct, frozen=True, tag="settled"):
    """A client has answered a request of the recipient."""

    session: str
    response: Raw


class Cancelled(Struct, frozen=True, tag="cancelled"):
    """A client has cancelled one of its requests."""

    session: str
    request: int | str


class Said(Struct, frozen=True, tag="said"):
    """An announcement for a client that listens to the recipient."""

    session: str
    message: Raw


class Listens(Struct, frozen=True, tag="listens"):
    """The client listens to the sender from now on."""

    session: str
    worker: int


class Saved(Struct, frozen=True, tag="saved"):
    """A new state of a session, for the worker that its client listens to.

    The sender waits for a receipt before it answers the client.
    """

    session: str
    version: int
    state: Raw
    worker: int
    """The worker that waits for the receipt."""
    receipt: int


class Taken(Struct, frozen=True, tag="taken"):
    """The receipt for a `SessionSaved`."""

    receipt: int


class Ended(Struct, frozen=True, tag="ended"):
    """A session has ended."""

    session: str


class Follow(Struct, frozen=True, tag="follow"):
    """A client on the recipient's stream is connected to the sender.

    The sender wants to be notified of new events.
    """

    session: str
    stream: int
    worker: int


class Unfollow(Struct, frozen=True, tag="unfollow"):
    """That client is gone."""

    session: str
    stream: int
    worker: int


class Advanced(Struct, frozen=True, tag="advanced"):
    """A followed stream has new events in the store."""

    session: str
    stream: int


class Changed(Struct, frozen=True, tag="changed"):
    """A list or a resource has changed."""

    method: str
    uri: str


class Completed(Struct, frozen=True, tag="completed"):
    """The user has finished with a page."""

    elicitation: str


class TaskChanged(Struct, frozen=True, tag="task"):
    """A task has changed."""

    task: str


class Gone(Struct, frozen=True, tag="gone"):
    """A worker is dead or has left."""

    worker: int


Mail: TypeAlias = (
    Settled
    | Cancelled
    | Said
    | Listens
    | Saved
    | Taken
    | Ended
    | Follow
    | Unfollow
    | Advanced
    | Changed
    | Completed
    | TaskChanged
    | Gone
)

write: Final = msgspec.json.Encoder().encode
read: Final = msgspec.json.Decoder(Mail).decode
