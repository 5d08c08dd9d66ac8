"""Agent cards in both formats.

A card is written in one format, so that it is valid there: the schema of 1.0 allows no members of
0.3. Cards of other agents that mix the members of both formats can be read, too.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from accord.a2a.protocol.fields import Wire, wire_asked, wire_of_card
from accord.a2a.protocol.formats import UNREADABLE
from accord.jsonrpc.protocol.codec import check_nesting

JSONRPC: Final = "JSONRPC"
WELL_KNOWN: Final = "/.well-known/agent-card.json"
TEXT: Final = "text/plain"
JSON: Final = "application/json"
MAX_LISTED: Final = 1_000
"""The limit of interfaces, and of skills, that are read from a card."""


class Interface(Struct, frozen=True, kw_only=True):
    """The URL, binding and version of one interface of an agent."""

    url: str
    binding: str = JSONRPC
    version: str = Wire.V10.value
    tenant: str = ""


class Skill(Struct, frozen=True, kw_only=True):
    """A capability of an agent, as its card describes it."""

    id: str
    name: str
    description: str = ""
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    input_modes: tuple[str, ...] = ()
    output_modes: tuple[str, ...] = ()


class Provider(Struct, frozen=True, kw_only=True):
    organization: str
    url: str


class AgentCard(Struct, frozen=True, kw_only=True):
    """An agent's description of itself."""

    name: str
    description: str
    version: str
    interfaces: tuple[Interface, ...]
    skills: tuple[Skill, ...] = ()
    streaming: bool = False
    push_notifications: bool = False
    extended_card: bool = False
    input_modes: tuple[str, ...] = (TEXT,)
    output_modes: tuple[str, ...] = (TEXT,)
    provider: Provider | None = None
    documentation_url: str = ""
    icon_url: str = ""
    security_schemes: dict[str, Any] = {}
    """Unparsed, as in the card."""

    def interface(self, *wires: Wire) -> tuple[Interface, Wire] | None:
        """Return the first JSON-RPC interface in one of these formats, by default in any.

        The agent's order is its preference (1.0, section 8.3). Returns None if there is no such
        interface.
        """
        for interface in self.interfaces:
            wire = wire_of_card(interface.version)
            if interface.binding == JSONRPC and wire is not None and wire in (wires or Wire):
                return interface, wire
        return None


class _Object(Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class _Interface(_Object, frozen=True, kw_only=True):
    url: str
    protocol_binding: str | None = None
    protocol_version: str | None = None
    tenant: str | None = None
    transport: str | None = None


class _Skill(_Object, frozen=True, kw_only=True):
    id: str
    name: str
    description: str | None = None
    tags: list[str] | None = None
    examples: list[str] | None = None
    input_modes: list[str] | None = None
    output_modes: list[str] | None = None


class _Capabilities(_Object, frozen=True, kw_only=True):
    streaming: bool | None = None
    push_notifications: bool | None = None
    extended_agent_card: bool | None = None


class _Provider(_Object, frozen=True, kw_only=True):
    organization: str
    url: str


class _Card(_Object, frozen=True, kw_only=True):
    name: str
    description: str | None = None
    version: str | None = None
    supported_interfaces: list[_Interface] | None = None
    url: str | None = None
    protocol_version: str | None = None
    preferred_transport: str | None = None
    additional_interfaces: list[_Interface] | None = None
    capabilities: _Capabilities | None = None
    skills: list[_Skill] | None = None
    default_input_modes: list[str] | None = None
    default_output_modes: list[str] | None = None
    provider: _Provider | None = None
    documentation_url: str | None = None
    icon_url: str | None = None
    security_schemes: dict[str, Any] | None = None
    supports_authenticated_extended_card: bool | None = None


_decode: Final = msgspec.json.Decoder(_Card).decode
T = TypeVar("T")


def read_card(body: bytes) -> AgentCard:
    """Return the card in `body`, of either format.

    Raises ValueError if the card is malformed or names no interface.
    """
    try:
        check_nesting(body)
        card = _decode(body)
    except (*UNREADABLE, msgspec.DecodeError) as error:
        raise ValueError(f"the agent card is not valid: {error}") from None
    interfaces = _interfaces(card)
    if not interfaces:
        raise ValueError("the agent card names no interface")
    capabilities = card.capabilities or _Capabilities()
    extended = capabilities.extended_agent_card or card.supports_authenticated_extended_card
    return AgentCard(
        name=card.name,
        description=card.description or "",
        version=card.version or "",
        interfaces=interfaces,
        skills=tuple(map(_read_skill, _few(card.skills))),
        streaming=bool(capabilities.streaming),
        push_notifications=bool(capabilities.push_notifications),
        extended_card=bool(extended),
        input_modes=tuple(card.default_input_modes or ()),
        output_modes=tuple(card.default_output_modes or ()),
        provider=_read_provider(card.provider),
        documentation_url=card.documentation_url or "",
        icon_url=card.icon_url or "",
        security_schemes=card.security_schemes or {},
    )


def _few(listed: list[T] | None) -> list[T]:
    return (listed or [])[:MAX_LISTED]


def _interfaces(card: _Card) -> tuple[Interface, ...]:
    """Return the interfaces of a card: first from members of 1.0, then of 0.3.

    An interface that is in both is returned once, as it is in 1.0.
    """
    found = [
        Interface(
            url=each.url,
            binding=each.protocol_binding or JSONRPC,
            version=each.protocol_version or Wire.V10.value,
            tenant=each.tenant or "",
        )
        for each in _few(card.supported_interfaces)
    ]
    version = card.protocol_version or Wire.V03.value
    if card.url:
        binding = card.preferred_transport or JSONRPC
        found.append(Interface(url=card.url, binding=binding, version=version))
    for other in _few(card.additional_interfaces):
        binding = other.transport or JSONRPC
        found.append(Interface(url=other.url, binding=binding, version=version))
    once: dict[tuple[str, str, str], Interface] = {}
    for each in found:
        once.setdefault(_key(each), each)
    return tuple(once.values())


def _key(interface: Interface) -> tuple[str, str, str]:
    version = wire_of_card(interface.version) or interface.version
    return interface.url.rstrip("/"), interface.binding, version


def _read_skill(skill: _Skill) -> Skill:
    return Skill(
        id=skill.id,
        name=skill.name,
        description=skill.description or "",
        tags=tuple(skill.tags or ()),
        examples=tuple(skill.examples or ()),
        input_modes=tuple(skill.input_modes or ()),
        output_modes=tuple(skill.output_modes or ()),
    )


def _read_provider(provider: _Provider | None) -> Provider | None:
    if provider is None:
        return None
    return Provider(organization=provider.organization, url=provider.url)


def encode_card(card: AgentCard, wire: Wire | None = None) -> bytes:
    """Encode a card in the format `wire`.

    Without `wire` the card has the members of both formats: Accord stores cards like that.
    """
    members = _common(card)
    if wire is not Wire.V10:
        members |= _members_03(card)
    if wire is not Wire.V03:
        members |= _members_10(card)
    if wire is None:
        members["securitySchemes"] = card.security_schemes
    written = {name: each for name, each in members.items() if each or name in _REQUIRED}
    return msgspec.json.encode(written)


def card_wire(card: AgentCard, version: str) -> Wire:
    """Return the format in which to send the agent's card to a client.

    `version` is the header A2A-Version of the client's request. The agent's preferred format is the
    default, also for a version that the agent does not speak.
    """
    spoken = [wire for each in card.interfaces if (wire := wire_of_card(each.version)) is not None]
    requested = wire_asked(version) if version.strip() else None
    if requested is Wire.V10 or requested in spoken:
        return requested
    return spoken[0] if spoken else Wire.V10


_REQUIRED: Final = frozenset(
    ("name", "description", "version", "defaultInputModes", "defaultOutputModes", "skills")
)


def _common(card: AgentCard) -> dict[str, Any]:
    """Return the members that both formats share."""
    return {
        "name": card.name,
        "description": card.description,
        "version": card.version,
        "defaultInputModes": card.input_modes,
        "defaultOutputModes": card.output_modes,
        "skills": [_skill(each) for each in card.skills],
        "provider": card.provider,
        "documentationUrl": card.documentation_url,
        "iconUrl": card.icon_url,
    }


def _members_10(card: AgentCard) -> dict[str, Any]:
    return {
        "supportedInterfaces": [_interface_10(each) for each in card.interfaces],
        "capabilities": {
            "streaming": card.streaming,
            "pushNotifications": card.push_notifications,
            "extendedAgentCard": card.extended_card,
        },
        "securitySchemes": {name: _scheme_10(each) for name, each in card.security_schemes.items()},
        "securityRequirements": [
            {"schemes": {name: {"list": []}}} for name in card.security_schemes
        ],
    }


def _interface_10(interface: Interface) -> dict[str, Any]:
    members = {
        "url": interface.url,
        "protocolBinding": interface.binding,
        "protocolVersion": interface.version,
        "tenant": interface.tenant,
    }
    return {name: each for name, each in members.items() if each}


def _skill(skill: Skill) -> dict[str, Any]:
    members = {
        "id": skill.id,
        "name": skill.name,
        "description": skill.description,
        "tags": skill.tags,
        "examples": skill.examples,
        "inputModes": skill.input_modes,
        "outputModes": skill.output_modes,
    }
    required = ("description", "tags")
    return {name: each for name, each in members.items() if each or name in required}


def _members_03(card: AgentCard) -> dict[str, Any]:
    """Return the members that only 0.3 has; {} if the agent does not speak 0.3."""
    found = card.interface(Wire.V03)
    if found is None:
        return {}
    others = [
        {"url": each.url, "transport": each.binding}
        for each in card.interfaces
        if wire_of_card(each.version) is Wire.V03 and each is not found[0]
    ]
    return {
        "url": found[0].url,
        "preferredTransport": JSONRPC,
        "protocolVersion": "0.3.0",
        "additionalInterfaces": others,
        "capabilities": {
            "streaming": card.streaming,
            "pushNotifications": card.push_notifications,
        },
        "securitySchemes": {name: _scheme_03(each) for name, each in card.security_schemes.items()},
        "security": [{name: []} for name in card.security_schemes],
        "supportsAuthenticatedExtendedCard": card.extended_card,
    }


# Security schemes: 0.3 says `type`, 1.0 has a member that is named after it

_SCHEMES: Final = {
    "apiKey": "apiKeySecurityScheme",
    "http": "httpAuthSecurityScheme",
    "oauth2": "oauth2SecurityScheme",
    "openIdConnect": "openIdConnectSecurityScheme",
    "mutualTLS": "mtlsSecurityScheme",
}


def _scheme_10(scheme: Any) -> Any:
    """Return a security scheme in the form of 1.0.

    A scheme that is not recognized is returned unchanged.
    """
    if not isinstance(scheme, dict):
        return scheme
    for member in _SCHEMES.values():
        if member in scheme:
            return {member: scheme[member]}
    member = _SCHEMES.get(str(scheme.get("type")), "")
    rest = {_LOCATIONS.get(name, name): each for name, each in scheme.items() if name != "type"}
    return {member: rest} if member else scheme


def _scheme_03(scheme: Any) -> Any:
    if not isinstance(scheme, dict):
        return scheme
    for kind, member in _SCHEMES.items():
        inner = scheme.get(member)
        if isinstance(inner, dict):
            return {"type": kind, **{_PLACES.get(name, name): each for name, each in inner.items()}}
    return scheme


_LOCATIONS: Final = {"in": "location"}
_PLACES: Final = {"location": "in"}


def bearer_scheme() -> dict[str, Any]:
    """Return the security scheme of bearer tokens in the form of 1.0."""
    return {"httpAuthSecurityScheme": {"scheme": "Bearer"}}
