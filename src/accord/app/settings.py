"""Settings of the system: from flags, the environment or a file, in this order of precedence.

`ACCORD_LOG_LEVEL=debug` in the environment, `log_level = "debug"` in a TOML file and `--log-level
debug` are equivalent. A setting that is given nowhere has its default.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args, get_origin, get_type_hints
from urllib.parse import quote

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import fields

PREFIX: Final = "ACCORD_"
CONFIG: Final = f"{PREFIX}CONFIG"
FILE: Final = "accord.toml"
"""The settings file in the data directory, read if no other file is named."""

Source: TypeAlias = str
"""The source of a value, for people: `--port`, `ACCORD_PORT`, a file, `default`."""


class SettingsError(Exception):
    """An invalid setting; the message names the setting and its source."""


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can be set."""

    data: Annotated[str, Meta(description="the directory that everything is kept in")] = (
        "accord-data"
    )
    host: Annotated[str, Meta(description="the address to listen on")] = "127.0.0.1"
    port: Annotated[
        int, Meta(ge=0, le=65535, description="the port to listen on; 0 picks a free one")
    ] = 8000
    database: Annotated[
        str, Meta(description="postgresql://… instead of the file in the data directory")
    ] = ""
    secret_key: Annotated[
        str, Meta(description="the server's key, with PostgreSQL; else it is a file")
    ] = ""
    tls_certificate: Annotated[
        str, Meta(description="a file with the certificate for https, and those above it, in PEM")
    ] = ""
    tls_key: Annotated[
        str, Meta(description="a file with its key, where that is not in the same file")
    ] = ""
    public_url: Annotated[
        str, Meta(description="the URL that clients use, where it is not the one listened on")
    ] = ""
    allowed_hosts: Annotated[
        list[str], Meta(description="further names that the server may be called by")
    ] = []
    allowed_origins: Annotated[
        list[str], Meta(description="web pages of other origins that may call")
    ] = []
    trusted_proxies: Annotated[
        list[str], Meta(description="networks whose X-Forwarded-For is believed")
    ] = []
    workers: Annotated[
        int, Meta(ge=1, le=64, description="processes that share the port; needs PostgreSQL")
    ] = 1
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="how much is logged")
    ] = "info"
    log_format: Annotated[
        Literal["auto", "text", "json"],
        Meta(description="how; auto is text on a terminal, else JSON lines"),
    ] = "auto"
    max_body: Annotated[
        int, Meta(ge=1024, description="the largest request that is read, in bytes")
    ] = 10 * 1024 * 1024
    max_body_memory: Annotated[
        int,
        Meta(
            ge=65_536,
            description=(
                "memory for request bodies in each process, in bytes; further ones are answered "
                "503, and senders who are not signed in share a quarter of it"
            ),
        ),
    ] = 64 * 1024 * 1024
    rate_limit: Annotated[
        int, Meta(ge=0, description="what each caller may spend a minute; 0 is no limit")
    ] = 6_000
    rate_burst: Annotated[int, Meta(ge=1, description="what may be spent at once")] = 1_000
    rate_store: Annotated[
        str,
        Meta(
            description="where limits are counted: memory, database or a redis:// URL; auto is "
            "database with PostgreSQL, else memory"
        ),
    ] = "auto"
    max_connections: Annotated[
        int, Meta(ge=1, description="connections that each process has open at once, at most")
    ] = 10_000
    max_sessions: Annotated[
        int,
        Meta(ge=1, description="MCP sessions at once; the one unused for longest makes room"),
    ] = 10_000
    forbidden_status: Annotated[
        Literal[403, 200],
        Meta(
            description="the HTTP status of MCP calls that lack permission; 200 for clients "
            "that drop the body of a 403"
        ),
    ] = 403
    error_codes: Annotated[
        Literal["standard", "extended"], Meta(description="which error codes MCP answers with")
    ] = "standard"
    strict_versions: Annotated[
        bool, Meta(description="refuse MCP versions that are not known instead of offering one")
    ] = False
    notice_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=600,
            description="how long it goes on answering when it is stopped, with /readyz saying "
            "503, so that a proxy sends nothing more",
        ),
    ] = 0.0
    drain_seconds: Annotated[
        float, Meta(ge=0, description="how long calls under way may go on when it is stopped")
    ] = 10.0
    tracing: Annotated[bool, Meta(description="make OpenTelemetry spans (needs accord[otel])")] = (
        False
    )

    accept_own_proposals: Annotated[
        bool,
        Meta(
            description="let people who signed in accept what their own tokens proposed; without "
            "it somebody else has to"
        ),
    ] = True
    plugins: Annotated[
        list[str],
        Meta(
            description="which installed packages may add operations, steps and formats, by name; "
            "* is all of them"
        ),
    ] = field(default_factory=lambda: ["*"])

    workflows: Annotated[
        Literal["here", "elsewhere"],
        Meta(
            description="where runs are executed and agents called: in the server, or by "
            "accord executor and accord bridge (needs PostgreSQL)"
        ),
    ] = "here"
    bus: Annotated[
        str,
        Meta(
            description="what carries tasks and results: embedded, or kafka://host:port,host:port "
            "(needs accord[kafka])"
        ),
    ] = "embedded"
    allow_agents: Annotated[
        list[str],
        Meta(description="hosts and networks with private addresses that agents may have"),
    ] = []
    allow_private_agents: Annotated[
        bool, Meta(description="let agents have any address but link-local ones")
    ] = False
    secrets: Annotated[
        str, Meta(description="the folder with files that agents' secrets are read from")
    ] = ""
    lease_seconds: Annotated[
        float,
        Meta(
            ge=1,
            le=600,
            description="how long a process of workflows may be silent before others take over",
        ),
    ] = 10.0
    keep_runs_days: Annotated[
        int, Meta(ge=1, le=36_500, description="how long runs are kept once they ended")
    ] = 90
    old_runs: Annotated[
        Literal["archive", "remove"],
        Meta(description="what becomes of them then: a file in the data directory, or nothing"),
    ] = "archive"

    @property
    def database_url(self) -> str:
        if self.database:
            return self.database
        return f"sqlite://{_quoted(Path(self.data).absolute() / 'accord.db')}"

    @property
    def place(self) -> str:
        """Return the URL at which the server listens."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls_certificate else 'http'}://{host}:{self.port}"

    @property
    def is_shared(self) -> bool:
        """Return True if other processes may use the same database as a server."""
        return bool(self.database) and not self.database.startswith("sqlite")


SECRETS: Final = frozenset({"secret_key", "database", "rate_store"})
"""Settings whose values are never shown."""
NO_FLAG: Final = frozenset({"secret_key"})
"""Settings without a flag, since all users of the machine see the flags of a process."""


class SettingValue(Struct, frozen=True):
    """One setting with its description, default, value and source."""

    name: str
    about: str
    default: Any
    value: Any
    source: Source

    @property
    def variable(self) -> str:
        return f"{PREFIX}{self.name.upper()}"

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"


class ResolvedSettings(Struct, frozen=True):
    """All settings, each with its source."""

    settings: Settings
    sources: Mapping[str, Source]

    def each(self) -> list[SettingValue]:
        """Return the values of all settings; secret values are replaced by stars."""
        defaults = Settings()
        return [
            SettingValue(
                each.name,
                about(each.name),
                getattr(defaults, each.name),
                _displayed(each.name, getattr(self.settings, each.name)),
                self.sources.get(each.name, "default"),
            )
            for each in fields(Settings)
        ]


def resolve(
    flags: Mapping[str, Any],
    environ: Mapping[str, str] | None = None,
    *,
    config: str | None = None,
) -> ResolvedSettings:
    """Return the settings from all sources.

    `flags` has those given on the command line. Raises SettingsError for an invalid setting.
    """
    environ = os.environ if environ is None else environ
    names = [each.name for each in fields(Settings)]
    raw = {name: (value, f"--{name.replace('_', '-')}") for name, value in flags.items()}
    for name in names:
        variable = f"{PREFIX}{name.upper()}"
        if name not in raw and environ.get(variable):
            raw[name] = (_words(name, environ[variable]), variable)
    data = raw.get("data", (Settings().data, ""))[0]
    for name, value, file in _from_file(config or environ.get(CONFIG), data):
        raw.setdefault(name, (value, file))
    values = {name: value for name, (value, _) in raw.items()}
    try:
        settings = _converted(values)
    except msgspec.ValidationError:
        settings = _corrected(values, raw)
    return ResolvedSettings(settings, {name: source for name, (_, source) in raw.items()})


def about(name: str) -> str:
    """Return the description of the setting with this name."""
    for each in get_args(get_type_hints(Settings, include_extras=True)[name]):
        if isinstance(each, Meta) and each.description:
            return each.description
    raise LookupError(name)


def is_list(name: str) -> bool:
    """Return True if a setting takes several values."""
    return get_origin(get_args(get_type_hints(Settings, include_extras=True)[name])[0]) is list


def is_switch(name: str) -> bool:
    """Return True if a setting is on or off."""
    return get_args(get_type_hints(Settings, include_extras=True)[name])[0] is bool


def _converted(values: Mapping[str, Any]) -> Settings:
    return msgspec.convert(values, Settings, strict=False)


def _corrected(values: Mapping[str, Any], raw: Mapping[str, tuple[Any, Source]]) -> Settings:
    """Return the settings with choices spelled as declared, such as `info` for `INFO`.

    Raises SettingsError for an invalid value.
    """
    from accord.operations.choices import choices_of_struct, corrected
    from accord.operations.errors import InvalidError

    try:
        return _converted(corrected(values, choices_of_struct(Settings), "", from_text=True))
    except InvalidError as error:
        [wrong] = error.errors
        source = raw[wrong.pointer.strip("/").partition("/")[0]][1]
        raise SettingsError(f"{source}: {wrong.detail}") from None
    except msgspec.ValidationError as error:
        raise SettingsError(_complaint(str(error), raw)) from None


def _words(name: str, text: str) -> Any:
    if is_list(name):
        return [word.strip() for word in text.split(",") if word.strip()]
    return text


def _from_file(named: str | None, data: str) -> list[tuple[str, Any, Source]]:
    path = Path(named) if named else Path(data) / FILE
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if named:
            raise SettingsError(f"there is no file {path}") from None
        return []
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from None
    return [(name, value, str(path)) for name, value in values.items()]


def _complaint(error: str, raw: Mapping[str, tuple[Any, Source]]) -> str:
    """Return a description of an invalid value, with its source."""
    for name, (_, source) in raw.items():
        if f"`$.{name}`" in error or f"`$.{name}[" in error:
            return f"{source}: {error.split(' - at ')[0]}"
        if f"unknown field `{name}`" in error:
            return f"{source}: there is no setting {name!r}"
    return error


def _displayed(name: str, value: Any) -> Any:
    return "***" if name in SECRETS and value not in ("", "auto", "memory", "database") else value


def _quoted(path: Path) -> str:
    return quote(str(path))
