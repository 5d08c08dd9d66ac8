"""The finding type of all checks, and the checks of installed packages and settings."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import fields

from accord import __version__
from accord.app.settings import CONFIG, PREFIX, ResolvedSettings, Settings
from accord.cli.exits import EXTRAS, install_command
from accord.entry_points import installed as plugins

State: TypeAlias = Literal["ok", "warning", "problem", "not looked at"]


class CheckResult(Struct, frozen=True):
    """A finding of a check of `accord doctor`. It contains no secrets."""

    name: str
    state: State
    detail: str
    advice: str = ""
    """What to do about the finding."""


def ok(name: str, detail: str) -> CheckResult:
    return CheckResult(name, "ok", detail)


def warning(name: str, detail: str, advice: str) -> CheckResult:
    """Return a finding about something that works but may be unwanted."""
    return CheckResult(name, "warning", detail, advice)


def problem(name: str, detail: str, advice: str) -> CheckResult:
    """Return a finding about something that does not work."""
    return CheckResult(name, "problem", detail, advice)


def not_checked(name: str, detail: str, advice: str = "") -> CheckResult:
    """Return a finding about something that was not checked; `detail` says why."""
    return CheckResult(name, "not looked at", detail, advice)


# Installed packages


HTMX: Final = "vendor/htmx.min.js"


def check_installed() -> Iterator[CheckResult]:
    """List the installed packages and extras, and check for missing ones.

    Nothing is imported for that.
    """
    yield ok("accord", f"{__version__} on Python {platform.python_version()}, {platform.system()}")
    packages = ", ".join(f"{name} {_version(name)}" for name in ("msgspec", "httptools"))
    yield ok("packages", packages)
    missing = [name for name, extra in EXTRAS.items() if not extra.is_installed]
    present = [f"{name} ({EXTRAS[name].use})" for name in EXTRAS if name not in missing]
    yield ok("extras", ", ".join(present) or "none")
    needed = [name for name in missing if EXTRAS[name].is_needed]
    if needed:
        yield warning(
            "extras",
            f"accord serve needs {_uses(needed)}",
            f"{install_command(needed)}; the library works without",
        )
    others = [name for name in missing if name not in needed]
    if others:
        yield ok("extras", f"not installed, and not needed unless you use it: {_uses(others)}")
    yield _pages()
    yield _plugins()


def _pages() -> CheckResult:
    if (files("accord") / "web" / "static" / HTMX).is_file():
        return ok("pages", "their scripts are complete")
    return warning(
        "pages",
        "htmx is missing: pages are loaded whole instead of in pieces",
        "install a released package, or run make assets in the source",
    )


def _plugins() -> CheckResult:
    packages = dict.fromkeys(f"{each.distribution} {each.version}" for each in plugins())
    if not packages:
        return ok("plugins", "none")
    return ok("plugins", f"{', '.join(packages)}; accord plugin list tells what they add")


def _uses(names: list[str]) -> str:
    return ", ".join(f"{name} ({EXTRAS[name].use})" for name in names)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(unknown)"


# Settings


KNOWN: Final = (
    CONFIG,
    "ACCORD_AGENT_TOKEN",
    *(f"{PREFIX}{each.name.upper()}" for each in fields(Settings)),
)
SECRET: Final = "ACCORD_SECRET_"
"""The prefix of the names of environment variables that hold secrets of agents."""
POSTGRES: Final = "use PostgreSQL: --database postgresql://…"
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


def check_settings(
    found: ResolvedSettings, environ: Mapping[str, str] = os.environ
) -> Iterator[CheckResult]:
    """Check for unknown `ACCORD_` variables and for settings that contradict each other."""
    sources = sorted(found.sources.values())
    yield ok("given", ", ".join(dict.fromkeys(sources)) or "none: all are as they are by default")
    yield from _unknown(environ)
    yield from _contradictory(found.settings)


def _unknown(environ: Mapping[str, str]) -> Iterator[CheckResult]:
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in KNOWN and not name.startswith(SECRET):
            close = get_close_matches(name, KNOWN, n=1, cutoff=0.75)
            advice = f"did you mean {close[0]}?" if close else "accord config lists what there is"
            yield warning(name, "is in the environment, and no setting", advice)


def _contradictory(settings: Settings) -> Iterator[CheckResult]:
    yield from (_of_postgres(settings) if settings.is_shared else _of_sqlite(settings))
    yield from _of_address(settings)
    is_redis = urlsplit(settings.rate_store).scheme in ("redis", "rediss")
    if is_redis and not EXTRAS["redis"].is_installed:
        yield problem("rate_store", "redis is not installed", install_command(["redis"]))
    if settings.secrets and not Path(settings.secrets).is_dir():
        yield problem(
            "secrets", f"there is no folder {settings.secrets}", "make it, or name another"
        )


def _of_sqlite(settings: Settings) -> Iterator[CheckResult]:
    if settings.workers > 1:
        detail = f"{settings.workers} processes cannot share a file of SQLite"
        yield problem("workers", detail, f"{POSTGRES}, or --workers 1")
    if settings.workflows == "elsewhere":
        yield problem(
            "workflows", "accord executor and accord bridge cannot share a file of SQLite", POSTGRES
        )
    if settings.secret_key:
        yield warning(
            "secret_key",
            "is not used with SQLite: the key is a file in the data directory",
            f"take ACCORD_SECRET_KEY away, or {POSTGRES}",
        )


def _of_postgres(settings: Settings) -> Iterator[CheckResult]:
    if not settings.secret_key:
        advice = "make one with: openssl rand -hex 32"
        yield problem("secret_key", "PostgreSQL needs the key in ACCORD_SECRET_KEY", advice)
    if settings.workers > 1 and settings.rate_store == "memory":
        yield warning(
            "rate_store",
            f"each of {settings.workers} processes counts limits for itself",
            "--rate-store database, or a redis:// URL",
        )


def _of_address(settings: Settings) -> Iterator[CheckResult]:
    public = urlsplit(settings.public_url)
    if settings.public_url and public.scheme not in ("http", "https"):
        yield problem("public_url", "begins with neither http:// nor https://", "write all of it")
    elif public.scheme == "http" and public.hostname not in LOOPBACK:
        yield warning(
            "public_url",
            "is http: passwords and tokens cross the network as they are",
            "put it behind https, and say so in --public-url",
        )
    if settings.host not in LOOPBACK and not settings.public_url:
        yield warning(
            "public_url",
            f"others may reach {settings.host}, and what they are told is the address listened on",
            "--public-url https://… is what clients use",
        )
