"""The `_meta` of messages: what requests say about themselves in the stateless era.

Only the members that the protocol defines are read; others are the application's own and
pass through untouched.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType, field

PREFIX: Final = "io.modelcontextprotocol/"
PROTOCOL_VERSION: Final = PREFIX + "protocolVersion"
CLIENT_INFO: Final = PREFIX + "clientInfo"
CLIENT_CAPABILITIES: Final = PREFIX + "clientCapabilities"
SERVER_INFO: Final = PREFIX + "serverInfo"
LOG_LEVEL: Final = PREFIX + "logLevel"
SUBSCRIPTION_ID: Final = PREFIX + "subscriptionId"
RELATED_TASK: Final = PREFIX + "related-task"

Meta: TypeAlias = dict[str, Any]
"""A `_meta` object as an application sees it."""

ProgressToken: TypeAlias = int | str


class RequestMeta(Struct, frozen=True, gc=False):
    """The protocol's own members of a request's `_meta`.

    Members that are rarely read stay raw.
    """

    progress_token: ProgressToken | UnsetType = field(name="progressToken", default=UNSET)
    protocol_version: str | UnsetType = field(name=PROTOCOL_VERSION, default=UNSET)
    client_info: Raw | UnsetType = field(name=CLIENT_INFO, default=UNSET)
    client_capabilities: Raw | UnsetType = field(name=CLIENT_CAPABILITIES, default=UNSET)
    log_level: str | UnsetType = field(name=LOG_LEVEL, default=UNSET)


NO_META: Final = RequestMeta()
