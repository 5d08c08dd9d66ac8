"""Old import paths of public modules that moved; each works for one more release.

Importing an old path returns a module that warns and takes its names from their new homes.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

MOVED: Final[Mapping[str, str]] = {
    "accord.exposure.body": "accord.exposure.request_body",
    "accord.exposure.declared_body": "accord.exposure.operation",
    "accord.exposure.exchange": "accord.exposure.asgi",
    "accord.exposure.exposed": "accord.exposure.in_process",
    "accord.exposure.lifespan": "accord.exposure.asgi",
    "accord.exposure.marks": "accord.exposure.routes",
    "accord.exposure.multipart": "accord.exposure.request_body",
    "accord.exposure.naming": "accord.exposure.routes",
    "accord.exposure.parameters": "accord.exposure.find",
    "accord.exposure.rejections": "accord.exposure.response",
    "accord.exposure.route": "accord.exposure.routes",
    "accord.exposure.selection": "accord.exposure.routes",
    "accord.exposure.served": "accord.exposure.starlette",
    "accord.exposure.spelling": "accord.exposure.serialization",
    "accord.exposure.statuses": "accord.exposure.response",
    "accord.exposure.undescribed": "accord.exposure.find",
    "accord.mcp.client.auth.assertions": "accord.mcp.client.auth.client_credentials",
    "accord.mcp.client.auth.attempt": "accord.mcp.client.auth.registration",
    "accord.mcp.client.auth.challenges": "accord.mcp.client.auth.discovery",
    "accord.mcp.client.auth.errors": "accord.mcp.client.auth.web",
    "accord.mcp.client.auth.keys": "accord.mcp.client.auth.dpop",
    "accord.mcp.client.auth.metadata": "accord.mcp.client.auth.discovery",
    "accord.mcp.client.auth.oauth": "accord.mcp.client.auth.authorization_code",
    "accord.mcp.client.auth.pkce": "accord.mcp.client.auth.dpop",
    "accord.mcp.client.auth.records": "accord.mcp.client.auth.tokens",
    "accord.mcp.client.auth.redirects": "accord.mcp.client.auth.authorization_code",
    "accord.mcp.client.auth.registering": "accord.mcp.client.auth.registration",
    "accord.mcp.client.auth.registrations": "accord.mcp.client.auth.tokens",
    "accord.mcp.client.auth.scopes": "accord.mcp.client.auth.discovery",
    "accord.mcp.client.auth.storage": "accord.mcp.client.auth.tokens",
    "accord.mcp.client.auth.trust": "accord.mcp.client.auth.web",
    "accord.mcp.server.auth.challenges": "accord.mcp.server.auth.authenticator",
    "accord.mcp.server.auth.claims": "accord.mcp.server.auth.authenticator",
    "accord.mcp.server.auth.credentials": "accord.mcp.server.auth.authenticator",
    "accord.mcp.server.auth.documents": "accord.mcp.server.auth.issuers",
    "accord.mcp.server.auth.dpop": "accord.mcp.server.auth.protected_resource",
    "accord.mcp.server.auth.introspection": "accord.mcp.server.auth.jwt_verifier",
    "accord.mcp.server.auth.key_sets": "accord.mcp.server.auth.issuers",
    "accord.mcp.server.auth.places": "accord.mcp.server.auth.authenticator",
    "accord.mcp.server.auth.signatures": "accord.mcp.server.auth.issuers",
    "accord.mcp.server.auth.sockets": "accord.mcp.server.auth.bearer",
    "accord.mcp.server.auth.static_tokens": "accord.mcp.server.auth.authenticator",
    "accord.mcp.server.auth.verifier": "accord.mcp.server.auth.authenticator",
    "accord.operations.faces.openapi": "accord.operations.adapters.openapi",
    "accord.operations.work": "accord.operations.context",
    "accord.telemetry.current": "accord.telemetry.observers",
    "accord.telemetry.exposition": "accord.telemetry.metrics",
    "accord.telemetry.histogram": "accord.telemetry.metrics",
    "accord.telemetry.past_spans": "accord.telemetry.tracing",
    "accord.telemetry.request_spans": "accord.telemetry.tracing",
    "accord.transports.arrivals": "accord.transports.sockets",
    "accord.transports.asgi.exchange": "accord.transports.asgi.scope",
    "accord.transports.asgi.protocol": "accord.transports.asgi.scope",
    "accord.transports.asgi.websocket": "accord.transports.asgi.endpoint",
    "accord.transports.closing": "accord.transports.sockets",
    "accord.transports.http.answers": "accord.transports.http.responses",
    "accord.transports.http.bodies": "accord.transports.http.body",
    "accord.transports.http.calls": "accord.transports.http.server",
    "accord.transports.http.chunked": "accord.transports.http.body",
    "accord.transports.http.dispatch": "accord.transports.http.requests",
    "accord.transports.http.exchange": "accord.transports.http.client",
    "accord.transports.http.fields": "accord.transports.http.heads",
    "accord.transports.http.rules": "accord.transports.http.admission",
    "accord.transports.http.site": "accord.transports.http.connection",
    "accord.transports.http.waits": "accord.transports.http.requests",
    "accord.transports.listener": "accord.transports.options",
    "accord.transports.origins": "accord.transports.urls",
    "accord.transports.pipe": "accord.transports.stdio",
    "accord.transports.plugged": "accord.transports.connect",
    "accord.transports.process.child": "accord.transports.process",
    "accord.transports.process.stderr": "accord.transports.process",
    "accord.transports.process.transport": "accord.transports.process",
    "accord.transports.stream.address": "accord.transports.urls",
    "accord.transports.stream.client": "accord.transports.stream.endpoints",
    "accord.transports.stream.server": "accord.transports.stream.endpoints",
    "accord.transports.web.app": "accord.transports.http.web_app",
    "accord.transports.web.asgi": "accord.transports.asgi.web",
    "accord.transports.web.asgi_exchange": "accord.transports.asgi.web",
    "accord.transports.web.connection": "accord.transports.http.server",
    "accord.transports.web.rules": "accord.transports.http.web_app",
    "accord.transports.web.server": "accord.transports.http.server",
    "accord.transports.web.underway": "accord.transports.http.web_app",
    "accord.transports.web.watch": "accord.transports.asgi.web",
    "accord.transports.web_address": "accord.transports.urls",
    "accord.transports.websocket.client": "accord.transports.websocket.endpoints",
    "accord.transports.websocket.framer": "accord.transports.websocket.channel",
    "accord.transports.websocket.masking": "accord.transports.websocket.frames",
    "accord.transports.websocket.server": "accord.transports.websocket.endpoints",
    "accord.workflows.core.arrivals": "accord.workflows.core.machine",
    "accord.workflows.core.budget": "accord.workflows.core.expressions.functions",
    "accord.workflows.core.commands": "accord.workflows.core.events",
    "accord.workflows.core.cron": "accord.workflows.core.triggers",
    "accord.workflows.core.evaluation": "accord.workflows.core.expressions.evaluation",
    "accord.workflows.core.functions": "accord.workflows.core.expressions.functions",
    "accord.workflows.core.joins": "accord.workflows.core.outputs",
    "accord.workflows.core.limits": "accord.workflows.core.errors",
    "accord.workflows.core.parser": "accord.workflows.core.expressions.parser",
    "accord.workflows.core.places": "accord.workflows.core.definition",
    "accord.workflows.core.requests": "accord.workflows.core.machine",
    "accord.workflows.core.retrying": "accord.workflows.core.retry",
    "accord.workflows.core.run_scope": "accord.workflows.core.outputs",
    "accord.workflows.core.schemas": "accord.workflows.core.rules",
    "accord.workflows.core.shape": "accord.workflows.core.definition_fields",
    "accord.workflows.core.sizes": "accord.workflows.core.outputs",
    "accord.workflows.core.spelling": "accord.workflows.core.reading",
    "accord.workflows.core.syntax": "accord.workflows.core.expressions.syntax",
    "accord.workflows.core.tasks": "accord.workflows.core.decisions",
    "accord.workflows.core.templates": "accord.workflows.core.expressions.evaluation",
    "accord.workflows.core.times": "accord.workflows.core.triggers",
    "accord.workflows.core.tokens": "accord.workflows.core.expressions.syntax",
    "accord.workflows.core.tree": "accord.workflows.core.program",
    "accord.workflows.core.values": "accord.workflows.core.expressions.functions",
    "accord.workflows.core.views": "accord.workflows.core.outputs",
}
"""Old module paths, each with the module that most of its names are in now."""

RENAMED: Final[Mapping[str, str]] = {
    "accord.exposure.parameters:flat": "accord.exposure.find:flat_parameters",
    "accord.exposure.parameters:nested": "accord.exposure.find:nested_parameters",
    "accord.mcp.client.auth.attempt:Attempt": "accord.mcp.client.auth.registration:TokenAttempt",
    "accord.mcp.client.auth.errors:shown": "accord.mcp.client.auth.web:printable",
    "accord.mcp.client.auth.redirects:Redirect": "accord.mcp.client.auth.authorization_code:RedirectListener",
    "accord.mcp.client.auth.registering:Identity": "accord.mcp.client.auth.registration:RegisteredIdentity",
    "accord.mcp.server.auth.challenges:MAX_SCOPES": "accord.mcp.server.auth.authenticator:MAX_CHALLENGE_SCOPES",
    "accord.mcp.server.auth.claims:Expected": "accord.mcp.server.auth.authenticator:ExpectedClaims",
    "accord.mcp.server.auth.claims:MAX_SCOPES": "accord.mcp.server.auth.authenticator:MAX_TOKEN_SCOPES",
    "accord.mcp.server.auth.credentials:Credentials": "accord.mcp.server.auth.authenticator:PresentedToken",
    "accord.mcp.server.auth.credentials:Malformed": "accord.mcp.server.auth.authenticator:MalformedCredentials",
    "accord.mcp.server.auth.places:canonical": "accord.mcp.server.auth.authenticator:canonical_url",
    "accord.mcp.server.auth.places:trusted": "accord.mcp.server.auth.authenticator:trusted_url",
    "accord.operations.work:Work": "accord.operations.context:OperationContext",
    "accord.transports.asgi.exchange:Exchange": "accord.transports.asgi.endpoint:Exchange",
    "accord.transports.asgi.exchange:SCOPE": "accord.transports.asgi.endpoint:SCOPE",
    "accord.transports.stream.address:parse": "accord.transports.urls:parse_stream_address",
    "accord.transports.web.app:WebRequest": "accord.transports.http.heads:WebRequest",
    "accord.transports.web.connection:log": "accord.transports.http.server:web_log",
    "accord.transports.web_address:parse": "accord.transports.urls:parse_web_address",
    "accord.transports.web_address:parse_served": "accord.transports.urls:parse_served_address",
}
"""Names whose new home differs from that of their module in `MOVED`, as `module:name`."""


def find_spec(fullname: str) -> ModuleSpec | None:
    """Return a spec for a moved module or a package that had moved modules, else None."""
    is_package = any(old.startswith(f"{fullname}.") for old in MOVED)
    if fullname not in MOVED and not is_package:
        return None
    loader: Any = MovedModuleLoader()
    return ModuleSpec(fullname, loader, is_package=is_package)


class MovedModuleLoader:
    """A loader that creates the modules of `MOVED`."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module that represents the old path."""
        return MovedModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: names are looked up when they are used."""


class MovedModule(ModuleType):
    """A module at its old path."""

    def __getattr__(self, name: str) -> Any:
        home = MOVED.get(self.__name__)
        if home is None or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        new = RENAMED.get(f"{self.__name__}:{name}", f"{home}:{name}")
        module, _, attribute = new.partition(":")
        warnings.warn(
            f"{self.__name__}.{name} is {module}.{attribute} now; the old path goes with the next "
            "release",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(import_module(module), attribute)

    def __dir__(self) -> list[str]:
        home = MOVED.get(self.__name__)
        return [] if home is None else dir(import_module(home))
