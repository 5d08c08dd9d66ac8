"""Messages between workers, as plain values."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec
from msgspec import Raw, Struct


class ResponseReceived(Struct, frozen=True, tag="settled"):
    """A client has answered a request of the recipient."""

    session: str
    response: Raw


class RequestCancelled(Struct, frozen=True, tag="cancelled"):
    """A client has cancelled one of its requests."""

    session: str
    request: int | str


class ClientAnnouncement(Struct, frozen=True, tag="said"):
    """An announcement for a client that listens to the recipient."""

    session: str
    message: Raw


class ClientListens(Struct, frozen=True, tag="listens"):
    """The client listens to the sender from now on."""

    session: str
    worker: int


class SessionSaved(Struct, frozen=True, tag="saved"):
    """A new state of a session, for the worker that its client listens to.

    The sender waits for a receipt before it answers the client.
    """

    session: str
    version: int
    state: Raw
    worker: int
    """The worker that waits for the receipt."""
    receipt: int


class SaveReceipt(Struct, frozen=True, tag="taken"):
    """The receipt for a `SessionSaved`."""

    receipt: int


class SessionEnded(Struct, frozen=True, tag="ended"):
    """A session has ended."""

    session: str


class FollowStream(Struct, frozen=True, tag="follow"):
    """A client on the recipient's stream is connected to the sender.

    The sender wants to be notified of new events.
    """

    session: str
    stream: int
    worker: int


class UnfollowStream(Struct, frozen=True, tag="unfollow"):
    """That client is gone."""

    session: str
    stream: int
    worker: int


class StreamAdvanced(Struct, frozen=True, tag="advanced"):
    """A followed stream has new events in the store."""

    session: str
    stream: int


class ComponentsChanged(Struct, frozen=True, tag="changed"):
    """A list or a resource has changed."""

    method: str
    uri: str


class ElicitationCompleted(Struct, frozen=True, tag="completed"):
    """The user has finished with a page."""

    elicitation: str


class TaskChanged(Struct, frozen=True, tag="task"):
    """A task has changed."""

    task: str


class WorkerGone(Struct, frozen=True, tag="gone"):
    """A worker is dead or has left."""

    worker: int


Mail: TypeAlias = (
    ResponseReceived
    | RequestCancelled
    | ClientAnnouncement
    | ClientListens
    | SessionSaved
    | SaveReceipt
    | SessionEnded
    | FollowStream
    | UnfollowStream
    | StreamAdvanced
    | ComponentsChanged
    | ElicitationCompleted
    | TaskChanged
    | WorkerGone
)

encode_mail: Final = msgspec.json.Encoder().encode
decode_mail: Final = msgspec.json.Decoder(Mail).decode
