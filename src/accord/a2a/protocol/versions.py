"""The two wire formats, how they name what can be asked for, and how a version names a format."""

from __future__ import annotations

import re
from enum import Enum, StrEnum
from typing import Final

VERSION: Final = "A2A-Version"
"""The header that names a request's version; without it a request is 0.3 (1.0, section 3.6)."""


class Wire(StrEnum):
    """How messages are written."""

    V03 = "0.3"
    V10 = "1.0"


class Verb(Enum):
    """What can be asked of an agent."""

    SEND = "send"
    STREAM = "stream"
    GET = "get"
    LIST = "list"
    CANCEL = "cancel"
    SUBSCRIBE = "subscribe"
    SET_PUSH = "set_push"
    GET_PUSH = "get_push"
    LIST_PUSH = "list_push"
    DELETE_PUSH = "delete_push"
    EXTENDED_CARD = "extended_card"


METHODS: Final[dict[Wire, dict[Verb, str]]] = {
    Wire.V03: {
        Verb.SEND: "message/send",
        Verb.STREAM: "message/stream",
        Verb.GET: "tasks/get",
        Verb.CANCEL: "tasks/cancel",
        Verb.SUBSCRIBE: "tasks/resubscribe",
        Verb.SET_PUSH: "tasks/pushNotificationConfig/set",
        Verb.GET_PUSH: "tasks/pushNotificationConfig/get",
        Verb.LIST_PUSH: "tasks/pushNotificationConfig/list",
        Verb.DELETE_PUSH: "tasks/pushNotificationConfig/delete",
        Verb.EXTENDED_CARD: "agent/getAuthenticatedExtendedCard",
    },
    Wire.V10: {
        Verb.SEND: "SendMessage",
        Verb.STREAM: "SendStreamingMessage",
        Verb.GET: "GetTask",
        Verb.LIST: "ListTasks",
        Verb.CANCEL: "CancelTask",
        Verb.SUBSCRIBE: "SubscribeToTask",
        Verb.SET_PUSH: "CreateTaskPushNotificationConfig",
        Verb.GET_PUSH: "GetTaskPushNotificationConfig",
        Verb.LIST_PUSH: "ListTaskPushNotificationConfigs",
        Verb.DELETE_PUSH: "DeleteTaskPushNotificationConfig",
        Verb.EXTENDED_CARD: "GetExtendedAgentCard",
    },
}
VERBS: Final = {
    wire: {method: verb for verb, method in methods.items()} for wire, methods in METHODS.items()
}

_MAJOR_MINOR: Final = re.compile(r"(\d{1,4}\.\d{1,4})(?:\.[0-9A-Za-z.+-]{1,40})?")
_OF_CARDS: Final = {"0.2": Wire.V03, "0.3": Wire.V03, "1.0": Wire.V10}
"""What 0.2 sends is what 0.3 sends, as far as it goes."""


def wire_asked(version: str) -> Wire | None:
    """The format that a request with this version header is in; None for one not spoken here."""
    # 1.0, section 3.6.2: an empty value is 0.3; patch versions do not count.
    number = _number(version.strip()) if version.strip() else Wire.V03.value
    return Wire(number) if number in (Wire.V03.value, Wire.V10.value) else None


def wire_of_card(version: str) -> Wire | None:
    """The format of an interface with this version; None for one not spoken here."""
    return _OF_CARDS.get(_number(version))


def _number(version: str) -> str:
    match = _MAJOR_MINOR.fullmatch(version)
    return "" if match is None else match[1]
