"""What workers tell each other. Values only."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec
from msgspec import Raw, Struct


class Settled(Struct, frozen=True, tag="settled"):
    """A client has answered what the recipient asked it."""

    session: str
    response: Raw


class Cancelled(Struct, frozen=True, tag="cancelled"):
    """A client does not want the answer to one of its requests any more."""

    session: str
    request: int | str


class Said(Struct, frozen=True, tag="said"):
    """The client listens to the recipient, and is to be told this."""

    session: str
    message: Raw


class Listens(Struct, frozen=True, tag="listens"):
    """The client listens to the sender from now on."""

    session: str
    worker: int


class Saved(Struct, frozen=True, tag="saved"):
    """The client listens to the recipient, and has told the sender what it wants to hear."""

    session: str
    version: int
    state: Raw
    worker: int
    """Who wants to know when the recipient knows."""
    receipt: int


class Taken(Struct, frozen=True, tag="taken"):
    """The sender knows what it was told by `Saved`."""

    receipt: int


class Ended(Struct, frozen=True, tag="ended"):
    """A session is over."""

    session: str


class Follow(Struct, frozen=True, tag="follow"):
    """The client of a stream of the recipient is connected to the sender, which wants to hear of
    what is said on it."""

    session: str
    stream: int
    worker: int


class Unfollow(Struct, frozen=True, tag="unfollow"):
    """That client is gone."""

    session: str
    stream: int
    worker: int


class Advanced(Struct, frozen=True, tag="advanced"):
    """There is more to read of a stream that the recipient follows."""

    session: str
    stream: int


class Changed(Struct, frozen=True, tag="changed"):
    """A list or a resource has changed."""

    method: str
    uri: str


class Completed(Struct, frozen=True, tag="completed"):
    """The user is done with a page."""

    elicitation: str


class TaskChanged(Struct, frozen=True, tag="task"):
    """A task has changed."""

    task: str


class Gone(Struct, frozen=True, tag="gone"):
    """A worker does not serve any more."""

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
