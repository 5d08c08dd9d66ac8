"""The names that plugins may import; they stay compatible within a major version.

    operations   Operations, Rest, Work, Changed, perform, and the errors for callers
    transports   Transport, Channel, Receiver, Listener, Options, open_channel, listen_channel
    steps        step_type, StepTask, StepFailedError, Retry
    importers    Format, Project and its parts, Numbered, Origin, NotKept, Fault, FormatError

A plugin is an entry point in one of the groups of `accord.entry_points`. The names are loaded when
they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord import lazy_names

_HOMES = {
    "Accept": "accord.transports.options",
    "Changed": "accord.operations.context",
    "Channel": "accord.jsonrpc.protocol.channel",
    "ChannelInfo": "accord.jsonrpc.protocol.channel",
    "Comment": "accord.hub.exchange.project",
    "ConflictError": "accord.operations.errors",
    "ConnectError": "accord.jsonrpc.protocol.errors",
    "Fault": "accord.hub.exchange.project",
    "ForbiddenError": "accord.operations.errors",
    "Format": "accord.hub.exchange.formats",
    "FormatError": "accord.hub.exchange.project",
    "InvalidError": "accord.operations.errors",
    "Item": "accord.hub.exchange.project",
    "Label": "accord.hub.exchange.project",
    "Link": "accord.hub.exchange.project",
    "Listener": "accord.transports.options",
    "MessageTooLargeError": "accord.jsonrpc.protocol.errors",
    "NotFoundError": "accord.operations.errors",
    "NotKept": "accord.hub.exchange.project",
    "Numbered": "accord.hub.exchange.project",
    "Operations": "accord.operations.registry",
    "Options": "accord.transports.options",
    "Origin": "accord.hub.exchange.project",
    "Project": "accord.hub.exchange.project",
    "Receiver": "accord.jsonrpc.protocol.channel",
    "Rest": "accord.operations.operation",
    "Retry": "accord.workflows.core.definition",
    "RpcError": "accord.jsonrpc.protocol.errors",
    "ServiceError": "accord.operations.errors",
    "StepFailedError": "accord.workflows.step_type",
    "StepTask": "accord.workflows.step_type",
    "Transport": "accord.transports.connect",
    "TransportError": "accord.jsonrpc.protocol.errors",
    "Type": "accord.hub.exchange.project",
    "Work": "accord.operations.context",
    "listen_channel": "accord.transports.serve",
    "open_channel": "accord.transports.connect",
    "perform": "accord.operations.runner",
    "step_type": "accord.workflows.step_type",
}

__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_names(__name__, _HOMES)

if TYPE_CHECKING:
    from accord.hub.exchange.formats import (
        Format as Format,
    )
    from accord.hub.exchange.project import (
        Comment as Comment,
        Fault as Fault,
        FormatError as FormatError,
        Item as Item,
        Label as Label,
        Link as Link,
        NotKept as NotKept,
        Numbered as Numbered,
        Origin as Origin,
        Project as Project,
        Type as Type,
    )
    from accord.jsonrpc.protocol.channel import (
        Channel as Channel,
        ChannelInfo as ChannelInfo,
        Receiver as Receiver,
    )
    from accord.jsonrpc.protocol.errors import (
        ConnectError as ConnectError,
        MessageTooLargeError as MessageTooLargeError,
        RpcError as RpcError,
        TransportError as TransportError,
    )
    from accord.operations.context import Changed as Changed, Work as Work
    from accord.operations.errors import (
        ConflictError as ConflictError,
        ForbiddenError as ForbiddenError,
        InvalidError as InvalidError,
        NotFoundError as NotFoundError,
        ServiceError as ServiceError,
    )
    from accord.operations.operation import (
        Rest as Rest,
    )
    from accord.operations.registry import Operations as Operations
    from accord.operations.runner import perform as perform
    from accord.transports.connect import (
        Transport as Transport,
        open_channel as open_channel,
    )
    from accord.transports.options import (
        Accept as Accept,
        Listener as Listener,
        Options as Options,
    )
    from accord.transports.serve import (
        listen_channel as listen_channel,
    )
    from accord.workflows.core.definition import (
        Retry as Retry,
    )
    from accord.workflows.step_type import (
        StepFailedError as StepFailedError,
        StepTask as StepTask,
        step_type as step_type,
    )
