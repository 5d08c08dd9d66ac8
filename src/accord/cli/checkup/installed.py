"""What is installed: this release, Python, the extras, the files of the pages."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Final

from accord import __version__
from accord.cli.checkup.finding import Finding, ok, warning
from accord.cli.extras import EXTRAS, install_command
from accord.entry_points import installed as plugins

HTMX: Final = "vendor/htmx.min.js"


def look() -> Iterator[Finding]:
    """Nothing is imported, only looked for."""
    yield ok("accord", f"{__version__} on Python {platform.python_version()}, {platform.system()}")
    packages = ", ".join(f"{name} {_version(name)}" for name in ("msgspec", "httptools"))
    yield ok("packages", packages)
    missing = [name for name, extra in EXTRAS.items() if not extra.is_installed]
    there = [f"{name} ({EXTRAS[name].use})" for name in EXTRAS if name not in missing]
    yield ok("extras", ", ".join(there) or "none")
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


def _pages() -> Finding:
    if (files("accord") / "web" / "static" / HTMX).is_file():
        return ok("pages", "their scripts are complete")
    return warning(
        "pages",
        "htmx is missing: pages are loaded whole instead of in pieces",
        "install a released package, or run make assets in the source",
    )


def _plugins() -> Finding:
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
